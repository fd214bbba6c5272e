package impl_test

import (
	"strings"
	"testing"

	"github.com/idemrace/idemrace/impl"
)

// TestEveryMemberTellsItsStory: what is wrong, where it has been seen, what is right.
func TestEveryMemberTellsItsStory(t *testing.T) {
	zoo, _ := impl.Group(impl.Zoo)
	for _, e := range zoo {
		if e.Name == "cache" { // taught in a folder of its own
			continue
		}
		story := strings.Join(e.Story(), "\n")
		for _, part := range []string{"What is wrong: ", "Seen ", "Right: "} {
			if !strings.Contains(story, part) {
				t.Errorf("%s does not say %q in its package comment", e.Name, part)
			}
		}
	}
	if wait, _ := impl.Lookup("wait"); wait.Story() != nil {
		t.Error("wait has no folder in the zoo")
	}
}
