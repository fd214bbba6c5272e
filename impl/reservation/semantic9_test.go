package reservation_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// All blocking goes through a port. The law is read out of the source of every
// coordinator: a goroutine or a timer of its own would be invisible to a
// scheduler, and only sometimes seen by a test.
func TestSemantic9_CoordinatorsBlockOnlyThroughPorts(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		for _, breach := range breaches(t, path, nil) {
			t.Errorf("%s", breach)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 8 {
		t.Errorf("%d files read: is this still the folder of the coordinators?", files)
	}
}

// The reader must see what it is there to see.
func TestSemantic9_TheReaderSeesEachBreach(t *testing.T) {
	cases := map[string]string{
		"go statement":        `go f()`,
		"select":              `select {}`,
		"receive":             `<-c`,
		"send":                `c <- 1`,
		"time.Sleep":          `time.Sleep(1)`,
		"time.After":          `_ = time.After`,
		"time.NewTimer":       `time.NewTimer(1)`,
		"time.Now":            `time.Now()`,
		"context.WithTimeout": `context.WithTimeout(ctx, 1)`,
		"context.AfterFunc":   `context.AfterFunc(ctx, f)`,
	}
	for why, statement := range cases {
		source := "package p\nfunc _() { " + statement + " }\n"
		if len(breaches(t, "case.go", source)) != 1 {
			t.Errorf("%s: not seen in %s", why, statement)
		}
	}
	if found := breaches(t, "case.go", "package p\nfunc _() { clk.Sleep(ctx, 1); clk.Now(); context.WithoutCancel(ctx) }\n"); len(found) != 0 {
		t.Errorf("a port is no breach: %v", found)
	}
}

// refused are the calls that are a port's to make.
var refused = map[string][]string{
	"time":    {"Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Now", "Since", "Until"},
	"context": {"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause", "AfterFunc"},
}

func breaches(t *testing.T, path string, source any) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if what := breach(n); what != "" {
			found = append(found, set.Position(n.Pos()).String()+": "+what)
		}
		return true
	})
	return found
}

func breach(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectStmt:
		return "selects"
	case *ast.SendStmt:
		return "sends on a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives from a channel"
		}
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(refused[pkg.Name], n.Sel.Name) {
			return "uses " + pkg.Name + "." + n.Sel.Name
		}
	}
	return ""
}
