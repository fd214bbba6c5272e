package cli_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/store/storetest"
)

// process starts idemrace as one, and returns what waits for its end: false if it was
// refused for being late.
func process(t *testing.T, env []string, args ...string) (wait func() bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=yes"), env...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		t.Helper()
		err := cmd.Wait()
		if err != nil && strings.Contains(said.String(), "begin late") {
			return false
		}
		if err != nil {
			t.Errorf("%v: %v: %s", args, err, said.String())
		}
		return true
	}
}

// together runs processes that begin at one moment; if the machine is too busy to start
// them in time, at a later one.
func together(t *testing.T, n int, args func(i int) []string) {
	t.Helper()
	for lead := 2 * time.Second; lead < time.Minute; lead *= 2 {
		begin := time.Now().Add(lead).Format(time.RFC3339Nano)
		var waits []func() bool
		for i := range n {
			waits = append(waits, process(t, []string{fmt.Sprint("JOB_COMPLETION_INDEX=", i)}, append(args(i), "--start-at", begin)...))
		}
		late := 0
		for _, wait := range waits {
			if !wait() {
				late++
			}
		}
		if late == 0 {
			return
		}
	}
	t.Fatal("processes cannot be started in a minute")
}

func loaded(t *testing.T, path string) load.Report {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	d, err := load.Read(file, path)
	if err != nil || len(d.Loads) != 1 {
		t.Fatalf("%d loads, %v", len(d.Loads), err)
	}
	return d.Loads[0]
}

// Four processes with a shard each give the counts that one process gives: each with
// keys of its own, and all racing for the same.
func TestFourShardsAreOneProcess(t *testing.T) {
	redis := "redis://" + storetest.StartRedis(t)
	dir := t.TempDir()
	common := []string{"load", "--store", redis, "--rate", "300", "--for", "1s", "--later", "0", "--fan-out", "3", "--duplicates", "0.5", "--window", "5ms", "--format", "json"}
	for _, row := range []struct {
		impl   string
		shared bool
	}{{"wait", false}, {"wait", true}, {"cache", true}} {
		name := func(i any) string { return filepath.Join(dir, fmt.Sprint(row.impl, row.shared, i, ".json")) }
		args := append(slices.Clone(common), "--impl", row.impl)
		process(t, nil, append(args, "-o", name("whole"))...)()
		merging := []string{"merge", "--format", "json", "-o", name("all"), "--hlog", name("log")}
		together(t, 4, func(i int) []string {
			one := append(slices.Clone(args), "--shards", "4", "-o", name(i))
			if row.shared {
				one = append(one, "--shared-keys")
			}
			return one
		})
		for i := range 4 {
			merging = append(merging, name(i))
		}
		if code, out, said := call(t.Context(), cli.Config{}, merging...); code != 0 {
			t.Fatalf("merge: %d %s %s", code, out, said)
		}
		want, got := loaded(t, name("whole")), loaded(t, name("all"))
		if want.Sent != 300 || got.Sent != want.Sent || got.Latency.TotalCount() != want.Sent || !maps.Equal(got.Verdicts.Answers, want.Verdicts.Answers) || got.Verdicts.Ledger.Refs != want.Verdicts.Ledger.Refs {
			t.Errorf("%+v: one process sent %d, %+v; four %d, %+v", row, want.Sent, want.Verdicts, got.Sent, got.Verdicts)
		}
		if l := got.Verdicts.Ledger; row.impl == "wait" && l != want.Verdicts.Ledger || row.impl == "cache" && (l.Doubles == 0 || got.Verdicts.Violated["effect/at-most-once"] != l.Doubles) {
			t.Errorf("%+v: %+v, %+v, violated %v", row, want.Verdicts.Ledger, l, got.Verdicts.Violated)
		}
		one := loaded(t, name(1))
		if row.shared != (len(one.Verdicts.Shared) > 0) {
			t.Errorf("%+v: shard 1 leaves %d keys to merge", row, len(one.Verdicts.Shared))
		}
		if log, err := os.ReadFile(name("log")); err != nil || !strings.Contains(string(log), "Tag="+row.impl) {
			t.Errorf("%v %.80s", err, log)
		}
	}
}

// Shards that were told one store by two names are one load; two stores are none, and
// would accuse whatever was loaded.
func TestShardsOfTwoStoresAreRefused(t *testing.T) {
	stores := []string{"redis://" + storetest.StartRedis(t), "redis://" + storetest.StartRedis(t)}
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprint(i, ".json")) }
	together(t, 2, func(i int) []string {
		return []string{"load", "--rate", "100", "--for", "200ms", "--duplicates", "1", "--shared-keys", "--shards", "2", "--format", "json", "--store", stores[i], "-o", name(i)}
	})
	code, _, said := call(t.Context(), cli.Config{}, "merge", name(0), name(1))
	if code != cli.ExitUsage || !strings.Contains(said, "shards 0 and 1 of wait used two stores") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d, %s", code, said)
	}
}

// What merge says of a load that was interrupted, or crossed a threshold, is what the
// load said.
func TestMergeEndsAsTheLoadDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.json")
	if code, _, said := call(t.Context(), cli.Config{}, "load", "--impl", "cache", "--store", "memory", "--rate", "300", "--for", "500ms", "--duplicates", "1", "--later", "0", "--format", "json", "-o", path); code != 0 {
		t.Fatalf("exit %d, %s", code, said)
	}
	code, out, said := call(t.Context(), cli.Config{}, "merge", path, "--threshold", "double_charges==0")
	if code != cli.ExitUnexpected || !strings.Contains(said, "double_charges==0 of cache is") || !strings.Contains(out, "\ncache ") {
		t.Errorf("exit %d, %s%s", code, out, said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.Replace(string(text), `"interrupted": false`, `"interrupted": true`, 1)
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call(t.Context(), cli.Config{}, "merge", path); code != cli.ExitInterrupted || !strings.HasPrefix(said, "exit 130: interrupted in "+path) {
		t.Errorf("exit %d, %s", code, said)
	}
}

func TestShardsAreRefused(t *testing.T) {
	past := time.Now().Add(-time.Minute).Format(time.RFC3339)
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	for _, row := range []struct {
		args []string
		why  string
	}{
		{[]string{"--shard", "4/4"}, "shards are counted from 0"},
		{[]string{"--shard", "four"}, "write I/N, e.g. 0/4"},
		{[]string{"--shard", "0/2", "--shards", "2"}, "say the same"},
		{[]string{"--shards", "2"}, `JOB_COMPLETION_INDEX is ""`},
		{[]string{"--shared-keys"}, "--shared-keys is for shards"},
		{[]string{"--shard", "0/2", "--shared-keys"}, "needs --start-at"},
		{[]string{"--shard", "0/2", "--shared-keys", "--start-at", past}, "shards that begin late do not race"},
		{[]string{"--start-at", "tomorrow"}, "RFC 3339"},
		{[]string{"--start-at", soon, "--clients", "3"}, "needs a pace"},
		{[]string{"--start-at", soon, "--impl", "wait,raise"}, "--start-at is for one target"},
		{[]string{"--shard", "0/2", "--clients", "3"}, "a closed pace goes by its answers"},
		{[]string{"--shard", "0/2", "--shared-keys", "--start-at", soon, "--store", "memory"}, "no other shard reaches a store of kind memory"},
	} {
		code, _, said := call(context.Background(), cli.Config{}, append([]string{"load", "--store", "memory"}, row.args...)...)
		if code != cli.ExitUsage || !strings.Contains(said, row.why) || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: exit %d, %s", row.args, code, said)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "no", "file")
	for _, flag := range []string{"--output", "--hlog"} { // before anything is loaded
		if code, _, said := call(context.Background(), cli.Config{}, "load", "--store", "memory", "--for", "1h", flag, nowhere); code != cli.ExitUsage || !strings.Contains(said, nowhere) || !strings.HasSuffix(said, "choose another "+flag+"\n") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", flag, code, said)
		}
	}
	if code, _, said := call(context.Background(), cli.Config{}, "merge", "nowhere.json"); code != cli.ExitUsage || !strings.Contains(said, "there is no nowhere.json") {
		t.Errorf("exit %d, %s", code, said)
	}
}
