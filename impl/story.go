package impl

import (
	"embed"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// The zoo teaches by its package comments, so they are read and not written twice.
//
//go:embed zoo/*/*.go
var zooFiles embed.FS

// Story is what the member's folder says of itself, in paragraphs: what is wrong,
// where that has been seen, what is right. It is nil for a coordinator that has no
// folder in the zoo.
func (e Entry) Story() []string {
	folder := path.Join("zoo", strings.ReplaceAll(e.Name, "-", ""))
	files, err := zooFiles.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, f := range files {
		source, err := zooFiles.ReadFile(path.Join(folder, f.Name()))
		if err != nil {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), source, parser.ParseComments|parser.PackageClauseOnly)
		if err == nil && parsed.Doc != nil {
			return strings.Split(strings.TrimSpace(parsed.Doc.Text()), "\n\n")
		}
	}
	return nil
}
