package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Columns draws rows, the first of which is the heading, as a table without lines, for
// what is no run document. The columns that right names, from 0, stand at the right, as
// figures do.
func Columns(w io.Writer, rows [][]string, right ...int) error {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, text := range r {
			widths[i] = max(widths[i], wide(text))
		}
	}
	figure := map[int]bool{}
	for _, i := range right {
		figure[i] = true
	}
	var drawn, out bytes.Buffer
	t := plainTable(&drawn)
	for n, r := range rows {
		cells := make([]any, len(r))
		for i, text := range r {
			cells[i] = aligned(text, widths[i], figure[i]) + strings.Repeat(" ", gap)
		}
		if n == 0 {
			t.Header(cells...)
		} else if err := t.Append(cells...); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	trimmed(&out, &drawn)
	_, err := w.Write(out.Bytes())
	return err
}

func aligned(text string, width int, right bool) string {
	pad := strings.Repeat(" ", width-wide(text))
	if right {
		return pad + text
	}
	return text + pad
}
