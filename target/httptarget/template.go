package httptarget

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/template"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/tidwall/gjson"

	"github.com/idemrace/idemrace/target"
)

// templates are a Request's texts, compiled.
type templates struct {
	method, keyHeader, keyForm string
	path, body, key            *template.Template
	headers                    map[string]*template.Template
	tenants                    map[string]map[string]*template.Template
}

// functions of templates besides those of text/template.
func functions() template.FuncMap {
	return template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"uuid": uuidOf,
	}
}

// uuidOf is the same for the same text: a retry must send what was sent.
func uuidOf(text string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(text)).String() }

// ulidOf is the same for the same text. Its time says nothing.
func ulidOf(text string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(text))
	return ulid.ULID(id).String()
}

// The forms of a key that are no template.
const (
	formUUID = "uuid"
	formULID = "ulid"
)

func parse(r Request, tenants map[string]Tenant) (t templates, err error) {
	t = templates{method: r.Method, keyHeader: r.KeyHeader, keyForm: r.Key, headers: map[string]*template.Template{}, tenants: map[string]map[string]*template.Template{}}
	compile := func(field, text string) *template.Template {
		tmpl, failed := template.New(field).Option("missingkey=error").Funcs(functions()).Parse(text)
		if failed != nil && err == nil {
			err = fmt.Errorf("%s: %s", field, readable(failed))
		}
		return tmpl
	}
	t.path, t.body = compile("request.path", r.Path), compile("request.body", r.Body)
	if r.Key != "" && r.Key != formUUID && r.Key != formULID {
		t.key = compile("request.key", r.Key)
	}
	for name, text := range r.Headers {
		t.headers[name] = compile("request.headers."+name, text)
	}
	for who, tenant := range tenants {
		t.tenants[who] = map[string]*template.Template{}
		for name, text := range tenant.Headers {
			t.tenants[who][name] = compile("tenants."+who+".headers."+name, text)
		}
	}
	return t, err
}

// readable takes the package's own prefix from a template's error.
func readable(err error) string { return strings.TrimPrefix(err.Error(), "template: ") }

// rendered is a request before it is one.
type rendered struct {
	method, path, body string
	header             http.Header
}

func (r rendered) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.method, r.path)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.header[name], ", "))
	}
	return b.String() + "\n" + r.body
}

// render makes a request of d, whose key is final but for its form.
func (t templates) render(d Data) (r rendered, err error) {
	r = rendered{method: t.method, header: http.Header{}}
	run := func(tmpl *template.Template) string {
		var b strings.Builder
		if failed := tmpl.Execute(&b, d); failed != nil && err == nil {
			err = fmt.Errorf("%s", readable(failed))
		}
		return b.String()
	}
	d.Key = t.shaped(d, run)
	r.path, r.body = run(t.path), run(t.body)
	for name, tmpl := range t.headers {
		if value := run(tmpl); value != "" { // a header that says nothing is not sent
			r.header.Set(name, value)
		}
	}
	for name, tmpl := range t.tenants[d.Tenant] {
		r.header.Set(name, run(tmpl))
	}
	if r.body != "" && r.header.Get("Content-Type") == "" {
		r.header.Set("Content-Type", contentType(r.body))
	}
	if d.Key != "" {
		r.header.Set(t.keyHeader, d.Key)
	}
	return r, err
}

func contentType(body string) string {
	if gjson.Valid(body) {
		return "application/json"
	}
	return "application/x-www-form-urlencoded"
}

// shaped is the key in the form that the service demands.
func (t templates) shaped(d Data, run func(*template.Template) string) string {
	switch {
	case d.Key == "" || t.keyForm == "":
		return d.Key
	case t.keyForm == formUUID:
		return uuidOf(d.Key)
	case t.keyForm == formULID:
		return ulidOf(d.Key)
	}
	return run(t.key)
}

// data is what an attempt's templates see.
func (c *Cell) data(a target.Attempt) Data {
	d := Data{Run: c.t.cfg.Run, Key: c.names.Key(a.Key), Ref: c.names.Ref(a.Ref), Amount: c.names.Amount(a.Ref, a.Amount),
		Operation: a.Operation, Tenant: a.Tenant, Trace: a.Trace, Client: a.Client, Vars: map[string]string{}}
	maps.Copy(d.Vars, c.t.cfg.Vars)
	maps.Copy(d.Vars, c.vars)
	c.mu.Lock()
	maps.Copy(d.Vars, c.refVars[a.Ref])
	c.mu.Unlock()
	return d
}

// renderAttempt is the request of an attempt.
func (c *Cell) renderAttempt(a target.Attempt) (rendered, error) {
	r, err := c.t.templates.render(c.data(a))
	if err == nil && a.Reordered {
		if other := reordered(r.body); other != "" {
			r.body = other
		}
	}
	return r, err
}

// reordered is a JSON object or a form with its members the other way round, each
// as it was; "" if the body is neither, or has fewer than two.
func reordered(body string) string {
	if gjson.Valid(body) {
		var members []string
		root := gjson.Parse(body)
		if !root.IsObject() {
			return ""
		}
		root.ForEach(func(k, v gjson.Result) bool { members = append(members, k.Raw+":"+v.Raw); return true })
		slices.Reverse(members)
		return object(members)
	}
	if _, err := url.ParseQuery(body); err != nil || !strings.Contains(body, "&") {
		return ""
	}
	pairs := strings.Split(body, "&")
	slices.Reverse(pairs)
	return strings.Join(pairs, "&")
}

func object(members []string) string {
	if len(members) < 2 {
		return ""
	}
	return "{" + strings.Join(members, ",") + "}"
}
