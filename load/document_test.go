package load

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// market is one target of several shards: a sender that knows all keys, and a till of
// its own for each shard.
type market struct {
	naive bool
	mu    sync.Mutex
	known map[int64]bool // refs that were charged
}

// stall is a shard's way to the market.
type stall struct {
	*market
	ledger *Ledger
}

func (s stall) Send(_ context.Context, r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := r.Entry()
	if !s.known[entry] {
		s.known[entry] = true
		s.ledger.Charge(entry)
	}
	if s.naive && r.Copy%2 == 1 { // whoever comes first: the count is the same
		s.ledger.Charge(entry)
	}
	return Reply{Answer: "ok", Charge: fmt.Sprint("ch_", entry)}
}

// quick is a plan that takes no time.
func quick(p Plan) Plan {
	p.Pace, p.For, p.Window, p.LaterBy = Constant(1e6), 0, time.Microsecond, time.Microsecond
	return p
}

func documentOf(t *testing.T, p Plan, s Sender, l *Ledger) Document {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	line := NewTimeline(time.Second)
	g := Generator{Plan: p, Sender: s, Judge: NewJudge(l, DefaultKept, time.Now()), Timeline: line}
	d := Document{Schema: Schema, Started: time.Now().UTC(), Store: "memory", Loads: []Report{{Result: g.Run(t.Context()), Target: "shop", Timeline: line}}}
	d.Plan, d.Shard = p.Doc()
	return read(t, d)
}

// read writes a document and reads it again.
func read(t *testing.T, d Document) Document {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(text), "it")
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("read and written again (%v):\n%s\nwas\n%s", err, again, text)
	}
	return back
}

// The shards of a plan, joined, are what one load is: in every count, in each histogram,
// and in what was violated.
func TestShardsAreOneLoad(t *testing.T) {
	for _, naive := range []bool{false, true} {
		for _, p := range []Plan{
			{Requests: 4000, Duplicates: 0.3, FanOut: 3},
			{Requests: 4000, Duplicates: 0.3, FanOut: 5, Payloads: 0.2, Hot: 7, HotShare: 0.1},
		} {
			for _, shared := range []bool{false, true} {
				whole := func() Document {
					l := NewLedger(nil)
					return documentOf(t, quick(p), stall{&market{naive: naive, known: map[int64]bool{}}, l}, l)
				}()
				m := &market{naive: naive, known: map[int64]bool{}}
				var docs []Document
				var names []string
				for i := range 4 {
					part := quick(p)
					part.Shard, part.Shards, part.SharedKeys = i, 4, shared
					l := NewLedger(nil)
					docs, names = append([]Document{documentOf(t, part, stall{m, l}, l)}, docs...), append(names, fmt.Sprint(3-i))
				}
				all, err := MergeAll(docs, names)
				if err != nil {
					t.Fatal(err)
				}
				want, got := whole.Loads[0], read(t, all).Loads[0]
				if want.Sent != got.Sent || want.Latency.TotalCount() != got.Latency.TotalCount() || got.Verdicts.Open != 0 {
					t.Errorf("shared %v: sent %d and %d, counted %d and %d", shared, want.Sent, got.Sent, want.Latency.TotalCount(), got.Latency.TotalCount())
				}
				if w, g := want.Verdicts, got.Verdicts; w.Ledger != g.Ledger || w.Succeeded != g.Succeeded || w.Unknown != g.Unknown || !maps.Equal(w.Answers, g.Answers) || !maps.Equal(w.Violated, g.Violated) {
					t.Errorf("naive %v, shared %v, %+v:\n%+v %d %v\nmerged\n%+v %d %v", naive, shared, p, w.Ledger, w.Succeeded, w.Violated, g.Ledger, g.Succeeded, g.Violated)
				}
				if naive != (got.Verdicts.Violated[atMostOnce] > 0) || naive && want.Verdicts.Ledger.Doubles == 0 {
					t.Errorf("naive %v: %v", naive, got.Verdicts.Violated)
				}
				if shared != (len(docs[0].Loads[0].Verdicts.Shared) > 0) {
					t.Errorf("shared %v: %d refs are left to merge", shared, len(docs[0].Loads[0].Verdicts.Shared))
				}
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	shard := func(i, of int) Document {
		d := Document{Schema: Schema, Shard: &Shard{i, of}, Loads: []Report{{Result: empty(), Target: "wait"}}}
		d.Loads[0].Verdicts = Verdicts{Violated: map[string]int64{}, Answers: map[string]int64{}}
		return d
	}
	other := shard(1, 2)
	other.Plan.Seed = 7
	target := shard(1, 2)
	target.Loads[0].Target = "raise"
	slow := shard(1, 2)
	slow.Settings.ProviderMS = 300
	version := shard(1, 2)
	version.Tool.Version = "v0.9"
	store := shard(1, 2)
	store.Store = "embedded"
	elsewhere := shard(1, 2)
	elsewhere.Loads[0].Meeting = "another"
	more := shard(1, 2)
	more.Loads = append(more.Loads, target.Loads...)
	for why, docs := range map[string][]Document{
		"a is a whole load":                       {{}, {}},
		"different plans: seed is 0, and 7":       {shard(0, 2), other},
		"settings: provider_ms is 0, and 300":     {shard(0, 2), slow},
		"different programs: version is , and v0": {shard(0, 2), version},
		"a used a store of kind , b of kind embe": {shard(0, 2), store},
		"shards 0 and 1 of wait used two stores":  {shard(0, 2), elsewhere},
		"b loaded 2 targets, a 1":                 {shard(0, 2), more},
		"shard 1 of 2 is missing":                 {shard(0, 2)},
		"a and b are both shard 0":                {shard(0, 2), shard(0, 2)},
		"a and b have different":                  {shard(0, 2), other},
		"b is of 3 shards, a of 2":                {shard(0, 2), shard(1, 3)},
		"wait and raise are two tar":              {shard(0, 2), target},
		"there are none":                          {},
	} {
		if _, err := MergeAll(docs, []string{"a", "b"}); !errors.Is(err, ErrShards) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q: %v", why, err)
		}
	}
}

func empty() Result {
	return Result{Latency: hdrhistogram.New(lowest, highest, digits), Lateness: hdrhistogram.New(lowest, highest, digits)}
}

// withRefs is a document with these shared refs.
func withRefs(list string) string {
	var text bytes.Buffer
	z := zlib.NewWriter(&text)
	_, _ = z.Write([]byte(list))
	_ = z.Close()
	return `{"schema":"idemrace.load/v1","loads":[{"verdicts":{"shared_refs":"` + base64.StdEncoding.EncodeToString(text.Bytes()) + `"}}]}`
}

func TestReadRefuses(t *testing.T) {
	for text, why := range map[string]string{
		``:                              "it is not a load",
		`{}`:                            "it is not a load",
		`[]`:                            "it is not a load",
		`{"schema":"idemrace.load/v2"}`: `it has schema "idemrace.load/v2"`,
		`{"schema":"idemrace.load/v1","loads":[{"latency_hdr":"AAAA","lateness_hdr":""}]}`:    "a histogram cannot be read",
		`{"schema":"idemrace.load/v1","shard":{"index":4,"of":4}}`:                            "it says that it is shard 4 of 4",
		`{"schema":"idemrace.load/v1","loads":3}`:                                             "does not fit",
		`{"schema":"idemrace.load/v1","loads":[{"latency_hdr":"","timeline":{"step_ms":0}}]}`: "time line",
		withRefs(`[null]`): "is no shared ref",
		withRefs(`[`):      "does not fit",
		`{"schema":"idemrace.load/v1","loads":[{"verdicts":{"shared_refs":"AAAA"}}]}`: "shared refs: ",
		withRefs(`[[0,1,1,"","",true,false,false,false]]`):                            "is no shared ref",
		withRefs(`[[1,1,1,"","",true,false,false]]`):                                  "is no shared ref",
		withRefs(`[[1,4,1,"","",true,false,false,false]]`):                            "is no shared ref",
		withRefs(`[[1,1,1,"","",true,false,false,false,"more",{}]]`):                  "is no shared ref",
	} {
		if _, err := Read(strings.NewReader(text), "it"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: want %q: %v", text, why, err)
		}
	}
}

// sold is a load of a few requests, whose document a test may spoil.
func sold(t testing.TB) Document {
	t.Helper()
	l, p, line := NewLedger(nil), quick(Plan{Requests: 20, Duplicates: 0.5}), NewTimeline(time.Second)
	p.Shards, p.SharedKeys = 2, true
	g := Generator{Plan: p, Sender: stall{&market{known: map[int64]bool{}}, l}, Judge: NewJudge(l, DefaultKept, time.Now()), Timeline: line}
	d := Document{Schema: Schema, Loads: []Report{{Result: g.Run(t.Context()), Target: "shop", Timeline: line}}}
	d.Plan, d.Shard = p.Doc()
	return d
}

// What cannot be true is refused: it would be added up, and look as if all were well.
func TestReadRefusesWhatCannotBe(t *testing.T) {
	if n := len(sold(t).Loads[0].Verdicts.Shared); n < 2 {
		t.Fatalf("%d shared refs", n)
	}
	for why, spoil := range map[string]func(*Report, *Document){
		"a latency, 20 an answer":         func(r *Report, _ *Document) { r.Latency = hdrhistogram.New(lowest, highest, digits) },
		"with 2 digits; a load's":         func(r *Report, _ *Document) { r.Latency = hdrhistogram.New(lowest, highest, 2) },
		"1 to 9 with 3":                   func(r *Report, _ *Document) { r.Lateness = hdrhistogram.New(1, 9, 3) },
		"requests were sent":              func(r *Report, _ *Document) { r.Sent++ },
		"below zero":                      func(r *Report, _ *Document) { r.Verdicts.Violated["x"] = -1 },
		"a ledger of":                     func(r *Report, _ *Document) { r.Verdicts.Ledger.Doubles++ },
		"more than one thing of ref":      func(r *Report, _ *Document) { r.Verdicts.Shared[1] = r.Verdicts.Shared[0] },
		"in its time line":                func(r *Report, _ *Document) { r.Timeline.slots[0].sent++ },
		"a moment that cannot be":         func(r *Report, _ *Document) { r.Timeline.slots[0].answers++ },
		"other shards send its keys, and": func(_ *Report, d *Document) { d.Plan.SharedKeys = false },
		"shard 0 of 2":                    func(_ *Report, d *Document) { d.Merged = 2 },
		"a count or a time that is none":  func(r *Report, _ *Document) { r.Took = -time.Second },
	} {
		d := sold(t)
		sent := d.Loads[0].Sent
		spoil(&d.Loads[0], &d)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(why, "20", fmt.Sprint(sent))
		if _, err := Read(bytes.NewReader(text), "it"); err == nil || !strings.HasPrefix(err.Error(), "it ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	text, err := json.Marshal(sold(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"schema":"idemrace.load/v1","loads":[{"latency_hdr":"HISTFAAAABd42pNpmSzMwMDAxQAAAAUAAA=="}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Read(strings.NewReader(text), "it")
		if err != nil {
			return
		}
		once, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(once), "it")
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v\n%s\nwas\n%s", err, twice, once)
		}
		twin := d
		if d.Shard != nil && d.Shard.Of == 2 { // what is read can be joined
			d.Shard, twin.Shard = &Shard{0, 2}, &Shard{1, 2}
			all, err := MergeAll([]Document{d, twin}, []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			if err := all.sound(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A whole load alone stays what it is, and so does what merge has written.
func TestMergeOfOneIsItself(t *testing.T) {
	part := func(i int) Document {
		l, p := NewLedger(nil), quick(Plan{Requests: 100, Duplicates: 0.5})
		p.Shard, p.Shards = i, 2
		return documentOf(t, p, stall{&market{known: map[int64]bool{}}, l}, l)
	}
	l := NewLedger(nil)
	whole := documentOf(t, quick(Plan{Requests: 100, Duplicates: 0.5}), stall{&market{known: map[int64]bool{}}, l}, l)
	merged, err := MergeAll([]Document{part(0), part(1)}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Document{whole, merged} {
		again, err := MergeAll([]Document{d}, []string{"it"})
		if err != nil {
			t.Fatal(err)
		}
		want, err1 := json.Marshal(d)
		got, err2 := json.Marshal(again)
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%v\n%s\nwas\n%s", err, got, want)
		}
	}
}

// The order of files, and that of joining, are no matter.
func TestMergeHasNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "shards")
		p := quick(Plan{Seed: rapid.Int64().Draw(t, "seed"), Requests: 200, Duplicates: 0.5, FanOut: rapid.IntRange(1, 6).Draw(t, "fan out"), Payloads: 0.2, Hot: 3, HotShare: 0.2})
		p.Shards, p.SharedKeys = n, rapid.Bool().Draw(t, "shared")
		m := &market{naive: rapid.Bool().Draw(t, "naive"), known: map[int64]bool{}}
		var docs []Document
		for i := range n {
			p.Shard = i
			l := NewLedger(nil)
			g := Generator{Plan: p, Sender: stall{m, l}, Judge: NewJudge(l, DefaultKept, time.Now()), Timeline: NewTimeline(time.Second)}
			d := Document{Schema: Schema, Loads: []Report{{Result: g.Run(context.Background()), Target: "shop", Timeline: g.Timeline}}}
			d.Plan, d.Shard = p.Doc()
			docs = append(docs, d)
		}
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		counts := func(docs []Document) string {
			all, err := MergeAll(docs, names)
			if err != nil {
				t.Fatal(err)
			}
			if err := all.sound(); err != nil {
				t.Fatal(err)
			}
			r := all.Loads[0]
			latency, _ := encoded(r.Latency)
			return fmt.Sprint(r.Sent, r.Late, r.Took, latency, r.Verdicts.Ledger, r.Verdicts.Answers, r.Verdicts.Violated, r.Verdicts.Succeeded, r.Verdicts.Unknown, r.Timeline.Moments())
		}
		want := counts(docs)
		if got := counts(rapid.Permutation(docs).Draw(t, "order")); got != want {
			t.Fatalf("%s\nin order\n%s", got, want)
		}
		if p.SharedKeys { // only all together know
			return
		}
		left, err1 := Merge([]Report{docs[0].Loads[0], docs[1].Loads[0]})
		both, err2 := Merge([]Report{left, docs[n-1].Loads[0]})
		right, err3 := Merge([]Report{docs[1].Loads[0], docs[n-1].Loads[0]})
		other, err4 := Merge([]Report{docs[0].Loads[0], right})
		if err := errors.Join(err1, err2, err3, err4); err != nil || !both.Latency.Equals(other.Latency) || both.Verdicts.Ledger != other.Verdicts.Ledger || both.Sent != other.Sent || !maps.Equal(both.Verdicts.Answers, other.Verdicts.Answers) {
			t.Fatalf("(a+b)+c is not a+(b+c): %v, %+v and %+v", err, both.Verdicts.Ledger, other.Verdicts.Ledger)
		}
	})
}
