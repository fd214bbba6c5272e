package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxDepth is how deep a reply may be nested. A script can nest its reply some
	// thousand deep; nobody's does.
	MaxDepth = 1024
	// MaxElements is how many elements of a reply are kept. A subscription's array
	// is told by its first, and says in its third how many remain.
	MaxElements = 3
)

// ErrNotReplies is wrapped by what Err returns once the stream is no stream of
// replies.
var ErrNotReplies = errors.New("resp: not a stream of replies")

// Reply is one complete reply or push, with the attributes in front of it.
type Reply struct {
	// Type is the first byte behind the attributes: '+', '-', ':', '$', '*', and of
	// RESP3 '_', '#', ',', '(', '!', '=', '%', '~', '>'.
	Type byte
	// Elements are the first MaxElements of an aggregate, of each the first MaxKept
	// bytes; "" for one that is null or an aggregate itself. A scalar has one.
	Elements   []string
	Start, End int64 // numbers of bytes of the stream before it, and up to its last
}

// Push reports whether nobody asked for it: RESP3 says so by its type.
func (r Reply) Push() bool { return r.Type == '>' }

// replyState is what the next byte belongs to.
type replyState int

const (
	value replyState = iota // a new value: a reply, or an element of one
	text                    // the rest of a line
	size                    // "$N\r\n" and the like
	count                   // "*N\r\n" and the like
	body                    // a string's bytes and its "\r\n"
)

// level is an aggregate whose elements are still coming.
type level struct {
	left      int64 // elements still to come, the present one among them
	attribute bool  // it stands in front of a value, and is none
}

// ReplyScanner finds replies. It is for one stream and one goroutine.
type ReplyScanner struct {
	found  func(Reply)
	err    error
	offset int64 // bytes scanned

	state   replyState
	line    []byte // the header so far, in the states that read one
	left    int64  // bytes of the present string still to come, "\r\n" among them
	cr      bool   // the line's last byte so far was '\r'
	levels  []level
	begun   bool // a reply has begun and is not complete
	reply   Reply
	keeping bool // the present value is an element to be kept
	kept    [MaxElements][]byte
	n       int // elements kept, the present one among them
}

// NewReplyScanner returns a scanner that calls found, from inside Write, with
// every reply that is complete.
func NewReplyScanner(found func(Reply)) *ReplyScanner {
	return &ReplyScanner{found: found}
}

// Err is nil as long as the stream makes sense, and wraps ErrNotReplies after.
func (s *ReplyScanner) Err() error { return s.err }

// Open is the reply that has begun and is not complete: its Start, and its Type
// unless only attributes have come so far (0). It is false between replies, and
// once the scanner has stopped.
func (s *ReplyScanner) Open() (r Reply, open bool) {
	if !s.begun || s.err != nil {
		return Reply{}, false
	}
	return Reply{Type: s.reply.Type, Start: s.reply.Start}, true
}

// Write scans the next bytes. It never fails and never keeps p. See Err.
func (s *ReplyScanner) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.err == nil {
		used, whole := s.step(p)
		s.offset += int64(used)
		p = p[used:]
		if whole {
			s.valueEnds()
		}
	}
	return n, nil
}

// step scans some of p, and reports whether a value that is no aggregate, or an
// empty one, ends there.
func (s *ReplyScanner) step(p []byte) (used int, whole bool) {
	switch s.state {
	case value:
		s.begin(p[0])
		return 1, false
	case text:
		return s.readText(p)
	case size:
		return s.readSize(p)
	case count:
		return s.readCount(p)
	default:
		return s.readBody(p)
	}
}

// begin tells by its first byte what kind of value follows.
func (s *ReplyScanner) begin(c byte) {
	if !s.begun {
		s.begun, s.n = true, 0
		s.reply = Reply{Start: s.offset}
	}
	top := len(s.levels) == 0
	if top && c != '|' {
		s.reply.Type = c
	}
	s.line, s.cr = append(s.line[:0], c), false
	switch {
	case strings.IndexByte("+-:_#,(", c) >= 0:
		s.state = text
	case strings.IndexByte("$!=", c) >= 0:
		s.state = size
	case strings.IndexByte("*%~|", c) >= 0, c == '>' && top:
		s.state = count
	default:
		s.fail("a value cannot begin with byte %d", c)
	}
	s.keepNext(c)
}

// keepNext decides whether the value that begins is an element to be kept.
func (s *ReplyScanner) keepNext(c byte) {
	element := len(s.levels) == 1 && !s.levels[0].attribute || len(s.levels) == 0 && s.state != count
	s.keeping = element && c != '|' && s.n < MaxElements
	if s.keeping {
		s.kept[s.n] = s.kept[s.n][:0]
		s.n++
	}
}

func (s *ReplyScanner) keep(p []byte) {
	if s.keeping {
		s.kept[s.n-1] = appendUpTo(s.kept[s.n-1], p, MaxKept)
	}
}

// readText passes a line of any length: a script's error may be long.
func (s *ReplyScanner) readText(p []byte) (used int, whole bool) {
	if s.cr && p[0] == '\n' {
		return 1, true
	}
	if s.cr {
		s.fail("byte %d after a carriage return", p[0])
		return 0, false
	}
	i := bytes.IndexAny(p, "\r\n")
	if i < 0 {
		s.keep(p)
		return len(p), false
	}
	s.keep(p[:i])
	if p[i] == '\n' {
		s.fail("a line without a carriage return")
		return i, false
	}
	s.cr = true
	return i + 1, false
}

func (s *ReplyScanner) readSize(p []byte) (used int, whole bool) {
	n, used, ok := s.readHeader(p)
	switch {
	case !ok:
		return used, false
	case n < 0: // null, as RESP2 writes it
		return used, true
	}
	s.state, s.left = body, n+2
	return used, false
}

func (s *ReplyScanner) readCount(p []byte) (used int, whole bool) {
	n, used, ok := s.readHeader(p)
	if !ok {
		return used, false
	}
	attribute := s.line[0] == '|'
	if attribute || s.line[0] == '%' {
		n *= 2 // names and values
	}
	s.state = value
	switch {
	case n > 0 && len(s.levels) == MaxDepth:
		s.fail("nested more than %d deep", MaxDepth)
	case n > 0:
		s.levels = append(s.levels, level{n, attribute})
	default:
		return used, !attribute
	}
	return used, false
}

// readHeader reads a type and a number. Only "$" and "*" may say that they are
// null.
func (s *ReplyScanner) readHeader(p []byte) (n int64, used int, ok bool) {
	used = len(p)
	i := bytes.IndexByte(p, '\n')
	if i >= 0 {
		used = i + 1
	}
	if len(s.line)+used > maxHeader {
		s.fail("a header of more than %d bytes", maxHeader)
		return 0, used, false
	}
	if s.line = append(s.line, p[:used]...); i < 0 {
		return 0, used, false
	}
	n, ok = number(s.line, s.line[0])
	if !ok || n < -1 || n == -1 && s.line[0] != '$' && s.line[0] != '*' {
		s.fail("header %q", s.line)
		return 0, used, false
	}
	return n, used, true
}

func (s *ReplyScanner) readBody(p []byte) (used int, whole bool) {
	if s.left > 2 {
		used = int(min(s.left-2, int64(len(p))))
		s.keep(p[:used])
		s.left -= int64(used)
		return used, false
	}
	if p[0] != "\r\n"[2-s.left] {
		s.fail("byte %d after a string", p[0])
		return 0, false
	}
	s.left--
	return 1, s.left == 0
}

// valueEnds closes what ends with the value: the aggregates whose last element it
// is, and the reply. An attribute that ends has its value still to come.
func (s *ReplyScanner) valueEnds() {
	s.state = value
	for len(s.levels) > 0 {
		last := &s.levels[len(s.levels)-1]
		if last.left--; last.left > 0 {
			return
		}
		attribute := last.attribute
		s.levels = s.levels[:len(s.levels)-1]
		if attribute {
			return
		}
	}
	s.begun = false
	s.reply.End = s.offset
	for _, e := range s.kept[:s.n] {
		s.reply.Elements = append(s.reply.Elements, string(e))
	}
	s.found(s.reply)
}

func (s *ReplyScanner) fail(format string, args ...any) {
	s.err = fmt.Errorf("%w: %s", ErrNotReplies, fmt.Sprintf(format, args...))
	s.line, s.levels = nil, nil
}
