package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/target/httptarget"
)

// The other generators, at the versions that are compared with. IDEMRACE_HEY and
// IDEMRACE_VEGETA name binaries that are there already.
const (
	heyModule    = "github.com/rakyll/hey@v0.1.5"
	vegetaModule = "github.com/tsenart/vegeta/v12@v12.13.0"
)

// trivialServer is what this test binary is when TRIVIAL_SERVER is set: it charges
// nobody, answers each request at once, and counts. Its own process has its own
// scheduler: the generators are compared, not how well they share one.
func trivialServer() {
	var n atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": "ch_`+r.Header.Get("Idempotency-Key")+`"}`)
	})
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, n.Load()) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(ln.Addr())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // ends with whoever started it
	_ = http.Serve(ln, mux)
}

// trivial is the URL of a trivial server in a process of its own.
func trivial(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TRIVIAL_SERVER=1")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr)
}

// served is how many requests the server has answered.
func served(b *testing.B, url string) int64 {
	b.Helper()
	resp, err := http.Get(url + "/count")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// tool is another generator's binary, installed outside this module if it has to be.
func tool(b *testing.B, env, module string) string {
	b.Helper()
	if path := os.Getenv(env); path != "" {
		return path
	}
	dir := b.TempDir()
	cmd := exec.Command("go", "install", module)
	cmd.Env, cmd.Dir = append(os.Environ(), "GOBIN="+dir), dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Skipf("%s cannot be installed (%v); %s names a binary: %s", module, err, env, out)
	}
	name, _, _ := strings.Cut(module, "@")
	return filepath.Join(dir, filepath.Base(strings.TrimSuffix(name, "/v12")))
}

const (
	benchConnections = 50
	benchSpan        = 2 * time.Second
	benchBody        = `{"amount": 100, "currency": "EUR", "ref": "r1"}`
)

// trivialShop sends to the trivial server, and enters into the ledger what a service
// would have charged for: each key once.
type trivialShop struct {
	stream *httptarget.Stream
	ledger *load.Ledger
}

func (s trivialShop) Send(ctx context.Context, r load.Request) load.Reply {
	ref := strconv.FormatInt(r.Ref, 10)
	out := s.stream.Send(ctx, httptarget.Shot{Worker: "w1", Key: ref, Ref: ref, Amount: 100})
	if r.First && out.Charge != "" {
		s.ledger.Charge(r.Entry())
	}
	return load.Reply{Answer: out.Answer, Source: out.Source, Charge: out.Charge, Status: out.Status}
}

// ours loads the trivial server, every key judged.
func ours(b *testing.B, url string, pace load.Pacer, span time.Duration) load.Result {
	b.Helper()
	t, err := httptarget.New(httptarget.Config{Request: httptarget.Request{Path: "/charges"}, Base: func(string) (string, error) { return url, nil }})
	if err != nil {
		b.Fatal(err)
	}
	stream, err := t.Stream()
	if err != nil {
		b.Fatal(err)
	}
	defer stream.Close()
	shop := trivialShop{stream, load.NewLedger(nil)}
	g := load.Generator{Plan: load.Plan{Seed: 1, Pace: pace, For: span, Duplicates: 0.2, JustAfter: 0.2}, Sender: shop,
		Judge: load.NewJudge(shop.ledger, load.DefaultKept, time.Now()), Timeline: load.NewTimeline(load.StepFor(span))}
	r := g.Run(b.Context())
	if v := r.Verdicts; len(v.Violated) > 0 || v.Succeeded == 0 || v.Answers["ok"] != r.Sent {
		b.Fatalf("the trivial server is sound: %+v", v)
	}
	return r
}

// BenchmarkLoadAgainstOthers compares requests per second at equal connections, in
// interleaved rounds against one server; what counts is what the server has answered.
func BenchmarkLoadAgainstOthers(b *testing.B) {
	hey, vegeta := tool(b, "IDEMRACE_HEY", heyModule), tool(b, "IDEMRACE_VEGETA", vegetaModule)
	url := trivial(b)
	body := filepath.Join(b.TempDir(), "body.json")
	if err := os.WriteFile(body, []byte(benchBody), 0o600); err != nil {
		b.Fatal(err)
	}
	c, span := strconv.Itoa(benchConnections), benchSpan.String()
	run := func(stdin, path string, args ...string) {
		cmd := exec.Command(path, args...)
		cmd.Stdin = strings.NewReader(stdin)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.Discard, &said
		if err := cmd.Run(); err != nil {
			b.Fatalf("%s: %v: %s", path, err, said.String())
		}
	}
	rounds := map[string]func(){
		"ours": func() { ours(b, url, load.Clients(benchConnections), benchSpan) },
		"hey": func() {
			run("", hey, "-z", span, "-c", c, "-m", "POST", "-D", body, "-T", "application/json", "-H", "Idempotency-Key: k", url+"/charges")
		},
		"vegeta": func() {
			run("POST "+url+"/charges\nContent-Type: application/json\nIdempotency-Key: k\n@"+body+"\n", vegeta,
				"attack", "-duration", span, "-rate", "0", "-workers", c, "-max-workers", c, "-connections", c, "-max-connections", c)
		},
	}
	rates := map[string][]float64{}
	for b.Loop() {
		for _, name := range []string{"ours", "hey", "vegeta"} {
			before := served(b, url)
			rounds[name]()
			rates[name] = append(rates[name], float64(served(b, url)-before)/benchSpan.Seconds())
		}
	}
	for name, all := range rates {
		b.ReportMetric(median(all), name+"/s")
	}
	b.ReportMetric(median(rates["ours"])/median(rates["hey"]), "of-hey")
	b.ReportMetric(median(rates["ours"])/median(rates["vegeta"]), "of-vegeta")
	b.ReportMetric(0, "ns/op")
}

// nobody answers at once.
type nobody struct{}

func (nobody) Send(context.Context, load.Request) load.Reply { return load.Reply{Answer: "ok"} }

// inTime is the share of sends, in per cent, that left within a millisecond.
func inTime(r load.Result) float64 {
	return 100 * (1 - float64(r.Late+r.Dropped)/float64(r.Sent+r.Dropped))
}

// BenchmarkLoadOpen finds the peak, sends at half of it, and reports which share of
// sends left within a millisecond of their time. The same pace with nothing to send
// says what this machine can do while others use it.
func BenchmarkLoadOpen(b *testing.B) {
	url := trivial(b)
	var sent, idle, p999, rate []float64
	for b.Loop() {
		peak := ours(b, url, load.Clients(benchConnections), benchSpan)
		half := float64(peak.Sent) / peak.Took.Seconds() / 2
		r := ours(b, url, load.Constant(half), benchSpan)
		rate = append(rate, float64(r.Sent)/r.Took.Seconds()/half)
		sent = append(sent, inTime(r))
		l := load.NewLedger(nil)
		empty := load.Generator{Plan: load.Plan{Seed: 1, Pace: load.Constant(half), For: benchSpan}, Sender: nobody{}, Judge: load.NewJudge(l, 0, time.Now())}
		idle = append(idle, inTime(empty.Run(b.Context())))
		p999 = append(p999, float64(r.Lateness.ValueAtQuantile(99.9)))
	}
	b.ReportMetric(median(sent), "%in-1ms")
	b.ReportMetric(median(idle), "%in-1ms-unsent")
	b.ReportMetric(median(p999), "µs-late-p99.9")
	b.ReportMetric(median(rate), "of-wanted")
	b.ReportMetric(0, "ns/op")
}

func median(all []float64) float64 {
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/2]
}
