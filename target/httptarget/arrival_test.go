package httptarget

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemrace/idemrace/target"
)

// door is a server that notes when each request has come in completely.
type door struct {
	*httptest.Server
	mu   sync.Mutex
	came []time.Time
}

func newDoor(t testing.TB) *door {
	d := &door{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		d.mu.Lock()
		d.came = append(d.came, time.Now())
		d.mu.Unlock()
		fmt.Fprint(w, `{"id":"ch_1_1"}`)
	}))
	t.Cleanup(d.Close)
	return d
}

// spread is how far the requests since the last call came apart.
func (d *door) spread() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.came) == 0 {
		return 0
	}
	first, last := slices.MinFunc(d.came, time.Time.Compare), slices.MaxFunc(d.came, time.Time.Compare)
	d.came = nil
	return last.Sub(first)
}

const (
	together = 20
	rounds   = 50
)

func burst(c *Cell) (answers int) {
	var ctxs []context.Context
	var attempts []target.Attempt
	for i := range together {
		ctxs, attempts = append(ctxs, context.Background()), append(attempts, attempt(i+1))
	}
	var mu sync.Mutex
	c.SendTogether(ctxs, attempts, func(int, target.Response) { mu.Lock(); answers++; mu.Unlock() })
	return answers
}

func TestABurstArrivesWhole(t *testing.T) {
	d := newDoor(t)
	for _, h2 := range []bool{false, true} {
		url := d.URL
		if h2 {
			s := httptest.NewUnstartedServer(d.Config.Handler)
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			defer s.Close()
			url = s.URL
		}
		c := at(t, url, func(c *Config) { c.Request.HTTP2 = h2 })
		if n := burst(c); n != together {
			t.Errorf("HTTP/2 %v: %d answers of %d", h2, n, together)
		}
		if len(d.came) != together {
			t.Errorf("HTTP/2 %v: %d requests arrived", h2, len(d.came))
		}
		d.spread()
	}
}

// One that never gets a connection does not hold up the others.
func TestABurstDoesNotWaitForEver(t *testing.T) {
	d := newDoor(t)
	c := at(t, d.URL, func(c *Config) {
		c.Base = func(worker string) (string, error) {
			if worker == "gone" {
				return "http://127.0.0.1:1", nil
			}
			return d.URL, nil
		}
	})
	one, two := attempt(1), attempt(2)
	two.Worker = "gone"
	answered := 0
	var mu sync.Mutex
	c.SendTogether([]context.Context{t.Context(), t.Context()}, []target.Attempt{one, two}, func(int, target.Response) { mu.Lock(); answered++; mu.Unlock() })
	if answered != 2 {
		t.Errorf("%d answers", answered)
	}
}

// BenchmarkArrival prints how far 20 requests arrive apart, the median of 50 bursts:
// sent together, by plain goroutines, and by hey if it is there (HEY or PATH).
func BenchmarkArrival(b *testing.B) {
	d := newDoor(b)
	median := func(send func()) float64 {
		var all []time.Duration
		for range rounds {
			send()
			all = append(all, d.spread())
		}
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds())
	}
	hey := os.Getenv("HEY")
	if hey == "" {
		hey, _ = exec.LookPath("hey")
	}
	for b.Loop() {
		c := at(b, d.URL, nil)
		b.ReportMetric(median(func() { burst(c) }), "µs-together")
		b.ReportMetric(median(func() { goroutines(d.URL) }), "µs-goroutines")
		if hey != "" {
			b.ReportMetric(median(func() {
				_ = exec.Command(hey, "-n", "20", "-c", "20", "-m", "POST", "-d", "{}", d.URL).Run()
			}), "µs-hey")
		}
	}
}

// goroutines is what everybody writes.
func goroutines(url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			resp, err := client.Post(url, "application/json", strings.NewReader("{}"))
			if err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
}
