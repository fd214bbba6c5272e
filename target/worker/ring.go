package worker

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// ringSize is how much of a worker's output is kept: a panic with the stacks of a
// few hundred goroutines.
const ringSize = 64 << 10

// ring keeps the end of what is written to it.
type ring struct {
	mu    sync.Mutex
	kept  []byte // at most twice ringSize; the end of it counts
	total int64  // bytes ever written
}

// Write never fails, and never makes a worker wait.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += int64(len(p))
	r.kept = append(r.kept, p[max(0, len(p)-ringSize):]...)
	if len(r.kept) > 2*ringSize {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-ringSize:]...)
	}
	return len(p), nil
}

// mark is the place that the next byte goes to.
func (r *ring) mark() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// since is what came after a mark, at most its last n bytes. It does not begin
// inside a character.
func (r *ring) since(mark int64, n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = int(max(0, min(int64(n), ringSize, int64(len(r.kept)), r.total-mark)))
	tail := r.kept[len(r.kept)-n:]
	if int64(n) < r.total-mark {
		for cut := 0; cut < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); cut++ {
			tail = tail[1:]
		}
	}
	return string(tail)
}

// pipeFor is how long the end of an output is waited for that a process still holds
// which has left the group.
const pipeFor = 200 * time.Millisecond

// lastWordsMax is enough for the first line of a panic or the reason of a failed
// start.
const lastWordsMax = 400

// lastWords is what came after a mark, as the end of an error's sentence.
func (r *ring) lastWords(mark int64) string {
	text := strings.Join(strings.Fields(r.since(mark, lastWordsMax)), " ")
	if text == "" {
		return "it said nothing"
	}
	return "it last said: " + text
}
