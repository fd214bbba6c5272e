package hook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idemrace/idemrace/target/hook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers as path says, and tells what it was asked.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// echo answers with the request, as JSON.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Token", "t-1")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id": "cart-%s", "asked": %q, "mark": %q, "type": %q, "host": %q, "body": %q, "none": null, "n": 12345678901234567890}`,
		r.URL.Query().Get("ref"), r.Method+" "+r.URL.RequestURI(), r.Header.Get("X-Run"), r.Header.Get("Content-Type"), r.Host, body)
}

func TestWhatAStepCapturesLaterStepsHave(t *testing.T) {
	base := serve(t, echo)
	steps := []hook.Step{
		{HTTP: &hook.HTTP{URL: "/carts?ref={{urlquery .Run}}"}, Capture: map[string]string{"cart": "id", "token": "header:x-token", "code": "status", "big": "n"}},
		{Per: hook.PerRef, Command: "echo must not run; exit 1"},
		{Command: `echo warning >&2; printf ' %s \n' '{{.Vars.cart}}/{{.Vars.given}}'`, Capture: map[string]string{"line": "output"}},
		{Command: `printf '{"deep": [{"x": 7}]}'`, Capture: map[string]string{"deep": "deep.0.x"}},
		{HTTP: &hook.HTTP{URL: base + "/pay", Method: "PUT", Headers: map[string]string{"X-Run": "{{.Vars.token}}", "host": "pay.test"}, Body: `{"cart": {{json .Vars.line}}}`},
			Capture: map[string]string{"asked": "asked", "mark": "mark", "type": "type", "host": "host", "body": "body"}},
	}
	if err := hook.Check(steps); err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"given": "<&>"}
	vars, err := hook.Runner{}.Run(t.Context(), steps, hook.PerRun, hook.Data{Run: "a b", Base: base + "/", Vars: given})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"given": "<&>", "cart": "cart-a b", "token": "t-1", "code": "201", "big": "12345678901234567890", "line": "cart-a b/<&>", "deep": "7",
		"asked": "PUT /pay", "mark": "t-1", "type": "application/json", "host": "pay.test", "body": `{"cart": "cart-a b/<&>"}`}
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Error(diff)
	}
	if len(given) != 1 {
		t.Errorf("the caller's variables were changed: %v", given)
	}
}

func TestStepsPerRefSeeTheRef(t *testing.T) {
	base := serve(t, echo)
	steps := []hook.Step{
		{HTTP: &hook.HTTP{URL: "/never"}, Capture: map[string]string{"run": "asked"}},
		{Per: hook.PerRef, HTTP: &hook.HTTP{URL: "/{{.Ref}}", Body: "a={{.Ref}}"}, Capture: map[string]string{"asked": "asked", "type": "type", "mark": "mark"}},
	}
	vars, err := hook.Runner{Header: http.Header{"X-Run": {"r7"}}}.Run(t.Context(), steps, hook.PerRef, hook.Data{Ref: "order-42", Base: base})
	want := map[string]string{"asked": "POST /order-42", "type": "", "mark": "r7"}
	if diff := cmp.Diff(want, vars); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestACommandHasTheFolderAndNoEnvironmentButItsOwn(t *testing.T) {
	t.Setenv("IDEMRACE_HOOK_TEST", "leaked")
	dir := t.TempDir()
	steps := []hook.Step{{Command: `pwd; echo "[$IDEMRACE_HOOK_TEST$GIVEN]"; read x || echo no input`, Capture: map[string]string{"out": "output"}}}
	for _, env := range [][]string{nil, {"GIVEN=yes"}} {
		vars, err := hook.Runner{Dir: dir, Env: env}.Run(t.Context(), steps, hook.PerRun, hook.Data{})
		real, _ := filepath.EvalSymlinks(dir)
		want := real + "\n[" + strings.TrimPrefix(strings.Join(env, ""), "GIVEN=") + "]\nno input"
		if err != nil || vars["out"] != want {
			t.Errorf("with %q: got %q, %v; want %q", env, vars["out"], err, want)
		}
	}
}

// Each failure ends the list, and says which step and what was seen.
func TestFailures(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			fmt.Fprint(w, "<html>\n <b>hello</b>")
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "out of\n\tcarts "+strings.Repeat("x", 5000))
		case "/empty404":
			w.WriteHeader(http.StatusNotFound)
		case "/away":
			http.Redirect(w, r, "/html", http.StatusFound)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/hangs":
			<-r.Context().Done()
		default:
			echo(w, r)
		}
	})
	get := func(path string, capture ...string) hook.Step {
		s := hook.Step{HTTP: &hook.HTTP{URL: path}}
		if len(capture) > 0 {
			s.Capture = map[string]string{"v": capture[0]}
		}
		return s
	}
	brief := get("/hangs")
	brief.Timeout = 50 * time.Millisecond
	dead := serve(t, echo)
	cases := []struct {
		reason string
		step   hook.Step
		want   []string
	}{
		{"what failed is in the beginning", get("/500"), []string{"GET " + base + "/500 answered 500: out of carts xxx", "…"}},
		{"nothing is said to be nothing", get("/empty404"), []string{"answered 404: nothing"}},
		{"a redirect is an answer that nobody expected", get("/away"), []string{"answered 302: it redirects to /html, and no redirect is followed"}},
		{"HTML where JSON was asked for", get("/html", "id"), []string{"capture v: id asks for JSON, and got: <html> <b>hello</b>"}},
		{"a path that matches nothing", get("/x", "data.id"), []string{"capture v: nothing stands at data.id in: {"}},
		{"null is no value", get("/x", "none"), []string{"capture v: nothing stands at none"}},
		{"a header that is not there", get("/x", "header:Location"), []string{"capture v: the answer has no header Location"}},
		{"of a cut answer nothing can be captured", get("/endless", "id"), []string{"capture v: the output is longer than 1024 KiB"}},
		{"an answer that breaks off", get("/reset"), []string{"GET " + base + "/reset: ", "EOF"}},
		{"patience ends", brief, []string{"/hangs: it took longer than 50ms"}},
		{"nobody there", get(strings.Replace(dead, "http://127.0.0.1:", "http://127.0.0.1:1", 1)[:len("http://127.0.0.1:")] + "1/x"), []string{"connection refused"}},
		{"an address that is none", get("carts"), []string{`url: "carts" is neither a path (/carts) nor a URL`}},
		{"a variable that was not captured", get("/{{.Vars.cart}}"), []string{`url: in "/{{.Vars.cart}}": `, "cart"}},
		{"a command's last words", hook.Step{Command: "echo first; echo 'no such\n table' >&2; exit 3"}, []string{"command: exit status 3; it last said: first no such table"}},
		{"a command that says nothing", hook.Step{Command: "exit 1"}, []string{"command: exit status 1; it said nothing"}},
		{"the end of much output", hook.Step{Command: "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 1"}, []string{"it last said: …", "line 1999"}},
		{"a command that has no status", hook.Step{Command: "true", Capture: map[string]string{"v": "status"}}, []string{"capture v: a command has no status"}},
		{"more output than can be captured", hook.Step{Command: "head -c 3000000 /dev/zero", Capture: map[string]string{"v": "output"}}, []string{"capture v: the output is longer"}},
		{"a child that keeps the output", hook.Step{Command: "sleep 600 & echo ready"}, []string{"it left a process in the background", "setsid"}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			for name, want := range map[string]string{"": "step 2: ", "the cart": "step the cart: "} {
				c.step.Name = name
				after := filepath.Join(t.TempDir(), "after")
				vars, err := hook.Runner{Env: os.Environ()}.Run(t.Context(),
					[]hook.Step{{Command: "true"}, c.step, {Command: "touch " + after}}, hook.PerRun, hook.Data{Base: base, Vars: map[string]string{"old": "1"}})
				if err == nil {
					t.Fatalf("no error, but %v", vars)
				}
				for _, part := range append([]string{want}, c.want...) {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("want %q in: %v", part, err)
					}
				}
				if len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") {
					t.Errorf("want one short line: %v", err)
				}
				if _, statErr := os.Stat(after); statErr == nil {
					t.Error("the step after it has run")
				}
				if vars["old"] != "1" {
					t.Errorf("what was known before is lost: %v", vars)
				}
			}
		})
	}
}
