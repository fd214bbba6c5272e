package explore

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
)

// Prefix begins every token, and names the version of its form.
const Prefix = "i1:"

// maxToken is the longest token that is read, in bytes.
const maxToken = 1 << 16

// ErrToken is wrapped by every error of Decode.
var ErrToken = errors.New("not a token of a schedule")

// separators may occur in a coordinator's name or a label.
var separators = strings.NewReplacer("%", "%25", ";", "%3B", ",", "%2C", ":", "%3A", "=", "%3D", "|", "%7C")

// Encode makes a schedule a token: Prefix, then, as base64url, a line of text and its
// CRC-32. The text is
//
//	coordinator;clients;flags;hang-ups;seed;invariant|who:what=how,what,…;who:…
//
// with p for payloads and k for a provider that honours keys.
func Encode(s Schedule) string {
	var b strings.Builder
	flags := ""
	if s.Payloads {
		flags += "p"
	}
	if s.HonoursKeys {
		flags += "k"
	}
	fmt.Fprintf(&b, "%s;%d;%s;%d;%d;%s|", separators.Replace(s.Coordinator), s.Clients, flags, s.HangUps, s.Seed, separators.Replace(s.Invariant))
	for i, step := range s.Steps {
		switch {
		case i > 0 && s.Steps[i-1].Who == step.Who:
			b.WriteByte(',')
		case i > 0:
			b.WriteString(";" + separators.Replace(step.Who) + ":")
		default:
			b.WriteString(separators.Replace(step.Who) + ":")
		}
		b.WriteString(separators.Replace(step.What))
		if step.How != "" {
			b.WriteString("=" + separators.Replace(step.How))
		}
	}
	text := []byte(b.String())
	return Prefix + base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
}

// Decode reads a token. It wraps ErrToken and says what is wrong: a token that was
// cut short, or has a letter changed, is not taken for another schedule.
func Decode(token string) (Schedule, error) {
	s, err := decode(strings.TrimSpace(token))
	if err != nil {
		return Schedule{}, fmt.Errorf("explore: %w: %w", ErrToken, err)
	}
	return s, nil
}

func decode(token string) (s Schedule, err error) {
	rest, ok := strings.CutPrefix(token, Prefix)
	switch {
	case len(token) > maxToken:
		return s, fmt.Errorf("it is longer than %d bytes", maxToken)
	case !ok && len(token) > 3 && token[0] == 'i' && strings.Contains(token[:3], ":"):
		return s, fmt.Errorf("its form is %q, and this version reads %q", token[:strings.Index(token, ":")+1], Prefix)
	case !ok:
		return s, fmt.Errorf("it does not begin with %q", Prefix)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil || len(raw) < 4 {
		return s, errors.New("it is cut short, or has a letter that no token has")
	}
	text, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if crc32.ChecksumIEEE(text) != sum {
		return s, errors.New("its checksum does not fit: a letter was changed, or it is cut short")
	}
	head, steps, ok := strings.Cut(string(text), "|")
	if !ok {
		return s, errors.New("it has no steps")
	}
	if err := s.readHead(head); err != nil {
		return s, err
	}
	return s, s.readSteps(steps)
}

func (s *Schedule) readHead(head string) (err error) {
	fields := strings.Split(head, ";")
	if len(fields) != 6 {
		return fmt.Errorf("its head has %d fields, not 6", len(fields))
	}
	var bad [5]error
	s.Coordinator, bad[0] = url.PathUnescape(fields[0])
	s.Clients, bad[1] = strconv.Atoi(fields[1])
	s.HangUps, bad[2] = strconv.Atoi(fields[3])
	s.Seed, bad[3] = strconv.ParseInt(fields[4], 10, 64)
	s.Invariant, bad[4] = url.PathUnescape(fields[5])
	if err := errors.Join(bad[:]...); err != nil {
		return errors.New("its head cannot be read")
	}
	if s.Clients < 1 || s.Clients > MaxClients || s.HangUps < 0 {
		return fmt.Errorf("it has %d clients and %d departures", s.Clients, s.HangUps)
	}
	s.Payloads, s.HonoursKeys = strings.Contains(fields[2], "p"), strings.Contains(fields[2], "k")
	if strings.Trim(fields[2], "pk") != "" {
		return fmt.Errorf("it has flags %q that are not known", fields[2])
	}
	return nil
}

func (s *Schedule) readSteps(text string) error {
	if text == "" {
		return nil
	}
	for _, turn := range strings.Split(text, ";") {
		who, steps, ok := strings.Cut(turn, ":")
		if !ok {
			return errors.New("a step does not say whose it is")
		}
		for _, step := range strings.Split(steps, ",") {
			what, how, _ := strings.Cut(step, "=")
			read := Step{Who: who, What: what, How: how}
			for _, part := range []*string{&read.Who, &read.What, &read.How} {
				plain, err := url.PathUnescape(*part)
				if err != nil {
					return errors.New("a step cannot be read")
				}
				*part = plain
			}
			s.Steps = append(s.Steps, read)
		}
	}
	if len(s.Steps) > endless {
		return fmt.Errorf("it has more than %d steps", endless)
	}
	return nil
}
