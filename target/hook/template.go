package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// parse reads a template. Besides the functions that all templates have (urlquery
// among them) there is json.
func parse(text string) (*template.Template, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("in %q: %s", shown(text), plain(err))
	}
	return t, nil
}

// toJSON leaves <, > and & as they are: nobody puts them into a page.
func toJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func fill(text string, d Data) (string, error) {
	t, err := parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		return "", fmt.Errorf("in %q: %s", shown(text), plain(err))
	}
	return b.String(), nil
}

// shown is a template as it stands in an error.
func shown(text string) string {
	if r := []rune(text); len(r) > wordsMax/2 {
		return string(r[:wordsMax/2]) + "…"
	}
	return text
}

// plain is a template's error without the package's way to name templates that
// have no name.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if _, after, ok := strings.Cut(text, ": executing \"\" at "); ok {
		return "at " + after
	}
	if _, after, ok := strings.Cut(text, ": "); ok {
		return after
	}
	return text
}
