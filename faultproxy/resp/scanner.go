// Package resp finds the commands in a stream of bytes on its way to Redis.
//
// A [Scanner] is handed the stream piece by piece, cut anywhere, and says which
// commands have been completed. It frames arrays of bulk strings and inline
// commands, pipelined or not. It keeps a command's name and the heads of its first
// arguments, never an argument as a whole: half a gigabyte on its way to the store
// costs nothing here. A [ReplyScanner] does the same for what comes back, in RESP2
// and RESP3.
//
// The package refuses to read from a connection, to change a byte, and to guess:
// at the first byte that is no command (TLS, garbage), or no reply, it stops for good. That is
// why it is not redcon's reader, which buffers whole commands, and whose parser
// indexes with negative lengths; redcon splits the inline commands, which are
// short. It refuses streamed strings and aggregates too ("$?", "*?"): RESP3 has
// them, Redis does not send them.
package resp

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

const (
	// MaxKept is how many bytes of a name, an argument or an element are kept. The
	// longest names of Redis have about 20, and a script's digest, the first argument
	// of EVALSHA, has 40.
	MaxKept = 64
	// MaxArgs is how many arguments are kept. What changes a command's meaning comes
	// early: the NX of "SET key value NX GET PX 100" and of "SET key value PX 100 NX"
	// is among the first six.
	MaxArgs = 6
	// MaxInline is how long an inline command may be: Redis' own limit
	// (PROTO_INLINE_MAX_SIZE).
	MaxInline = 64 << 10
	// maxHeader is the longest "*N\r\n" or "$N\r\n" with a number that maxLength allows.
	maxHeader = 16
	// maxLength is above every length that Redis takes (512 MB, unless configured).
	maxLength = 1 << 40
)

// ErrNotCommands is wrapped by what Err returns once the stream is no stream of
// commands.
var ErrNotCommands = errors.New("resp: not a stream of commands")

// Command is one complete command.
type Command struct {
	Name string   // upper case, its first MaxKept bytes
	Args []string // the first MaxArgs arguments, of each the first MaxKept bytes
	// Script is which script is called: its SHA-1 digest in lower-case hex, whether
	// the command brings the source (EVAL) or the digest (EVALSHA). "" for others.
	Script string
	Count  int64 // how many arguments there are, kept or not
	End    int64 // where it ends: the number of bytes of the stream up to its last
}

// state is what the next byte belongs to.
type state int

const (
	start    state = iota // a new command
	array                 // "*N\r\n"
	length                // "$N\r\n"
	argument              // an argument's bytes and its "\r\n"
	inline                // a line of plain text
)

// Scanner finds commands. It is for one stream and one goroutine.
type Scanner struct {
	found  func(Command)
	err    error
	offset int64 // bytes scanned

	state state
	line  []byte // the line so far, in the states that read one
	args  int64  // arguments still to come, the present one among them
	index int64  // of the present argument; the name is 0
	left  int64  // bytes of the present argument still to come, "\r\n" among them
	name  []byte
	kept  [MaxArgs][]byte
	sum   hash.Hash // of an EVAL's source; nil for other commands
}

// NewScanner returns a scanner that calls found, from inside Write, with every
// command that is complete.
func NewScanner(found func(Command)) *Scanner {
	return &Scanner{found: found}
}

// Err is nil as long as the stream makes sense, and wraps ErrNotCommands after.
func (s *Scanner) Err() error { return s.err }

// Write scans the next bytes. It never fails and never keeps p: a stream that
// is not understood passes all the same, only unseen. See Err.
func (s *Scanner) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.err == nil {
		used, complete := s.step(p)
		s.offset += int64(used)
		p = p[used:]
		if complete {
			s.found(s.command())
		}
	}
	return n, nil
}

// step scans some of p, and reports whether a command ends there. It uses no
// byte only where it changes the state.
func (s *Scanner) step(p []byte) (used int, complete bool) {
	switch s.state {
	case start:
		s.begin(p[0])
		return 0, false
	case array:
		return s.readArray(p), false
	case length:
		return s.readLength(p), false
	case argument:
		return s.readArgument(p)
	default:
		return s.readInline(p)
	}
}

// begin tells by its first byte what kind of command follows. TLS begins with
// byte 22, so that it is found out before anything is kept of it.
func (s *Scanner) begin(c byte) {
	s.line, s.name, s.index, s.sum = s.line[:0], s.name[:0], 0, nil
	for i := range s.kept {
		s.kept[i] = s.kept[i][:0]
	}
	switch {
	case c == '*':
		s.state = array
	case isLetter(c), strings.IndexByte(" \t\r\n\"'", c) >= 0:
		s.state = inline
	default:
		s.fail("a command cannot begin with byte %d", c)
	}
}

func (s *Scanner) readArray(p []byte) int {
	used, whole := s.readLine(p, maxHeader)
	if !whole {
		return used
	}
	n, ok := number(s.line, '*')
	switch {
	case !ok:
		s.fail("array header %q", s.line)
	case n <= 0: // Redis skips it without an answer
		s.state = start
	default:
		s.args = n
		s.expectArgument()
	}
	return used
}

func (s *Scanner) expectArgument() {
	s.state, s.line = length, s.line[:0]
}

func (s *Scanner) readLength(p []byte) int {
	used, whole := s.readLine(p, maxHeader)
	if !whole {
		return used
	}
	n, ok := number(s.line, '$')
	if !ok || n < 0 {
		s.fail("length of an argument %q", s.line)
		return used
	}
	s.state, s.left = argument, n+2
	if s.index == 1 && brings(s.name) {
		s.sum = sha1.New()
	}
	return used
}

func (s *Scanner) readArgument(p []byte) (used int, complete bool) {
	if s.left > 2 {
		used = int(min(s.left-2, int64(len(p))))
		s.keep(p[:used])
		s.left -= int64(used)
		return used, false
	}
	if want := "\r\n"[2-s.left]; p[0] != want {
		s.fail("byte %d after an argument", p[0])
		return 0, false
	}
	s.left--
	if s.left > 0 {
		return 1, false
	}
	s.args--
	s.index++
	if s.args > 0 {
		s.expectArgument()
		return 1, false
	}
	s.state = start
	return 1, true
}

// keep remembers the head of a name or early argument, and nothing of the others.
func (s *Scanner) keep(p []byte) {
	switch i := s.index - 1; {
	case i < 0:
		s.name = appendUpTo(s.name, p, MaxKept)
	case i < MaxArgs:
		s.kept[i] = appendUpTo(s.kept[i], p, MaxKept)
	}
	if s.sum != nil && s.index == 1 {
		s.sum.Write(p)
	}
}

// command is the one that has just been completed; index has counted its parts.
func (s *Scanner) command() Command {
	c := Command{Name: upper(s.name), Count: s.index - 1, End: s.offset}
	for _, arg := range s.kept[:min(c.Count, MaxArgs)] {
		c.Args = append(c.Args, string(arg))
	}
	switch {
	case s.sum != nil:
		c.Script = hex.EncodeToString(s.sum.Sum(nil))
	case c.Count > 0 && (c.Name == "EVALSHA" || c.Name == "EVALSHA_RO"):
		c.Script = strings.ToLower(c.Args[0]) // Redis takes either case
	}
	return c
}

// brings reports whether a command of that name brings a script's source.
func brings(name []byte) bool {
	return strings.EqualFold(string(name), "EVAL") || strings.EqualFold(string(name), "EVAL_RO")
}

func (s *Scanner) readInline(p []byte) (used int, complete bool) {
	used, whole := s.readLine(p, MaxInline)
	if !whole {
		return used, false
	}
	s.state = start
	_, args, _, _, err := redcon.ReadNextCommand(s.line, nil)
	if err != nil {
		s.fail("inline command: %v", err)
		return used, false
	}
	if len(args) == 0 { // an empty line: Redis skips it without an answer
		return used, false
	}
	if len(args[0]) == 0 || !isLetter(args[0][0]) {
		s.fail("inline command %.20q", args[0])
		return used, false
	}
	for _, arg := range args {
		if s.index == 1 && brings(s.name) {
			s.sum = sha1.New()
		}
		s.keep(arg)
		s.index++
	}
	return used, true
}

// readLine adds to the line up to its "\n", and reports whether it is whole. A
// line over the limit ends the scanning, at the same byte however p was cut.
func (s *Scanner) readLine(p []byte, limit int) (used int, whole bool) {
	used = len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		used, whole = i+1, true
	}
	if len(s.line)+used > limit {
		s.fail("a line of more than %d bytes", limit)
		return used, false
	}
	s.line = append(s.line, p[:used]...)
	return used, whole
}

func (s *Scanner) fail(format string, args ...any) {
	s.err = fmt.Errorf("%w: %s", ErrNotCommands, fmt.Sprintf(format, args...))
	s.line = nil
}

// number reads "*N\r\n" or "$N\r\n".
func number(line []byte, mark byte) (n int64, ok bool) {
	digits, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended || len(digits) < 2 || digits[0] != mark || digits[1] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits[1:]), 10, 64)
	return n, err == nil && n <= maxLength
}

func appendUpTo(kept, p []byte, limit int) []byte {
	return append(kept, p[:min(len(p), limit-len(kept))]...)
}

// upper leaves every byte alone that is no ASCII letter, as Redis does.
func upper(name []byte) string {
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			name[i] = c - 'a' + 'A'
		}
	}
	return string(name)
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
