package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts and tests run this program as idemrace.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "__explore-admit") { // a child of explore's
		main()
	}
	testscript.Main(withExamples{m}, map[string]func(){"idemrace": main})
}

// quickExit: a program built with -race sleeps for a second before it exits, and
// here it exits a hundred times.
const quickExit = "atexit_sleep_ms=0"

// TestRealTime tests what waits in real time: the article's experiment. It runs
// before the other scripts, which would take its time.
func TestRealTime(t *testing.T) { runScripts(t, "realtime") }

// TestScripts tests the command line end to end, as text. UPDATE_SCRIPTS=1 writes
// what came out into the scripts.
func TestScripts(t *testing.T) { runScripts(t, "script") }

func runScripts(t *testing.T, folder string) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("..", "..", "cli", "testdata", folder),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Condition:     condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", quickExit)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"normalise": normalise,
			"oneline":   oneLine,
			"clean":     clean,
			"disturb":   disturb,

			"payments":      havePayments,
			"startpayments": startPayments,
		},
	})
}

// normalise writes the last stdout to a file with everything replaced that is
// not the same each time.
func normalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalise FILE")
	}
	text := normal(ts.ReadFile("stdout"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func normal(text string) string {
	for _, r := range []struct{ odd, same string }{
		{` *\d+(\.\d+)? ms`, " N ms"},
		{`127\.0\.0\.1:\d+`, "127.0.0.1:PORT"},
		{`miniredis v[\d.]+`, "miniredis V"},
	} {
		text = regexp.MustCompile(r.odd).ReplaceAllString(text, r.same)
	}
	// Where this sentence breaks depends on the numbers in it.
	because := regexp.MustCompile(`because: [^\n]*(\n {9}[^\n]+)*`)
	return because.ReplaceAllStringFunc(text, func(s string) string { return strings.Join(strings.Fields(s), " ") })
}

// oneLine holds if the last stderr is one line that begins with our name and
// matches, and nothing went to stdout.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline PATTERN")
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout must be empty, got %q", out)
	}
	said := ts.ReadFile("stderr")
	if !regexp.MustCompile(`\Aidemrace: [^\n]+\n\z`).MatchString(said) {
		ts.Fatalf("want one line, got %q", said)
	}
	if !regexp.MustCompile(args[0]).MatchString(said) {
		ts.Fatalf("%q does not match %s", said, args[0])
	}
}

// clean holds if nothing was left behind in the directory for temporary files.
func clean(ts *testscript.TestScript, _ bool, _ []string) {
	left, err := os.ReadDir(ts.Getenv("TMPDIR"))
	if err != nil && !os.IsNotExist(err) {
		ts.Fatalf("%v", err)
	}
	for _, e := range left {
		ts.Fatalf("left behind: %s", e.Name())
	}
}
