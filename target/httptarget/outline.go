package httptarget

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/idemrace/idemrace/target"
)

// hole is what differs from request to request of a stream.
type hole int

// The holes. A literal has none.
const (
	literal hole = iota
	holeKey      // as the caller has it
	holeShaped
	holeRef
	holeAmount
)

// piece of a text: a literal, or a hole.
type piece struct {
	text string
	hole hole
}

// outline is a request whose templates were executed once, with words that occur
// nowhere else, and taken apart at them. Executing a template costs more than sending
// what it makes. Where a template does more with a word than write it, the outline is
// found out by a second execution, and each request is made by the templates.
type outline struct {
	t          *Target
	exact      bool // the pieces are what the templates would write
	path, body []piece
	header     []field // in order of name; Host and Content-Length are not among them
	host       []piece // of a template for the Host header; nil: the worker's
}

type field struct {
	name  string
	value []piece
}

// errNoLine: a header or path with a line's end in it would be two.
var errNoLine = errors.New("a line's end in the request's path or headers")

// probes are two sets of words, in which a template that reckons with them shows.
func probes() [2]Shot {
	return [2]Shot{
		{Key: "zq7kprobe1-0a1b", Ref: "zq7rprobe1-2c3d", Amount: 748_159_263},
		{Key: "zq7kprobe22-9f8e7", Ref: "zq7rprobe22-6d5c4", Amount: 86_357_914},
	}
}

// outline works the templates out. Its error is a template's.
func (t *Target) outline() (outline, error) {
	o := outline{t: t}
	p := probes()
	first, err := o.rendered(p[0])
	if err != nil {
		return o, err
	}
	second, err := o.rendered(p[1])
	if err != nil {
		return o, err
	}
	o.cut(first, p[0])
	o.exact = o.write(p[1]).text() == second.text() && escaped(second.path) == second.path
	return o, nil
}

// cut takes a request apart.
func (o *outline) cut(r rendered, s Shot) {
	words := o.words(s)
	o.path, o.body = pieces(r.path, words), pieces(r.body, words)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		for _, value := range r.header[name] {
			if name == "Host" {
				o.host = pieces(value, words)
				continue
			}
			o.header = append(o.header, field{name, pieces(value, words)})
		}
	}
}

// word is a hole's text in one request.
type word struct {
	text string
	hole hole
}

// words are the holes' texts, those first that may hold another.
func (o *outline) words(s Shot) []word {
	list := []word{{o.shaped(s), holeShaped}, {s.Key, holeKey}, {s.Ref, holeRef}, {strconv.FormatInt(s.Amount, 10), holeAmount}}
	slices.SortStableFunc(list, func(a, b word) int { return cmp.Compare(len(b.text), len(a.text)) })
	return list
}

// shaped is the key as it stands in its header; a template's is cut like any text.
func (o *outline) shaped(s Shot) string {
	switch o.t.templates.keyForm {
	case formUUID:
		return uuidOf(s.Key)
	case formULID:
		return ulidOf(s.Key)
	}
	return s.Key
}

// pieces cuts a text at the words.
func pieces(text string, words []word) []piece {
	for i, w := range words {
		before, after, found := strings.Cut(text, w.text)
		if found {
			return append(append(pieces(before, words[i+1:]), piece{hole: w.hole}), pieces(after, words[i:])...)
		}
	}
	if text == "" {
		return nil
	}
	return []piece{{text: text}}
}

// rendered is a request by the templates.
func (o *outline) rendered(s Shot) (rendered, error) {
	d := o.t.example(target.Attempt{Operation: streamOperation})
	d.Key, d.Ref, d.Amount, d.Vars = s.Key, s.Ref, s.Amount, maps.Clone(o.t.cfg.Vars)
	r, err := o.t.templates.render(d)
	if err != nil {
		return r, err
	}
	for name, values := range o.t.cfg.Header {
		r.header[name] = values
	}
	if r.header.Get("User-Agent") == "" {
		r.header.Set("User-Agent", "idemrace")
	}
	for name, values := range r.header {
		if strings.ContainsAny(name+strings.Join(values, ""), "\r\n") {
			return r, errNoLine
		}
	}
	return r, nil
}

// escaped is a path with its query as a request's first line has it; "/" for none.
func escaped(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return url.PathEscape(path)
	}
	return u.RequestURI()
}

// streamOperation is what a scenario's attempts are about by default, too.
const streamOperation = "charge"

// write is what the pieces make.
func (o *outline) write(s Shot) rendered {
	shaped := o.shaped(s)
	r := rendered{method: o.t.templates.method, header: http.Header{}}
	join := func(all []piece) string { return string(appendPieces(nil, all, s, shaped)) }
	r.path, r.body = join(o.path), join(o.body)
	for _, f := range o.header {
		r.header[f.name] = append(r.header[f.name], join(f.value))
	}
	if o.host != nil {
		r.header.Set("Host", join(o.host))
	}
	return r
}

func appendPieces(out []byte, all []piece, s Shot, shaped string) []byte {
	for _, p := range all {
		switch p.hole {
		case literal:
			out = append(out, p.text...)
		case holeKey:
			out = append(out, s.Key...)
		case holeShaped:
			out = append(out, shaped...)
		case holeRef:
			out = append(out, s.Ref...)
		case holeAmount:
			out = strconv.AppendInt(out, s.Amount, 10)
		}
	}
	return out
}

const contentLength = "Content-Length: "

// length of what appendPieces appends.
func length(all []piece, s Shot, shaped string) int {
	n := 0
	for _, p := range all {
		switch p.hole {
		case literal:
			n += len(p.text)
		case holeKey:
			n += len(s.Key)
		case holeShaped:
			n += len(shaped)
		case holeRef:
			n += len(s.Ref)
		case holeAmount:
			n += len(strconv.AppendInt(make([]byte, 0, 20), s.Amount, 10))
		}
	}
	return n
}

// bytes appends the request as it is on an HTTP/1.1 wire, and says which key is in it.
func (o *outline) bytes(out []byte, h host, s Shot) (text []byte, key string, err error) {
	if !o.exact {
		r, err := o.rendered(s)
		if err != nil {
			return out, "", err
		}
		return appendRendered(out, h, r), r.header.Get(o.t.cfg.Request.KeyHeader), nil
	}
	shaped := o.shaped(s)
	out = append(out, o.t.templates.method...)
	out = append(out, ' ')
	out = append(out, h.prefix...)
	out = appendPieces(out, o.path, s, shaped)
	out = append(out, " HTTP/1.1\r\nHost: "...)
	if o.host != nil {
		out = appendPieces(out, o.host, s, shaped)
	} else {
		out = append(out, h.name...)
	}
	out = append(out, "\r\n"...)
	for _, f := range o.header {
		out = append(out, f.name...)
		out = append(out, ": "...)
		out = appendPieces(out, f.value, s, shaped)
		out = append(out, "\r\n"...)
	}
	out = append(out, contentLength...)
	out = strconv.AppendInt(out, int64(length(o.body, s, shaped)), 10)
	out = append(out, "\r\n\r\n"...)
	return appendPieces(out, o.body, s, shaped), shaped, nil
}

// appendRendered appends what the templates have made.
func appendRendered(out []byte, h host, r rendered) []byte {
	out = append(out, r.method+" "+escaped(h.prefix+r.path)+" HTTP/1.1\r\nHost: "+cmp.Or(r.header.Get("Host"), h.name)+"\r\n"...)
	for name, values := range r.header {
		if name == "Host" {
			continue
		}
		for _, v := range values {
			out = append(out, name+": "+v+"\r\n"...)
		}
	}
	out = append(out, contentLength+strconv.Itoa(len(r.body))+"\r\n\r\n"...)
	return append(out, r.body...)
}
