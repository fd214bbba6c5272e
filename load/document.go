package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema is the version of the document. Names stay once released; additions are fine.
const Schema = "idemrace.load/v1"

// Document is a load as it is kept: what was planned, and what each target has shown.
type Document struct {
	Schema  string    `json:"schema"`
	Tool    Tool      `json:"tool"`
	Started time.Time `json:"started"`
	Store   string    `json:"store"` // embedded, redis-server, container, url, memory
	Plan    PlanDoc   `json:"plan"`
	// Settings are what the targets were told. Shards of one load have them alike.
	Settings Settings `json:"settings"`
	Shard    *Shard   `json:"shard,omitempty"`  // nil: the whole plan
	Merged   int      `json:"merged,omitempty"` // of how many shards it was made
	Loads    []Report `json:"loads"`
	Trouble  string   `json:"trouble,omitempty"` // why not all targets were loaded
	Ratios   []Ratio  `json:"ratios,omitempty"`  // of what was compared
}

// Tool says what made the load.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Settings of a load, besides its plan.
type Settings struct {
	ProviderMS  float64 `json:"provider_ms"`  // how long the provider takes for a charge
	StorePolicy string  `json:"store_policy"` // "": each coordinator's own
	LeaseMS     float64 `json:"lease_ms"`
	RetentionMS float64 `json:"retention_ms"`
	WaitLimitMS float64 `json:"wait_limit_ms"`
	Pipeline    bool    `json:"pipeline"` // concurrent store commands share round trips
}

// PlanDoc is a plan in words: shards of one plan have it alike.
type PlanDoc struct {
	Seed       int64     `json:"seed"`
	Pace       string    `json:"pace"`
	ForMS      float64   `json:"for_ms"`
	Requests   int64     `json:"requests"`
	Duplicates float64   `json:"duplicates"`
	FanOut     int       `json:"fan_out"`
	JustAfter  float64   `json:"just_after"`
	Later      float64   `json:"later"`
	WindowMS   float64   `json:"window_ms"`
	LaterByMS  float64   `json:"later_by_ms"`
	Hot        int       `json:"hot_keys"`
	HotShare   float64   `json:"hot"`
	Payloads   float64   `json:"payloads"`
	Aborts     float64   `json:"aborts"`
	SharedKeys bool      `json:"shared_keys"`
	Begin      time.Time `json:"begin,omitzero"` // that was agreed on
}

// Shard is which part of its plan a load has sent, counted from 0.
type Shard struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

// Doc is the plan in words, and which part of it this is; nil: all of it.
func (p Plan) Doc() (PlanDoc, *Shard) {
	d := PlanDoc{Seed: p.Seed, Pace: p.Pace.String(), ForMS: ms(p.For), Requests: p.Requests, Duplicates: p.Duplicates, FanOut: p.FanOut,
		JustAfter: p.JustAfter, Later: p.Later, WindowMS: ms(p.Window), LaterByMS: ms(p.LaterBy), Hot: p.Hot, HotShare: p.HotShare, Payloads: p.Payloads, Aborts: p.Aborts,
		SharedKeys: p.shares(), Begin: p.Begin.UTC()}
	if p.Shards < 2 {
		return d, nil
	}
	return d, &Shard{Index: p.Shard, Of: p.Shards}
}

// MaxDocument is how many bytes of a document are read: a million shared refs take some
// forty million.
const MaxDocument = 1 << 30

// Read reads a document; name is for errors, each one sentence that begins with it.
// Members that it does not know are passed over.
func Read(r io.Reader, name string) (Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	switch {
	case err != nil:
		return Document{}, fmt.Errorf("%s: %w", name, err)
	case len(text) > MaxDocument:
		return Document{}, fmt.Errorf("%s is too big for a load (over %d MiB)", name, MaxDocument>>20)
	}
	var d Document
	var named struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(text, &named); err != nil || named.Schema == nil {
		return d, fmt.Errorf("%s is not a load: it has no schema %q; idemrace load --format json writes one", name, Schema)
	}
	if *named.Schema != Schema {
		return d, fmt.Errorf("%s has schema %q, this version reads %q", name, *named.Schema, Schema)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("%s does not fit schema %s: %v", name, Schema, err)
	}
	if err := d.sound(); err != nil {
		return d, fmt.Errorf("%s says %w", name, err)
	}
	return d, nil
}

// sound refuses what no version has written: it would be added up, and look as if all
// were well. Errors go on after "says".
func (d Document) sound() error {
	if s := d.Shard; s != nil && (s.Of < 2 || s.Index < 0 || s.Index >= s.Of || d.Merged > 0) {
		return fmt.Errorf("that it is shard %d of %d", s.Index, s.Of)
	}
	for _, r := range d.Loads {
		if err := r.sound(); err != nil {
			return fmt.Errorf("of %s %w", r.Target, err)
		}
		if len(r.Verdicts.Shared) > 0 && (d.Shard == nil || !d.Plan.SharedKeys) {
			return fmt.Errorf("of %s that other shards send its keys, and that there are none", r.Target)
		}
	}
	return nil
}

// ErrShards is wrapped by what MergeAll refuses.
var ErrShards = errors.New("not the shards of one load")

// MergeAll is the load that its shards are, as one run would have had it. They may come
// in any order; names are for errors. A whole load alone is what it is. Refused, with
// errors that wrap ErrShards: what is no shard, shards of several plans, settings or
// versions, of other targets or stores, one that is there twice, or missing.
func MergeAll(docs []Document, names []string) (Document, error) {
	if len(docs) == 1 && docs[0].Shard == nil {
		return docs[0], nil
	}
	if err := oneLoad(docs, names); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrShards, err)
	}
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b Document) int { return a.Shard.Index - b.Shard.Index })
	all := docs[0]
	all.Shard, all.Merged, all.Loads = nil, len(docs), nil
	for i := range docs[0].Loads {
		var parts []Report
		for _, d := range docs {
			parts = append(parts, d.Loads[i])
			if d.Started.Before(all.Started) {
				all.Started = d.Started
			}
		}
		merged, err := Merge(parts)
		if err != nil {
			return Document{}, fmt.Errorf("%w: %w", ErrShards, err)
		}
		all.Loads = append(all.Loads, merged)
	}
	all.Trouble = ""
	for i, d := range docs {
		all.Trouble = said(all.Trouble, "shard", i, d.Trouble)
	}
	all.compare()
	return all, nil
}

// compare has the ratios of all shards where each had its own.
func (d *Document) compare() {
	if len(d.Ratios) == 0 {
		return
	}
	var rounds [][]Report
	for _, r := range d.Loads {
		rounds = append(rounds, []Report{r})
	}
	d.Ratios = Ratios(rounds, d.Ratios[0].To)
}

// unlike names the first member in which two values of one type differ.
func unlike(a, b any) string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); p != q {
			name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
			return fmt.Sprintf("%s is %v, and %v", name, p, q)
		}
	}
	return ""
}

func oneLoad(docs []Document, names []string) error {
	have := map[int]string{}
	for i, d := range docs {
		switch {
		case d.Shard == nil:
			return fmt.Errorf("%s is a whole load", names[i])
		case d.Shard.Of != docs[0].Shard.Of:
			return fmt.Errorf("%s is of %d shards, %s of %d", names[i], d.Shard.Of, names[0], docs[0].Shard.Of)
		case d.Plan != docs[0].Plan:
			return fmt.Errorf("%s and %s have different plans: %s", names[0], names[i], unlike(docs[0].Plan, d.Plan))
		case d.Settings != docs[0].Settings:
			return fmt.Errorf("%s and %s have different settings: %s", names[0], names[i], unlike(docs[0].Settings, d.Settings))
		case d.Tool != docs[0].Tool:
			return fmt.Errorf("%s and %s were written by different programs: %s", names[0], names[i], unlike(docs[0].Tool, d.Tool))
		case d.Store != docs[0].Store:
			return fmt.Errorf("%s used a store of kind %s, %s of kind %s", names[0], docs[0].Store, names[i], d.Store)
		case have[d.Shard.Index] != "":
			return fmt.Errorf("%s and %s are both shard %d", have[d.Shard.Index], names[i], d.Shard.Index)
		case len(d.Loads) != len(docs[0].Loads):
			return fmt.Errorf("%s loaded %d targets, %s %d", names[i], len(d.Loads), names[0], len(docs[0].Loads))
		}
		have[d.Shard.Index] = names[i]
	}
	if len(docs) == 0 {
		return errors.New("there are none")
	}
	for i := range docs[0].Shard.Of {
		if have[i] == "" {
			return fmt.Errorf("shard %d of %d is missing", i, docs[0].Shard.Of)
		}
	}
	return nil
}
