package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/history"
)

// Every built-in scenario can be written down, and is the same when it is read.
func TestEveryScenarioInYAML(t *testing.T) {
	for _, want := range All() {
		text, err := Encode(want)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		got, err := Decode(want.Name+".yaml", text)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		want.Article, want.Setting.RealTime = false, false // of the catalogue alone
		sorted := func(s Scenario) Scenario {
			s.Controls = slices.SortedFunc(slices.Values(s.Controls), func(a, b history.Control) int { return strings.Compare(a.Name, b.Name) })
			s.Exposes = slices.Clone(s.Exposes)
			slices.SortStableFunc(s.Exposes, func(a, b check.Exposure) int { return order(a) - order(b) })
			if len(s.Controls) == 0 {
				s.Controls = nil
			}
			return s
		}
		if a, b := sorted(want), sorted(got); !reflect.DeepEqual(a, b) {
			t.Errorf("%s became another:\n%+v\n%+v", want.Name, a, b)
		}
	}
}

func order(e check.Exposure) int {
	if e.Surely {
		return 0
	}
	return 1
}

func TestRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"a misspelt step", "name: x\nsteps: [{sendd: {client: A}}, settle]", `unknown field "sendd" of steps[0]; did you mean send?`},
		{"a misspelt field", "name: x\nsteps: [{send: {clinet: A}}, settle]", "did you mean client?"},
		{"a misspelt bare step", "name: x\nsteps: [settl]", "did you mean settle?"},
		{"two steps in one", "name: x\nsteps: [{send: {client: A}, join: {}}, settle]", "a step is one mapping"},
		{"no settle", "name: x\nsteps: [{send: {client: A}}]", "the last step must be settle"},
		{"no steps", "name: x\n", "no steps"},
		{"an unknown invariant", "name: x\nsteps: [settle]\nexposes: [effect/at-most-onse]", "unknown invariant"},
		{"an unknown control", "name: x\nsteps: [settle]\ncontrols: {overlaps: 1}", "unknown control"},
	} {
		_, err := Decode("mine.yaml", []byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
}
