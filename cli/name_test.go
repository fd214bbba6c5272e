package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
)

// TestName: whatever is to be typed again is typed as the program is called.
func TestName(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved")
	extra := []impl.Entry{{Name: "mine", New: func(impl.Env) (idempotency.Coordinator, error) { return nil, errors.New("no licence") }}}
	cell := []string{"--impl", "mine", "--scenario", "key-reuse", "--store", "memory"}
	tests := []struct {
		args []string
		want string
	}{
		{append([]string{"run", "--save", saved}, cell...), "\nreproduce: ./race run --scenario key-reuse --impl mine"},
		{append([]string{"run", "-v"}, cell...), "  reproduce: ./race run --scenario key-reuse --impl mine"},
		{[]string{"report", saved}, "\nreproduce: ./race check " + saved},
		{[]string{"check", saved}, "\nreproduce: ./race check " + saved},
		{[]string{"report", saved, "--format", "markdown"}, "`./race run --scenario"},
		{[]string{"report", "nowhere"}, "./race: no run at nowhere; save one with: ./race run --save DIR"},
		{[]string{"run", "--impl", "mime"}, "did you mean mine? See: ./race list impls"},
		{[]string{"rnu"}, "See: ./race --help"},
		{[]string{"run", "--nothing"}, "see ./race run --help"},
		{[]string{"run", "--help"}, "  ./race run --scenario in-flight"},
		{[]string{"check", "--help"}, "  ./race check DIR|run.json|HISTORY.jsonl [flags]"},
		{[]string{"explain", "mine"}, "  ./race run --impl mine"},
		{[]string{"--help"}, "  ./race explain in-flight"},
	}
	for _, tt := range tests {
		_, out, said := call(t.Context(), cli.Config{Name: "./race", Extra: extra}, tt.args...)
		if all := "\n" + out + said; !strings.Contains(all, tt.want) || strings.Contains(all, "idemrace run") || strings.Contains(all, "idemrace list") {
			t.Errorf("%v: want %q in\n%s", tt.args, tt.want, all)
		}
	}
	_, script, _ := call(t.Context(), cli.Config{Name: "./race"}, "completion", "bash")
	if !strings.Contains(script, "__start_race") {
		t.Error("the completion is not the program's own")
	}
	if _, err := os.Stat(saved); err != nil {
		t.Error(err)
	}
}

// TestOrigin: what nobody typed is said to come from the environment, and only
// that.
func TestOrigin(t *testing.T) {
	tests := []struct {
		variable string
		args     []string
		says     bool
	}{
		{"IDEMRACE_SCENARIO=nope", []string{"run"}, true},
		{"IDEMRACE_IMPL=nope", []string{"run"}, true},
		{"IDEMRACE_FORMAT=nope", []string{"run"}, true},
		{"IDEMRACE_STORE=nope", []string{"run"}, true},
		{"IDEMRACE_STORE=redis://10.1.2.3:1", []string{"run"}, true},
		{"IDEMRACE_REPEAT=0", []string{"run"}, true},
		{"IDEMRACE_SAVE=/dev/null", []string{"run"}, true},
		{"IDEMRACE_COLOR=blue", []string{"version"}, true},
		{"IDEMRACE_SCENARIO=nope", []string{"run", "--scenario", "nope"}, false},
		{"IDEMRACE_SCENARIO=burst", []string{"run", "--impl", "nope"}, false},
	}
	for _, tt := range tests {
		name, _, _ := strings.Cut(tt.variable, "=")
		code, _, said := call(t.Context(), cli.Config{Environ: []string{tt.variable}}, tt.args...)
		if code != cli.ExitUsage || strings.Contains(said, "(from "+name+" in the environment)") != tt.says {
			t.Errorf("%s, %v: exit %d, %q", tt.variable, tt.args, code, said)
		}
	}
}
