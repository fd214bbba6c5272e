package hook_test

import (
	"strings"
	"testing"

	"github.com/idemrace/idemrace/target/hook"
)

func TestCheck(t *testing.T) {
	get := hook.HTTP{URL: "/x"}
	capturing := func(name, place string) hook.Step {
		return hook.Step{HTTP: &get, Capture: map[string]string{name: place}}
	}
	cases := []struct {
		reason string
		step   hook.Step
		want   string // of the error; "" if it is a good step
	}{
		{"the least request", hook.Step{HTTP: &get}, ""},
		{"the least command", hook.Step{Command: "true"}, ""},
		{"all that a template has", hook.Step{Per: hook.PerRef, Command: `{{.Run}} {{.Ref}} {{.Base}} {{json .Vars.any}} {{urlquery .Ref}}`}, ""},
		{"what a value may be is not known yet", hook.Step{Command: `{{slice .Vars.token 0 8}}`}, ""},
		{"all places", hook.Step{HTTP: &get, Capture: map[string]string{"a": "status", "b": "header:X", "c": "output", "d": "data.0.id", "übung_2": "x"}}, ""},
		{"the output of a command", hook.Step{Command: "true", Capture: map[string]string{"a": "output", "b": "x.y"}}, ""},
		{"an empty one", hook.Step{Name: "cart"}, "step cart: it does nothing"},
		{"both", hook.Step{HTTP: &get, Command: "true"}, "step 2: it is http or a command, not both"},
		{"a misspelt word", hook.Step{Command: "true", Per: "refs"}, `per: "refs" is neither run nor ref`},
		{"a time that is none", hook.Step{Command: "true", Timeout: -1}, "timeout: -1ns"},
		{"no address", hook.Step{HTTP: &hook.HTTP{}}, "url: it is empty"},
		{"a template that does not parse", hook.Step{HTTP: &hook.HTTP{URL: "/{{.Ref"}}, `url: in "/{{.Ref": unclosed action`},
		{"in the body", hook.Step{HTTP: &hook.HTTP{URL: "/", Body: "{{jsn .Ref}}"}}, `body: in "{{jsn .Ref}}": function "jsn" not defined`},
		{"in a header", hook.Step{HTTP: &hook.HTTP{URL: "/", Headers: map[string]string{"Ok": "", "Auth": "{{end}}"}}}, "header Auth: in"},
		{"a misspelt field", hook.Step{Command: "x {{.Reff}}"}, `command: in "x {{.Reff}}": at <.Reff>: can't evaluate field Reff`},
		{"a variable without .Vars", hook.Step{Command: "{{.cart}}"}, "there are .Run, .Ref, .Base and .Vars"},
		{"a name that no template can write", capturing("cart-id", "id"), "capture cart-id: a variable's name has letters"},
		{"no place", capturing("a", ""), "capture a: it says no place"},
		{"a header without a name", capturing("a", "header:"), "capture a: header: which one?"},
		{"a command has no status", hook.Step{Command: "true", Capture: map[string]string{"a": "status"}}, "capture a: a command has neither"},
		{"a command has no header", hook.Step{Command: "true", Capture: map[string]string{"a": "header:X"}}, "capture a: a command has neither"},
	}
	for _, c := range cases {
		err := hook.Check([]hook.Step{{Command: "true"}, c.step})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
		}
	}
}
