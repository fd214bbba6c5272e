package idemrace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is what action.yml holds, as far as its shell is concerned.
type action struct {
	Inputs map[string]struct {
		Default string `yaml:"default"`
	} `yaml:"inputs"`
	Runs struct {
		Steps []struct {
			Name  string            `yaml:"name"`
			Shell string            `yaml:"shell"`
			Env   map[string]string `yaml:"env"`
			Run   string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

// TestActionRuns runs the action's own shell with a stand-in for idemrace that
// writes its arguments and the files it was told to write.
func TestActionRuns(t *testing.T) {
	a := readAction(t)
	for _, row := range []struct {
		why, exit string
		inputs    map[string]string
		code      int
		args      []string
	}{
		{"defaults", "0", nil, 0, []string{"run", "--config", "idemrace.yaml", "--gate=on"}},
		{"a closed gate fails the step", "1", nil, 1, nil},
		{"budget and further flags, one a line", "0", map[string]string{"budget": "60s", "args": "--scenario\nin-flight\n--target\na b"}, 0,
			[]string{"--budget", "60s", "--scenario", "in-flight", "--target", "a b"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			dir := t.TempDir()
			out, code := runStep(t, a, "race", dir, row.inputs, row.exit)
			if code != row.code {
				t.Errorf("exit %d, want %d: %s", code, row.code, out)
			}
			args := read(t, filepath.Join(dir, "args"))
			for _, want := range row.args {
				if !strings.Contains(args, "<"+want+">\n") {
					t.Errorf("no argument %q in:\n%s", want, args)
				}
			}
			if !strings.Contains(out, "::error title=x::y") {
				t.Errorf("the annotations are not shown:\n%s", out)
			}
			if summary := read(t, filepath.Join(dir, "summary")); summary != "# summary\n" {
				t.Errorf("the step summary is %q", summary)
			}
		})
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runStep runs one step as the runner would: its inputs come by the environment.
func runStep(t *testing.T, a action, name, dir string, inputs map[string]string, exit string) (out string, code int) {
	t.Helper()
	stand := "#!/bin/bash\nprintf '<%s>\\n' \"$@\" >\"$DIR/args\"\n" +
		"echo '::error title=x::y' >\"$RUNNER_TEMP/idemrace-annotations\"\necho '# summary' >\"$RUNNER_TEMP/idemrace-summary.md\"\nexit " + exit + "\n"
	if err := os.WriteFile(filepath.Join(dir, "idemrace"), []byte(stand), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range a.Runs.Steps {
		if step.Name != name {
			continue
		}
		cmd := exec.Command(step.Shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run) // as GitHub's runner does
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DIR=" + dir, "RUNNER_TEMP=" + dir, "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary")}
		for variable, from := range step.Env {
			input := strings.TrimSuffix(strings.TrimPrefix(from, "${{ inputs."), " }}")
			value, given := inputs[input]
			if !given {
				value = a.Inputs[input].Default
			}
			cmd.Env = append(cmd.Env, variable+"="+value)
		}
		text, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(text), cmd.ProcessState.ExitCode()
	}
	t.Fatalf("action.yml has no step %q", name)
	return "", 0
}
