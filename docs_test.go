package idemrace

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/check"
)

// named finds files and folders of this module in a document's text, in backticks.
var named = regexp.MustCompile("`([a-z]+(?:/[a-z]+)*/[a-z_]+\\.(?:go|md|conf)|[a-z_]+_test\\.go|staticcheck\\.conf|[a-z]+/testdata[a-z/]*)`")

// A guide that points at a file which has moved is worse than none.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, document := range append(documents, "CONTRIBUTING.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			seen++
			if _, err := os.Stat(match[1]); err != nil {
				t.Errorf("%s names %s, which is not there; name the file that took its place", document, match[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d names of files were found; CONTRIBUTING.md alone has more, so the pattern is wrong", seen)
	}
}

func TestDesignListsEveryInvariant(t *testing.T) {
	text, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, invariant := range check.All() {
		if !strings.Contains(string(text), "\n| `"+invariant.ID+"` |") {
			t.Errorf("docs/design.md has no row for %s; add one under Invariants", invariant.ID)
		}
	}
}
