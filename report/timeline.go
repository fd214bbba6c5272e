package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/idemrace/idemrace/history"
)

// TimelineOptions of a timeline.
type TimelineOptions struct {
	Width int  // columns; 0 means DefaultTimelineWidth
	Color bool // ANSI colours
}

// The widths of a timeline: a projector shows 80 columns, and beyond 110 the eye
// loses the line between the panes. Below 60 the panes would not hold a word.
const (
	DefaultTimelineWidth = 80
	minTimelineWidth     = 60
	maxTimelineWidth     = 110
)

// Timeline draws one history as two panes side by side: left what a test sees
// (what was sent, what came back), right what the card sees (provider calls and
// charges), with the milliseconds down the left. Many alike events in one moment
// are told as one line.
func Timeline(w io.Writer, h *history.History, opt TimelineOptions) error {
	moments := gathered(momentsOf(h))
	d := newTimelineDrawing(moments, opt)
	d.heading()
	for i, m := range moments {
		d.moment(i, m)
	}
	d.foot(h)
	if _, err := io.WriteString(w, d.out.String()); err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	return nil
}

// The columns to the left of the panes, and the rule between them.
const (
	timeColumn = 9 // "  301 ms "
	paneRule   = " │ "
)

// timelineDrawing knows where things stand on the page.
type timelineDrawing struct {
	out         strings.Builder
	color       bool
	left, right int // columns of the panes
	lanes       lanes
	fine        bool // tenths of milliseconds: all is over too soon for whole ones
}

// soon is when whole milliseconds say too little.
const soon = 20 * time.Millisecond

func newTimelineDrawing(moments []moment, opt TimelineOptions) *timelineDrawing {
	width := opt.Width
	if width == 0 {
		width = DefaultTimelineWidth
	}
	width = min(max(width, minTimelineWidth), maxTimelineWidth) - timeColumn - runes(paneRule)
	d := &timelineDrawing{color: opt.Color, left: width / 2, right: width - width/2, lanes: newLanes(moments)}
	if n := len(moments); n > 0 {
		d.fine = moments[n-1].at < soon
	}
	return d
}

func (d *timelineDrawing) heading() {
	d.line("", paint{"WHAT YOUR TEST SEES", bold}, "", paint{"WHAT THE CARD SEES", bold})
	d.rule("─┼─")
}

func (d *timelineDrawing) rule(cross string) {
	at := strings.Repeat("─", timeColumn)
	fmt.Fprintf(&d.out, "%s\n", d.paint(paint{at + strings.Repeat("─", d.left) + cross + strings.Repeat("─", d.right), dim}))
}

// moment draws one row; a text that does not fit goes on below.
func (d *timelineDrawing) moment(row int, m moment) {
	at := d.time(m.at)
	if m.pane == bothPanes {
		d.across(at, m)
		return
	}
	room := d.left
	if m.pane == cardPane {
		room = d.right - d.lanes.width()
	}
	for i, text := range wrapped(m.text(), room) {
		left, right := paint{}, paint{}
		if m.pane == testPane {
			left = paint{text, m.tone}
		} else {
			right = paint{text, m.tone}
		}
		d.line(at, left, d.lanes.at(row, i > 0), right)
		at = ""
	}
}

// across draws a disturbance through both panes.
func (d *timelineDrawing) across(at string, m moment) {
	room := d.left + runes(paneRule) + d.right
	text := "╌╌ " + m.text() + " "
	text += strings.Repeat("╌", max(0, room-runes(text)))
	fmt.Fprintf(&d.out, "%s%s\n", d.paint(paint{padded(at, timeColumn), dim}), d.paint(paint{text, m.tone}))
}

// foot sums up both panes.
func (d *timelineDrawing) foot(h *history.History) {
	d.rule("─┼─")
	answers, agree := answersOf(h)
	charges, verdict, tone := chargesOf(h)
	d.both("answers: "+answers, "charges: "+charges, plain, plain)
	d.both(agree, verdict, dim, tone)
}

// both draws a text in each pane, each as long as it needs.
func (d *timelineDrawing) both(left, right string, leftTone, rightTone tone) {
	l, r := wrapped(left, d.left), wrapped(right, d.right)
	if left == "" && right == "" {
		return
	}
	for i := range max(len(l), len(r)) {
		d.line("", paint{nth(l, i), leftTone}, "", paint{nth(r, i), rightTone})
	}
}

func nth(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// line draws one line of the page, without blanks at its end.
func (d *timelineDrawing) line(at string, left paint, lanes string, right paint) {
	text := d.paint(paint{padded(at, timeColumn), dim}) +
		d.paint(paint{padded(left.text, d.left), left.tone}) +
		d.paint(paint{paneRule, dim}) + lanes + d.paint(right)
	fmt.Fprintf(&d.out, "%s\n", strings.TrimRight(text, " "))
}

func (d *timelineDrawing) time(at time.Duration) string {
	ms := float64(at) / float64(time.Millisecond)
	if d.fine {
		return fmt.Sprintf("%5.1f ms", ms)
	}
	return fmt.Sprintf("%5.0f ms", ms)
}

// tone is how a text is coloured.
type tone string

// The tones, as ANSI codes.
const (
	plain tone = ""
	bold  tone = "1"
	dim   tone = "2"
	good  tone = "32"
	bad   tone = "1;31"
	odd   tone = "33"
)

type paint struct {
	text string
	tone tone
}

func (d *timelineDrawing) paint(p paint) string {
	if !d.color || p.tone == plain || strings.TrimSpace(p.text) == "" {
		return p.text
	}
	return p.tone.paint(p.text)
}

func runes(s string) int { return len([]rune(s)) }

func padded(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-runes(s)))
}

// wrapped breaks a text at blanks, and a word that is too long where it must.
func wrapped(text string, room int) []string {
	room = max(room, 8)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for indent := 2; runes(word) > room-indent; {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines = append(lines, string([]rune(word)[:room-indent]))
			word = string([]rune(word)[room-indent:])
		}
		switch {
		case line == "" && len(lines) == 0:
			line = word
		case line == "":
			line = "  " + word
		case runes(line)+1+runes(word) <= room:
			line += " " + word
		default:
			lines, line = append(lines, line), "  "+word
		}
	}
	return append(lines, line)
}
