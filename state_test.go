package idemrace

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// immutable are the calls whose values nobody can change, so that a package
// variable may hold one.
var immutable = []string{
	"errors.New", "fmt.Errorf", // sentinels
	"regexp.MustCompile", "strings.NewReplacer", // compiled once, safe for all
	"time.Date", "reflect.TypeFor",
	"github.com/redis/go-redis/v9.NewScript", // a text and its hash
}

// allowedState is the end of each complaint.
var allowedState = "make it a constant, a function that returns it, or a field that is handed in. Allowed: " +
	strings.Join(immutable, ", ") + "; go:embed; var _ I = …; an unexported table that its package neither writes nor hands out whole"

// ruleNoState refuses package variables that can change: two cells of a run, or two
// tests, would meet in them.
func ruleNoState(s source) (complaints []string) {
	for _, decl := range s.file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || embedded(g.Doc) {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				if name.Name == "_" || embedded(v.Doc) || i < len(v.Values) && s.fixed(name, v.Values[i]) {
					continue
				}
				complaints = append(complaints, s.at(name)+": the package variable "+name.Name+" can change; "+allowedState)
			}
		}
	}
	return complaints
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// fixed reports whether a variable of that value cannot change.
func (s source) fixed(name *ast.Ident, value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CallExpr:
		return slices.Contains(immutable, s.member(value.Fun))
	case *ast.CompositeLit:
		return !name.IsExported() && !slices.ContainsFunc(s.peers, func(f *ast.File) bool {
			return changes(f, name.Name)
		})
	}
	return false
}

// changes reports whether a file writes to a table, takes its address, or returns
// it whole, so that others could write. A local variable of the same name counts
// too: rename it.
func changes(f *ast.File, table string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, func(x ast.Expr) bool { return root(x) == table })
		case *ast.IncDecStmt:
			found = found || root(n.X) == table
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && root(n.X) == table
		case *ast.ReturnStmt:
			found = found || slices.ContainsFunc(n.Results, func(x ast.Expr) bool { return isName(x, table) })
		case *ast.CallExpr:
			found = found || len(n.Args) > 0 && root(n.Args[0]) == table && writes(n.Fun)
		}
		return !found
	})
	return found
}

// root is the variable that a.b[i].c is a part of.
func root(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return root(x.X)
	case *ast.IndexExpr:
		return root(x.X)
	case *ast.SliceExpr:
		return root(x.X)
	case *ast.StarExpr:
		return root(x.X)
	case *ast.ParenExpr:
		return root(x.X)
	}
	return ""
}

func isName(x ast.Expr, name string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && ident.Name == name
}

// writes tells calls that change their first argument.
func writes(f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name == "delete" || f.Name == "clear" || f.Name == "copy"
	case *ast.SelectorExpr:
		pkg, name := root(f.X), f.Sel.Name
		return pkg == "sort" ||
			pkg == "slices" && (strings.HasPrefix(name, "Sort") && name != "Sorted" || name == "Reverse") ||
			pkg == "maps" && (name == "Copy" || name == "DeleteFunc")
	}
	return false
}

func TestAVariableThatCanChangeIsRefused(t *testing.T) {
	const table = "var names = []string{`b`, `a`}\n"
	cases := []struct{ reason, bad, good string }{
		{"a zero value waits to be set",
			"var count int", "const count = 0"},
		{"an exported table can be written by anybody",
			"var All = []int{1}", "func All() []int { return []int{1} }"},
		{"make is an empty table that waits to be filled",
			"var seen = make(map[string]bool)", "var _ = map[string]bool{}"},
		{"the second of two names",
			`import "errors"` + "\nvar ErrA, cache = errors.New(``), new(int)", `import "errors"` + "\nvar ErrA, ErrB = errors.New(``), errors.New(``)"},
		{"a file embedded is a constant in all but name",
			"var script string", "import _ \"embed\"\n//go:embed claim.lua\nvar script string"},
		{"a client is no script, whatever the version in its path",
			`import "github.com/redis/go-redis/v9"` + "\nvar c = redis.NewClient(nil)", `import "github.com/redis/go-redis/v9"` + "\nvar s = redis.NewScript(``)"},
		{"an element is set",
			table + "func f() { names[0] = `c` }", table + "func f() string { return names[0] }"},
		{"the table is grown",
			table + "func f() { names = append(names, `c`) }", table + "func f() []string { return append([]string{}, names...) }"},
		{"its address is taken",
			table + "func f() *string { return &names[0] }", table + "func f() { for range names {} }"},
		{"it is handed out whole",
			table + "func f() []string { return names }", "import `slices`\n" + table + "func f() []string { return slices.Clone(names) }"},
		{"it is sorted in place",
			"import `slices`\n" + table + "func f() { slices.Sort(names) }", "import `slices`\n" + table + "func f() bool { return slices.Contains(names, ``) }"},
		{"a map loses a member",
			"var m = map[int]int{}\nfunc f() { delete(m, 1) }", "var m = map[int]int{}\nfunc f() int { return m[1] }"},
		{"a counter in a struct",
			"var s = struct{ n int }{}\nfunc f() { s.n++ }", "var s = struct{ n int }{}\nfunc f() int { return s.n }"},
	}
	for _, c := range cases {
		if got := ruleNoState(snippet(t, "store", "package p\n"+c.bad)); len(got) != 1 {
			t.Errorf("%s: want one complaint, got %q about\n%s", c.reason, got, c.bad)
		}
		if got := ruleNoState(snippet(t, "store", "package p\n"+c.good)); len(got) != 0 {
			t.Errorf("%s: want no complaint, got %q about\n%s", c.reason, got, c.good)
		}
	}
}
