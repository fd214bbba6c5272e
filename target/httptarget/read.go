package httptarget

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/target"
)

// headerPlace begins a place that is a header.
const headerPlace = "header:"

// at is what an answer has in a place; ok is false if there is nothing.
func (x Exchange) at(place string) (value string, ok bool) {
	if name, is := strings.CutPrefix(place, headerPlace); is {
		values := x.Header[http.CanonicalHeaderKey(name)]
		return strings.Join(values, ", "), len(values) > 0
	}
	if !gjson.Valid(x.Body) {
		return "", false
	}
	found := gjson.Get(x.Body, place)
	return found.String(), found.Exists() && found.Type != gjson.Null
}

// has: one of the marks, PLACE=VALUE, is there.
func (x Exchange) has(marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		i := strings.LastIndex(mark, "=")
		value, ok := x.at(mark[:max(i, 0)])
		return i > 0 && ok && value == mark[i+1:]
	})
}

// read puts an answer in the words of package history.
func (c *Cell) read(a target.Attempt, r ready, x Exchange) target.Response {
	_, retry := x.at(headerPlace + "Retry-After")
	out := target.Response{Status: x.Status,
		Answer: c.t.cfg.Profile.word(x.Status, situation{rival: c.rivals(a), key: r.key, retry: retry})}
	if out.Answer != history.OK && x.has(c.t.cfg.Profile.Unknown) {
		out.Answer = history.UnknownOutcome
	}
	if out.Answer != history.OK {
		out.Detail = fmt.Sprintf("%d %s", x.Status, beginning(x.Body))
		if where, ok := x.at(headerPlace + "Location"); ok && x.Status < 400 {
			out.Detail = fmt.Sprintf("%d: redirects are not followed: %s", x.Status, where)
		}
		out.Detail = strings.TrimSpace(out.Detail)
		return out
	}
	return c.success(a, x, out)
}

func (c *Cell) success(a target.Attempt, x Exchange, out target.Response) target.Response {
	ans := c.t.cfg.Answer
	charge, ok := x.at(ans.Charge)
	if ok && charge != "" {
		out.Charge = c.names.Charge(charge)
	} else {
		out.Detail = fmt.Sprintf("the answer (%d) names no charge at %s: %s", x.Status, ans.Charge, beginning(x.Body))
	}
	if amount, ok := x.at(ans.Amount); ans.Amount != "" && ok {
		out.Amount = c.amount(amount)
	}
	out.Source = c.t.cfg.Profile.source(x)
	out.Body = c.compared(x, out)
	return out
}

// amount is the scenario's for the one in the answer; 0 if it is none.
func (c *Cell) amount(text string) int64 {
	wire, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	if _, amount, ok := c.names.OfAmount(wire); ok {
		return amount
	}
	return wire
}

// source is told by the profile's marker, "" if it has none.
func (p Profile) source(x Exchange) string {
	if p.ReplayMarker == "" {
		return ""
	}
	value, ok := x.at(p.ReplayMarker)
	if ok && value != "" && !strings.EqualFold(value, "false") && value != "0" {
		return "replayed"
	}
	return "executed"
}

// compared is what two successes for one request must have in common, besides the
// charge, as the configuration has it; "" if it is the charge alone.
func (c *Cell) compared(x Exchange, out target.Response) string {
	list := c.t.cfg.Answer.Compare
	if len(list) == 0 || len(list) == 1 && list[0] == "charge" {
		return ""
	}
	var parts []string
	for _, what := range list {
		switch what {
		case "charge":
			parts = append(parts, "charge="+out.Charge)
		case "status":
			parts = append(parts, fmt.Sprintf("status=%d", x.Status))
		case "body":
			parts = append(parts, "body="+x.Body)
		default:
			value, _ := x.at(what)
			parts = append(parts, what+"="+value)
		}
	}
	return strings.Join(parts, ", ")
}

// beginningMax is how much of a body stands in a message.
const beginningMax = 120

// beginning is the first words of a body, in one line.
func beginning(body string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(body, "?"))
	clean = strings.Join(strings.Fields(clean), " ")
	if clean == "" {
		return "(no body)"
	}
	if r := []rune(clean); len(r) > beginningMax {
		return string(r[:beginningMax]) + "…"
	}
	return clean
}
