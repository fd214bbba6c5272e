package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/store/backend"
)

func TestNearest(t *testing.T) {
	names := []string{"in-flight", "key-reuse", "redis-down", "redis-down-closed", "burst", "effect/silent-duplicate"}
	tests := []struct{ word, want, why string }{
		{"inflight", "in-flight", "a sign was left out"},
		{"in-fligth", "in-flight", "two letters were swapped"},
		{"IN-FLIGHT", "in-flight", "the case was wrong"},
		{"redis-dwon", "redis-down", "the nearer of two"},
		{"silent-duplicate", "effect/silent-duplicate", "the family was left out"},
		{"flight", "in-flight", "a part of it"},
		{"bu", "", "too short to be sure"},
		{"zebra-crossing", "", "nothing like it"},
		{"", "", "nothing at all"},
	}
	for _, tt := range tests {
		if got := nearest(tt.word, names); got != tt.want {
			t.Errorf("%s: nearest(%q) = %q, want %q", tt.why, tt.word, got, tt.want)
		}
	}
}

func TestCompletions(t *testing.T) {
	names := []string{"wait", "raise", "cache"}
	tests := []struct {
		typed string
		want  []string
	}{
		{"", []string{"wait", "raise", "cache"}},
		{"ra", []string{"raise"}},
		{"wait,ca", []string{"wait,cache"}},
		{"zebra", nil},
	}
	for _, tt := range tests {
		if got := completions(tt.typed, names); !slices.Equal(got, tt.want) {
			t.Errorf("completions(%q) = %q, want %q", tt.typed, got, tt.want)
		}
	}
}

// TestColor: a buffer is no terminal, so only what was asked for can colour it.
func TestColor(t *testing.T) {
	tests := []struct {
		why  string
		flag string
		env  environment
		want bool
	}{
		{"nobody looks", colorAuto, nil, false},
		{"asked for", colorAlways, nil, true},
		{"the flag goes before NO_COLOR", colorAlways, environment{"NO_COLOR": "1"}, true},
		{"the flag goes before FORCE_COLOR", colorNever, environment{"FORCE_COLOR": "1"}, false},
		{"FORCE_COLOR", colorAuto, environment{"FORCE_COLOR": "1"}, true},
		{"FORCE_COLOR=0 is none", colorAuto, environment{"FORCE_COLOR": "0"}, false},
		{"NO_COLOR goes before FORCE_COLOR", colorAuto, environment{"NO_COLOR": "1", "FORCE_COLOR": "1"}, false},
		{"an empty NO_COLOR is none (no-color.org)", colorAuto, environment{"NO_COLOR": "", "FORCE_COLOR": "1"}, true},
		{"CI may force colour", colorAuto, environment{"CI": "true", "FORCE_COLOR": "1"}, true},
	}
	for _, tt := range tests {
		a := &app{env: tt.env, flags: globalFlags{color: tt.flag}}
		if got := a.color(&bytes.Buffer{}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := environmentOf([]string{"A=1", "B=x=y", "A=2", "broken"})
	if env["A"] != "2" || env["B"] != "x=y" || len(env) != 2 {
		t.Errorf("got %v", env)
	}
	if got := variable("wait-limit"); got != "IDEMRACE_WAIT_LIMIT" {
		t.Errorf("got %s", got)
	}
}

// TestComplain: an error of many lines is still one line.
func TestComplain(t *testing.T) {
	var said bytes.Buffer
	(&app{name: ownName, stderr: &said}).complain("first\nsecond\r\n")
	if got, want := said.String(), "idemrace: first; second\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"results/today":          "results/today",
		"redis://127.0.0.1:6379": "redis://127.0.0.1:6379",
		"my runs":                "'my runs'",
		"it's":                   `'it'\''s'`,
		"$(reboot)":              "'$(reboot)'",
		"":                       "''",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}

// TestStoreErrorHints: each names the step that helps.
func TestStoreErrorHints(t *testing.T) {
	tests := []struct {
		why, store string
		err        error
		want       string
	}{
		{"the reaper's image", backend.Container, fmt.Errorf("container: %w: no route", backend.ErrReaper), "TESTCONTAINERS_RYUK_DISABLED=true"},
		{"our own image", backend.Container, errors.New("no route"), "--redis-image names another"},
		{"a URL", "redis://127.0.0.1:1", errors.New("refused"), "is it running?"},
	}
	for _, tt := range tests {
		if got := storeError(tt.store, tt.err).Error(); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q does not say %q", tt.why, got, tt.want)
		}
	}
}
