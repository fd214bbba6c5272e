package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/results"
)

// readme is the file, and its blocks of one language.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func blocks(text, language string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// step is a command of a console block, and what it is said to print.
type step struct{ command, want string }

func steps(block string) []step {
	var list []step
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, step{command: strings.TrimSpace(command)})
		} else if len(list) > 0 {
			list[len(list)-1].want += line
		}
	}
	return list
}

// TestReadmeConsole runs every console block, in one directory, in order.
func TestReadmeConsole(t *testing.T) {
	all := blocks(readme(t), "console")
	if len(all) < 5 {
		t.Fatalf("only %d console blocks found: is the pattern still right?", len(all))
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	shell := shell{root: root, dir: t.TempDir()}
	t.Chdir(shell.dir)
	for _, block := range all {
		for _, s := range steps(block) {
			if name, is := strings.CutPrefix(s.command, "cat "); is { // the reader writes it
				if err := os.WriteFile(name, []byte(s.want), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			got, err := shell.run(s.command)
			if err != nil {
				t.Errorf("$ %s\n%v", s.command, err)
				continue
			}
			if !likeness(s.want).MatchString(normal(got)) {
				t.Errorf("$ %s\nREADME says\n%s\ngot\n%s", s.command, s.want, got)
			}
		}
	}
}

// shell runs the few commands that the README may use.
type shell struct {
	root  string
	dir   string
	env   []string // of idemrace
	built bool     // idemrace stands in dir
	code  int      // of the last command
}

func (s *shell) run(command string) (string, error) {
	words := strings.Fields(command)
	switch {
	case command == "echo $?":
		return fmt.Sprintln(s.code), nil
	case command == "go test ./...": // we are inside it
		return "", nil
	case command == "go build -o payments ./examples/payments": // it is run below
		out, err := exec.Command("go", "build", "-C", s.root, "-o", filepath.Join(s.dir, "payments"), "./examples/payments").CombinedOutput()
		return string(out), err
	case words[0] == "go" && words[1] == "build":
		s.code, s.built = 0, s.built || words[3] == "idemrace"
		_, err := os.Stat(filepath.Join(s.root, words[len(words)-1], "main.go"))
		return "", err
	case strings.HasPrefix(command, "go run ./cmd/idemrace "):
		words = words[3:]
	case words[0] == "./idemrace" && s.built:
		words = words[1:]
	default:
		return "", fmt.Errorf("the test does not know how to run this, or the README has not built it by here")
	}
	var out bytes.Buffer
	s.code = cli.Run(context.Background(), cli.Config{Args: words, Stdout: &out, Stderr: &out, Environ: s.env})
	return out.String(), nil
}

// normal takes out what differs from machine to machine and from run to run.
func normal(text string) string {
	for _, r := range []struct{ odd, same string }{
		{`\d+(\.\d+)? ms`, "N ms"},
		{` {2,}N ms`, " N ms"},
		{`--store (redis-server|embedded) --seed`, "--store STORE --seed"},
		{`127\.0\.0\.1:\d+`, "127.0.0.1:PORT"},
		{`all \d+ double charges`, "all N double charges"},
	} {
		text = regexp.MustCompile(r.odd).ReplaceAllString(text, r.same)
	}
	return text
}

// likeness is a pattern of the text wanted, in which a line of three dots is any
// lines.
func likeness(want string) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(normal(want)) {
		if line == "...\n" {
			pattern.WriteString(`(?:[^\n]*\n)*`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`)
}

// TestReadmeLikeness: a comparison that lets everything pass would be worth
// nothing.
func TestReadmeLikeness(t *testing.T) {
	want := "a 3 ms\n...\nexit 0\n"
	if !likeness(want).MatchString(normal("a 12.5 ms\nb\nc\nexit 0\n")) {
		t.Error("figures and left-out lines must not matter")
	}
	for _, other := range []string{"a 3 ms\nb\nexit 1\n", "b 3 ms\nexit 0\n", "a 3 ms\nexit 0\nmore\n", ""} {
		if likeness(want).MatchString(normal(other)) {
			t.Errorf("%q must not pass", other)
		}
	}
}

// TestReadmeExitCodes: the table is the program's own.
func TestReadmeExitCodes(t *testing.T) {
	var table strings.Builder
	table.WriteString("| code | means |\n|---|---|\n")
	for _, c := range cli.ExitCodes() {
		fmt.Fprintf(&table, "| %d | %s |\n", c.Code, c.Means)
	}
	if !strings.Contains(readme(t), table.String()) {
		t.Errorf("README lacks the table\n%s", table.String())
	}
}

// TestReadmeExample: the code in the README is what ExampleRun runs, and what at
// least compiles.
func TestReadmeExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"", "main "} {
		_, rest, begins := strings.Cut(string(source), "// README: "+mark+"begin\n")
		example, _, ends := strings.Cut(rest, "// README: "+mark+"end\n")
		if !begins || !ends {
			t.Fatal("example_test.go has lost its marks")
		}
		same := func(block string) bool { return strings.TrimSpace(block) == strings.TrimSpace(example) }
		if !slices.ContainsFunc(blocks(readme(t), "go"), same) {
			t.Errorf("no block of the README is this one of example_test.go:\n%s", example)
		}
	}
}

// TestReadmeNaive: lockFirst fails the scenarios that the README names, and no
// other. Where it races against itself, the README says "not each time".
func TestReadmeNaive(t *testing.T) {
	_, rest, begins := strings.Cut(readme(t), "It is naive: ")
	list, _, ends := strings.Cut(rest, "What an entry names")
	if !begins || !ends {
		t.Fatal("the README has lost its list")
	}
	path := filepath.Join(t.TempDir(), "run.json")
	call(t.Context(), cli.Config{Extra: []impl.Entry{mine()}}, "run", "--impl", "lock-first", "--store", "embedded", "--format", "json", "-o", path)
	run, err := results.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		named := strings.Contains(list, "`"+c.Scenario+"`")
		open := c.Verdict == "inconclusive" || strings.Contains(list, "`"+c.Scenario+"` (not each time)")
		if fails := c.Verdict == "violated" && !c.AsExpected; fails != named && !open {
			t.Errorf("%s: fails %v, named by the README %v", c.Scenario, fails, named)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(list, -1) {
		if !slices.ContainsFunc(run.Cells, func(c results.Cell) bool { return c.Scenario == m[1] }) {
			t.Errorf("the README names %s, which is no scenario", m[1])
		}
	}
}

// TestReadmeGate: the flags of the CI snippet exist. --help asks for nothing else.
func TestReadmeGate(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^ +- run: \./idemrace (.*)$`).FindAllStringSubmatch(readme(t), -1)
	if len(lines) == 0 {
		t.Fatal("the CI snippet does not run idemrace")
	}
	for _, m := range lines {
		command, _, _ := strings.Cut(m[1], " >>")
		var said bytes.Buffer
		args := append(strings.Fields(command), "--help")
		if code := cli.Run(context.Background(), cli.Config{Args: args, Stderr: &said}); code != 0 {
			t.Errorf("idemrace %s: exit %d: %s", command, code, said.String())
		}
	}
}
