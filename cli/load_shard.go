package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/store/backend"
)

// shardFlags say which part of a plan this process sends.
type shardFlags struct {
	shard   string
	shards  int
	shared  bool
	startAt string
}

// indexVariable is how a Kubernetes Indexed Job numbers its pods.
const indexVariable = "JOB_COMPLETION_INDEX"

func (f *shardFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.shard, "shard", "", "send part `I/N` of the plan, I from 0; idemrace merge joins them")
	fs.IntVar(&f.shards, "shards", 0, "the same, with I from "+indexVariable+", as a Kubernetes Indexed Job sets it")
	fs.BoolVar(&f.shared, "shared-keys", false, "shards send the same keys: a duplicate goes to the next shard, and races")
	fs.StringVar(&f.startAt, "start-at", "", "begin at this `time` (RFC 3339), so that all shards do")
}

// lead is how long after the last shard has begun records of shared keys are kept.
const lead = 10 * time.Minute

// apply puts the shard into a plan.
func (f shardFlags) apply(p *load.Plan, a *app) error {
	index, of, err := f.part(a)
	if err != nil {
		return err
	}
	p.Shard, p.Shards, p.SharedKeys = index, of, f.shared
	if f.startAt != "" {
		if p.Begin, err = time.Parse(time.RFC3339Nano, f.startAt); err != nil {
			return usage("--start-at %s: write a time as RFC 3339 has it, e.g. %s", f.startAt, time.Now().Add(time.Minute).UTC().Truncate(time.Second).Format(time.RFC3339))
		}
		if late := time.Since(p.Begin); late > 0 {
			return usage("--start-at %s: that was %v ago; shards that begin late do not race", f.startAt, late.Round(time.Millisecond))
		}
		if p.Pace.Closed() > 0 {
			return usage("--start-at needs a pace: --rate, --ramp or --burst")
		}
	}
	switch {
	case !f.shared:
		return nil
	case of < 2:
		return usage("--shared-keys is for shards: add --shard I/N, or --shards N in an Indexed Job")
	case f.startAt == "":
		return usage("--shared-keys needs --start-at, the same for all shards: so they race, and their keys are new")
	}
	p.Run, err = runName(*p)
	return err
}

// part reads which shard this is.
func (f shardFlags) part(a *app) (index, of int, err error) {
	switch {
	case f.shard != "" && f.shards > 0:
		return 0, 0, usage("--shard and --shards say the same; give one")
	case f.shards < 0:
		return 0, 0, usage("--shards %d: a number above 0", f.shards)
	case f.shards > 0:
		text := a.env[indexVariable]
		if index, err = strconv.Atoi(text); err != nil {
			return 0, 0, usage("--shards %d: %s is %q, and not this shard's number; outside of an Indexed Job write --shard I/%d", f.shards, indexVariable, text, f.shards)
		}
		of = f.shards
	case f.shard != "":
		i, n, ok := strings.Cut(f.shard, "/")
		index, err = strconv.Atoi(i)
		if err == nil {
			of, err = strconv.Atoi(n)
		}
		if !ok || err != nil {
			return 0, 0, usage("--shard %s: write I/N, e.g. 0/4", f.shard)
		}
	default:
		return 0, 0, nil
	}
	if of < 1 || index < 0 || index >= of {
		return 0, 0, usage("shard %d of %d: shards are counted from 0 to N-1", index, of)
	}
	return index, of, nil
}

// runName is one for all shards of a plan, and another for each moment at which it begins.
func runName(p load.Plan) (string, error) {
	doc, _ := p.Doc()
	text, err := json.Marshal(doc)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4]), err
}

// unshardable says why targets cannot be loaded by shards, "" if they can.
func (w loadWork) unshardable(f loadFlags, kind string) string {
	p := w.common.Plan
	if p.Shards > 1 && p.SharedKeys && kind != backend.URL && len(w.entries) > 0 {
		return fmt.Sprintf("--shared-keys: no other shard reaches a store of kind %s; give one for all: --store redis://HOST:PORT", kind)
	}
	for _, t := range w.services.Targets {
		if p.Shards > 1 && t.Workers.Command == "" {
			return fmt.Sprintf("--shard: %s is already running, and has one provider, so that no shard would know what others charge; let each shard start workers of its own (workers.command)", t.Name)
		}
	}
	return ""
}

// keep is how long shared records lie in the store, unless somebody says it.
func (f shardFlags) keep(retention, span time.Duration) time.Duration {
	if !f.shared || retention != reservation.DefaultRetention {
		return retention
	}
	return span + lead
}
