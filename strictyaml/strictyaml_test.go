package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemrace/idemrace/strictyaml"
)

type part struct {
	Of    string   `yaml:"of,omitempty"`
	Ratio float64  `yaml:"ratio"`
	Many  []int64  `yaml:"many"`
	Words []string `yaml:"words"`
}

type whole struct {
	Name  string            `yaml:"name"`
	On    bool              `yaml:"on"`
	For   time.Duration     `yaml:"for"`
	Day   time.Time         `yaml:"day"`
	Part  *part             `yaml:"part"`
	Parts map[string]part   `yaml:"parts"`
	Any   map[string]string `yaml:"any"`

	Ours   string `yaml:"-"`
	Hidden string // no tag: no field of the file
}

func TestEveryKindOfField(t *testing.T) {
	text := `
name: 007
on: True
for: 1m30s
day: 2027-01-31
part: &p {of: "null", ratio: 0.5, many: [1, -2], words: one}
parts:
  a: *p
  b: {<<: [{of: first}, {of: second, ratio: 2}], many: 3}
any: {1: x, true: y}
`
	var got whole
	if err := strictyaml.Decode([]byte(text), &got, strictyaml.Options{File: "f"}); err != nil {
		t.Fatal(err)
	}
	p := part{Of: "null", Ratio: 0.5, Many: []int64{1, -2}, Words: []string{"one"}}
	want := whole{Name: "007", On: true, For: 90 * time.Second, Day: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC), Part: &p,
		Parts: map[string]part{"a": p, "b": {Of: "first", Ratio: 2, Many: []int64{3}}}, Any: map[string]string{"1": "x", "true": "y"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusalsSayWhereAndWhat(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"misspelt", "name: x\nparts: {a: {rato: 1}}", `f:2:13: unknown field "rato" of parts.a; did you mean ratio?`},
		{"not for the file", "ours: x", `f:1:1: unknown field "ours"; it has any, day, for, name, on, part, parts`},
		{"no number", "part: {ratio: half}", `f:1:15: part.ratio: "half" is no number`},
		{"no whole number, in a list", "part: {many: [1, 2.0]}", `f:1:18: part.many[1]: "2.0" is no whole number`},
		{"long values are cut", "on: " + strings.Repeat("x", 100), `f:1:5: on: "` + strings.Repeat("x", 60) + `…" is neither true nor false`},
		{"empty", "name: ~", `f:1:7: name is left empty; leave the field out, or write ""`},
	} {
		var got whole
		err := strictyaml.Decode([]byte(row.text), &got, strictyaml.Options{File: "f"})
		var typed *strictyaml.Error
		if !errors.As(err, &typed) || err.Error() != row.want {
			t.Errorf("%s:\n got %v\nwant %s", row.why, err, row.want)
		}
	}
}

// Value sees each scalar with its field, never a name; Seen is told of all fields.
func TestValueAndSeen(t *testing.T) {
	var asked, seen []string
	var got whole
	err := strictyaml.Decode([]byte("name: a\npart:\n  words: [b, c]\nany: {k: d}"), &got, strictyaml.Options{
		Value: func(where, text string) (string, error) {
			asked = append(asked, where+"="+text)
			return text + text, nil
		},
		Seen: func(where string, line, column int) {
			seen = append(seen, fmt.Sprintf("%s %d:%d", where, line, column))
		},
	})
	if err != nil || got.Name != "aa" || got.Part.Words[1] != "cc" || got.Any["k"] != "dd" {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"name=a", "part.words[0]=b", "part.words[1]=c", "any.k=d"}, asked); diff != "" {
		t.Error(diff)
	}
	if all := strings.Join(seen, ", "); !strings.Contains(all, "name 1:7") || !strings.Contains(all, "part.words[1] 3:14") {
		t.Errorf("seen: %s", all)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"timeout", "headers", "body", "key", "key-header"}
	for _, row := range []struct{ typed, want, why string }{
		{"tmeout", "timeout", "a letter left out"},
		{"header", "headers", "a letter at the end"},
		{"keyheader", "key-header", "a sign left out"},
		{"kye", "key", "two letters swapped"},
		{"zzz", "", "three of three letters"},
		{"zebra", "", "nothing like it"},
		{"", "", "nothing"},
	} {
		if got := strictyaml.Nearest(row.typed, names); got != row.want {
			t.Errorf("%q: %q, want %q (%s)", row.typed, got, row.want, row.why)
		}
	}
}
