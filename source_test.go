package idemrace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/idemrace/idemrace"

// source is one file that ships: no test, no testdata, no example.
type source struct {
	room string // the package's folder below the root: "store/backend"
	path string
	fset *token.FileSet
	file *ast.File
	// peers are all files of the room, this one too.
	peers []*ast.File
}

// majorVersion is the end of an import path that is no part of its name.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// at says where a node is, as editors understand it: "store/value.go:12".
func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// imports maps the name by which the file knows a package to its path.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(majorVersion.ReplaceAllString(imported, ""))
		name = strings.TrimPrefix(name, "go-") // go-redis is package redis
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// member returns "os.Exit" for a use of it, under whatever name the file knows os;
// "" for anything that is not a package's member.
func (s source) member(n ast.Node) string {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	imported, ok := s.imports()[x.Name]
	if !ok {
		return ""
	}
	return imported + "." + selector.Sel.Name
}

// sources parses the module. It fails when it finds less than there must be: a
// rule that looks at nothing holds always.
func sources(t *testing.T) []source {
	t.Helper()
	fset := token.NewFileSet()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && outside(name):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		all = append(all, source{room: path.Dir(name), path: name, fset: fset, file: file})
		return nil
	})
	if err != nil {
		t.Fatalf("the module's files could not be read: %v", err)
	}
	peers := map[string][]*ast.File{}
	for _, s := range all {
		peers[s.room] = append(peers[s.room], s.file)
	}
	for i := range all {
		all[i].peers = peers[all[i].room]
	}
	if len(peers["idempotency"]) == 0 || len(peers["store"]) == 0 {
		t.Fatalf("found %d packages, but not idempotency and store: the walk is wrong", len(peers))
	}
	return all
}

// outside tells folders that are not the module's own packages.
func outside(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || base == "examples" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// snippet parses a file that is not in the module: a rule's bad twin.
func snippet(t *testing.T, room, code string) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "snippet.go", code, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{room: room, path: room + "/snippet.go", fset: fset, file: file, peers: []*ast.File{file}}
}
