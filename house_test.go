package idemrace

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// longest is how many lines a function may have. Most have about a dozen; beyond
// sixty nobody reads one aloud.
const longest = 60

// longFunctions lists the exceptions: "store/value.go Name" with the reason, for a
// function that is one table of cases. It is empty, and better so.
var longFunctions = map[string]string{}

// A houseRule looks at one file and says what is wrong and what to do, a sentence
// each.
type houseRule func(source) []string

var houseRules = map[string]houseRule{
	"no function is long":             ruleShort,
	"no init":                         ruleNoInit,
	"no package variable can change":  ruleNoState,
	"only cli and cmd meet the world": ruleQuiet,
}

func TestHouseRules(t *testing.T) {
	all := sources(t)
	for name, rule := range houseRules {
		t.Run(name, func(t *testing.T) {
			for _, s := range all {
				for _, complaint := range rule(s) {
					t.Error(complaint)
				}
			}
		})
	}
}

func ruleShort(s source) (complaints []string) {
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || longFunctions[s.path+" "+f.Name.Name] != "" {
			continue
		}
		lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
		if lines > longest {
			complaints = append(complaints, fmt.Sprintf("%s: %s has %d lines, over %d; split it by what it does", s.at(f), f.Name.Name, lines, longest))
		}
	}
	return complaints
}

func ruleNoInit(s source) (complaints []string) {
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			complaints = append(complaints, s.at(f)+": init runs behind the reader's back; call a function, or write a catalogue line")
		}
	}
	return complaints
}

// worldly are the members that read the environment, end the process or write to
// its streams.
var worldly = []string{
	"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Unsetenv",
	"os.Exit", "os.Args", "os.Stdin", "os.Stdout", "os.Stderr",
	"fmt.Print", "fmt.Printf", "fmt.Println",
	"log.Fatal", "log.Fatalf", "log.Fatalln", "log.Print", "log.Printf", "log.Println",
}

func ruleQuiet(s source) (complaints []string) {
	if s.room == "cli" || strings.HasPrefix(s.room, "cmd/") {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if member := s.member(n); slices.Contains(worldly, member) {
			complaints = append(complaints, fmt.Sprintf("%s: %s is for cli and cmd alone; take a value or a writer, return an error", s.at(n), member))
		}
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				complaints = append(complaints, s.at(n)+": print is left over from debugging; take it out")
			}
		}
		return true
	})
	return complaints
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for room, comment := range packageComments(sources(t)) {
		if comment == "" {
			t.Errorf("package %s has no comment; say above its package clause what it is for and what it refuses to do", room)
		}
	}
}

// packageComments maps each room to the comment above its package clause.
func packageComments(all []source) map[string]string {
	comments := map[string]string{}
	for _, s := range all {
		comments[s.room] += s.file.Doc.Text()
	}
	return comments
}

func TestTheLicenceIsThere(t *testing.T) {
	text, err := os.ReadFile("LICENSE")
	if err != nil || !strings.Contains(string(text), "Apache License") || !strings.Contains(string(text), "Version 2.0") {
		t.Errorf("LICENSE must hold the Apache License, Version 2.0 (%v); put it back", err)
	}
}

// Each rule is shown a file that breaks it and its legal twin: a rule that cannot
// fail is worth nothing.
func TestHouseRulesCanFail(t *testing.T) {
	cases := []struct {
		rule, reason string
		room         string
		bad, good    string
	}{
		{"no function is long", "sixty lines and the brackets", "store",
			"func long() {\n" + strings.Repeat("_ = 1\n", 60) + "}",
			"func short() {\n" + strings.Repeat("_ = 1\n", 58) + "}"},
		{"no init", "a method of that name is another thing", "store",
			"func init() {}", "type t int\nfunc (t) init() {}"},
		{"only cli and cmd meet the world", "the environment", "store",
			`import "os"` + "\nfunc f() { os.Getenv(`X`) }", "func f(env string) {}"},
		{"only cli and cmd meet the world", "under another name", "store",
			`import sys "os"` + "\nfunc f() { sys.Exit(1) }", "type t struct{}\nfunc (t) Exit(int) {}\nfunc f(os t) { os.Exit(1) }"},
		{"only cli and cmd meet the world", "a function handed on is a use too", "store",
			`import "fmt"` + "\nvar _ = fmt.Println", `import "fmt"` + "\nvar _ = fmt.Sprintln"},
		{"only cli and cmd meet the world", "the builtin of debugging", "store",
			"func f() { println() }", "func f() {}"},
	}
	for _, c := range cases {
		rule := houseRules[c.rule]
		if got := rule(snippet(t, c.room, "package p\n"+c.bad)); len(got) != 1 {
			t.Errorf("%s (%s): want one complaint, got %q about\n%s", c.rule, c.reason, got, c.bad)
		}
		if got := rule(snippet(t, c.room, "package p\n"+c.good)); len(got) != 0 {
			t.Errorf("%s (%s): want no complaint, got %q about\n%s", c.rule, c.reason, got, c.good)
		}
	}
	if got := ruleQuiet(snippet(t, "cli", "package p\nimport `os`\nfunc f() { os.Exit(1) }")); got != nil {
		t.Errorf("cli may exit, but the rule says %q", got)
	}
	comments := packageComments([]source{snippet(t, "a", "package p"), snippet(t, "b", "// Package p is.\npackage p")})
	if comments["a"] != "" || comments["b"] == "" {
		t.Errorf("package comments are read wrong: %q", comments)
	}
}
