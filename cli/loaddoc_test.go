package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// figures takes out of a load's report what is another each time: every number, and
// how wide columns are.
func figures(text string) string {
	for _, r := range []struct{ odd, same string }{
		{`\d+(\.\d+)?(µs|ms|s)\b`, "N"}, {`\b\d+(\.\d+)?\b`, "N"}, {`keys?;`, "keys;"}, {`[ \t]+`, " "},
	} {
		text = regexp.MustCompile(r.odd).ReplaceAllString(text, r.same)
	}
	return text
}

// TestLoadDocument runs every console block of docs/load.md, in one directory, in
// order.
func TestLoadDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "load.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sh, ran := shell{root: root, dir: t.TempDir()}, 0
	t.Chdir(sh.dir)
	for _, block := range blocks(string(text), "console") {
		for _, s := range steps(block) {
			if name, is := strings.CutPrefix(s.command, "cat "); is { // the reader writes it
				if err := os.WriteFile(name, []byte(s.want), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			command := s.command
			sh.env = os.Environ()
			if strings.HasPrefix(command, "IMPL=") {
				var name string
				name, command, _ = strings.Cut(command, " ")
				sh.env = append(sh.env, name)
			}
			got, err := sh.run(command)
			if err != nil {
				t.Errorf("$ %s\n%v", s.command, err)
				continue
			}
			ran++
			want := s.want
			if s.command != "echo $?" { // there the number is what counts
				got, want = figures(got), figures(want)
			}
			if !likeness(want).MatchString(normal(got)) {
				t.Errorf("$ %s\ndocs/load.md says\n%s\ngot\n%s", s.command, want, got)
			}
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were run: is the pattern still right?", ran)
	}
}
