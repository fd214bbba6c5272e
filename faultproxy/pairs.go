package faultproxy

import (
	"slices"
	"strings"
	"sync"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// maxOutstanding is how many commands of one link may wait for their replies
// before the proxy stops matching. No client has as many on their way.
const maxOutstanding = 1 << 16

// pairs matches the replies of one link to its commands: Redis answers in order.
// It refuses to guess. After MONITOR, SYNC, PSYNC or CLIENT REPLY, and once a
// stream is not understood, the link's replies belong to no command.
//
// What is told to a subscription is no reply. RESP3 marks it as a push; in RESP2
// it is an array, to be known by its first element, on a link that subscribes.
type pairs struct {
	mu         sync.Mutex
	lost       bool
	waiting    []awaited
	subscribed bool // it hears messages, or will
	replies    *resp.ReplyScanner
	ended      []resp.Reply // in the present chunk
	known      bool         // the open reply has been paired already
	seen       int64        // bytes scanned before the present chunk
}

// awaited is a command that has no reply yet.
type awaited struct {
	Command
	verb  string // of the confirmations that it has instead of a reply, or ""
	tells int64  // how many of these are still to come
}

func newPairs() *pairs {
	p := &pairs{}
	p.replies = resp.NewReplyScanner(func(r resp.Reply) { p.ended = append(p.ended, r) })
	return p
}

// sent tells of commands that are about to go to the store.
func (p *pairs) sent(commands []Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range commands {
		if unanswered(c) || len(p.waiting) == maxOutstanding {
			p.lost = true
		}
		if p.lost {
			p.waiting = nil
			return
		}
		a := awaited{Command: c}
		if subscribes(c.Name) {
			a.verb, a.tells = strings.ToLower(c.Name), max(1, c.Count)
			p.subscribed = true
		}
		p.waiting = append(p.waiting, a)
	}
}

// unanswered tells commands after which there is no reply to each command.
func unanswered(c Command) bool {
	switch c.Name {
	case "MONITOR", "SYNC", "PSYNC":
		return true
	case "CLIENT":
		return len(c.Args) > 0 && strings.EqualFold(c.Args[0], "REPLY")
	}
	return false
}

func subscribes(name string) bool {
	return slices.Contains([]string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}, name)
}

// received scans bytes from the store, and returns the replies that begin there.
// One that can only now be told from a message begins at 0.
func (p *pairs) received(b []byte) (begin []Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = p.ended[:0]
	_, _ = p.replies.Write(b)
	for _, r := range p.ended {
		if !p.known && !p.told(r) {
			begin = p.pair(begin, r)
		}
		p.known = false
	}
	// In RESP2 an array may be a message, and a later byte will tell.
	if r, open := p.replies.Open(); open && !p.known && r.Type != 0 && !r.Push() && !(p.subscribed && r.Type == '*') {
		begin = p.pair(begin, r)
		p.known = true
	}
	p.seen += int64(len(b))
	return begin
}

// pair takes the command that has waited longest.
func (p *pairs) pair(begin []Reply, r resp.Reply) []Reply {
	if len(p.waiting) == 0 { // nobody asked: "max number of clients reached"
		return begin
	}
	c := p.waiting[0].Command
	p.waiting = p.waiting[1:]
	return append(begin, Reply{Command: c, Start: int(max(0, r.Start-p.seen))})
}

// told reports whether a complete reply is none, and takes the commands that have
// it for their confirmation.
func (p *pairs) told(r resp.Reply) bool {
	if len(r.Elements) == 0 || !r.Push() && !(p.subscribed && r.Type == '*') {
		return r.Push()
	}
	verb := r.Elements[0]
	if !r.Push() && !slices.Contains([]string{"message", "pmessage", "smessage"}, verb) && !subscribes(strings.ToUpper(verb)) {
		return false // "pong", say
	}
	if len(p.waiting) > 0 && p.waiting[0].verb == verb {
		if p.waiting[0].tells--; p.waiting[0].tells == 0 {
			p.waiting = p.waiting[1:]
		}
	}
	if !p.listens(verb, r.Elements) {
		p.subscribed = false
	}
	return true
}

// listens reports whether a link may hear messages after it was told this: not
// when it has left the last channel and does not wait to enter another.
func (p *pairs) listens(verb string, elements []string) bool {
	left := strings.Contains(verb, "unsubscribe") && len(elements) == 3 && elements[2] == "0"
	return !left || slices.ContainsFunc(p.waiting, func(a awaited) bool { return a.verb != "" })
}
