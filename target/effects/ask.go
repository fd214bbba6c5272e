package effects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
	"unicode"
)

const (
	// once is how long one question may take.
	once = 10 * time.Second
	// outputMax is more rows than a run makes.
	outputMax = 32 << 20
)

var (
	errTooLong = fmt.Errorf("no answer within %s", once)
	errTooMuch = fmt.Errorf("more than %d MiB; ask for the rows of the last hour, say", outputMax>>20)
)

// newClient asks as it is told: no proxy from the environment, no redirect, no
// connection that stays.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (s *Source) ask(ctx context.Context) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, once, errTooLong)
	defer cancel()
	if s.spec.Command != "" {
		return s.run(limited)
	}
	return s.get(limited)
}

func (s *Source) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.spec.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	for name, value := range s.spec.Headers {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("url: %w", why(ctx, err))
	}
	defer resp.Body.Close()
	var text limited
	switch _, err := io.Copy(&text, resp.Body); {
	case err != nil:
		return nil, fmt.Errorf("url: %w", why(ctx, err))
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("url: it answered %d: %s", resp.StatusCode, beginning(text.text))
	}
	return text.text, nil
}

func (s *Source) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", s.spec.Command)
	var out, complaint limited
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &complaint
	cmd.Env = append([]string{}, s.env...) // nil would be our own
	cmd.WaitDelay = time.Second
	inGroup(cmd)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // sh has ended and a child of it holds our pipe
		_ = endGroup(cmd)
		return nil, errors.New("command: it left a process behind that kept its output open; it was ended")
	}
	if out.over || complaint.over { // the command has seen a broken pipe
		return nil, fmt.Errorf("command: %w", errTooMuch)
	}
	if err != nil {
		return nil, fmt.Errorf("command: %w: %s", why(ctx, err), beginning(append(complaint.text, out.text...)))
	}
	return out.text, nil
}

// why is the reason behind an error: that the time was over, if it was.
func why(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, errTooMuch) {
		return context.Cause(ctx)
	}
	return err
}

// limited takes no more than outputMax: half of the rows would be a wrong count.
type limited struct {
	text []byte
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = len(l.text)+len(p) > outputMax; l.over {
		return 0, errTooMuch
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

const beginningMax = 200

// beginning is the first words of a text, on one line.
func beginning(text []byte) string {
	text = text[:min(len(text), 8*beginningMax)]
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(text), "?"))
	words := strings.Join(strings.Fields(printable), " ")
	if words == "" {
		return "(it said nothing)"
	}
	if r := []rune(words); len(r) > beginningMax {
		return string(r[:beginningMax]) + "…"
	}
	return words
}
