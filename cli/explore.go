package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/explore"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/store/redisstore"
)

// exploreFlags are the flags of explore.
type exploreFlags struct {
	impls                               []string
	clients, faults, crashes, expiries  int
	hangUps, maxRuns, maxStates, cores  int
	preemptions, strategy, form, output string
	payloads, honoursKeys, step         bool
	seed                                int64
	maxTime                             time.Duration
	gate                                bool
	store                               storeFlags
}

func (a *app) exploreVerb() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Run every interleaving of a few clients, and find the smallest that breaks",
		Long: "explore runs a few clients of a coordinator through every order of their steps: store\n" +
			"operations, provider calls, the clock, faults and crashes. It says that nothing is\n" +
			"violated within these bounds, or shows the smallest schedule that breaks an invariant,\n" +
			"with a token that replays it.\n\n" +
			"A violation of what the coordinator guarantees is exit 1; of what it says it lacks is\n" +
			"expected. A search that a bound has cut short is exit 3, a coordinator that blocks\n" +
			"outside its ports is refused by name, exit 4. --gate: any double charge is exit 1.\n\n" +
			"On --store redis-server each operation is made on a real Redis too, and each schedule has\n" +
			"to end there as on the model: slower, and exit 4 where it does not.",
		Example: "  idemrace explore --impl cache\n" +
			"  idemrace explore --impl wait,raise,fenced --faults 1 --expiries 1\n" +
			"  idemrace explore --impl wait --clients 5 --strategy pct --seed 7 --max-runs 100000\n" +
			"  idemrace explore --impl wait --faults 1 --store redis-server\n" +
			"  idemrace explore --impl cache --step",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.explore(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.impls, "impl", []string{impl.Article}, "coordinators, by `name` or group; repeatable")
	fs.IntVar(&f.clients, "clients", explore.DefaultClients, "how many clients send")
	fs.StringVar(&f.preemptions, "preemptions", "unbounded", "how often a client is overtaken though it could move: a `number`, or unbounded")
	fs.IntVar(&f.faults, "faults", 0, "how many commands, replies and provider calls may fail")
	fs.IntVar(&f.crashes, "crashes", 0, "how many workers may die")
	fs.IntVar(&f.expiries, "expiries", 0, "how often time may pass though somebody could move: leases run out")
	fs.IntVar(&f.hangUps, "hang-ups", 0, "how many clients may leave")
	fs.BoolVar(&f.payloads, "payloads", false, "the last client sends another amount under the same key")
	fs.BoolVar(&f.honoursKeys, "honours-keys", false, "the provider answers a second call with one key by the first one's charge")
	fs.StringVar(&f.strategy, "strategy", string(explore.Exhaustive), "`how` schedules are chosen: exhaustive, random, pct")
	fs.Int64Var(&f.seed, "seed", defaultSeed, "seed of random and pct")
	fs.IntVar(&f.maxRuns, "max-runs", 0, "no more schedules than this; 0: no bound (random and pct have one)")
	fs.DurationVar(&f.maxTime, "max-time", 0, "no longer than this; 0: no bound")
	fs.IntVar(&f.maxStates, "max-states", explore.DefaultMaxStates, "no more states than this are remembered")
	fs.IntVar(&f.cores, "cores", 0, "how many cores search and judge; 0: all")
	fs.StringVar(&f.form, "format", "text", "`format`: text, json, mermaid")
	fs.StringVarP(&f.output, "output", "o", "", "write to this `file` instead of stdout")
	fs.BoolVar(&f.gate, "gate", false, "exit 1 on any double charge, expected or not")
	fs.BoolVar(&f.step, "step", false, "choose each step yourself, and go back")
	f.store.addToModel(cmd)
	complete(cmd, "impl", a.implNames)
	complete(cmd, "strategy", func() []string { return []string{"exhaustive", "random", "pct"} })
	complete(cmd, "format", exploreFormats)
	return cmd
}

func exploreFormats() []string { return []string{"text", "json", "mermaid"} }

func (f exploreFlags) config() (explore.Config, error) {
	cfg := explore.Config{Clients: f.clients, Faults: f.faults, Crashes: f.crashes, Expiries: f.expiries, HangUps: f.hangUps,
		Payloads: f.payloads, HonoursKeys: f.honoursKeys, Strategy: explore.Strategy(f.strategy), Seed: f.seed,
		MaxRuns: f.maxRuns, MaxTime: f.maxTime, MaxStates: f.maxStates, Cores: f.cores, Preemptions: explore.Unbounded}
	switch {
	case f.clients < 1 || f.clients > explore.MaxClients:
		return cfg, usage("--clients %d: from 1 to %d", f.clients, explore.MaxClients)
	case f.faults < 0 || f.crashes < 0 || f.expiries < 0 || f.hangUps < 0 || f.maxRuns < 0 || f.maxTime < 0 || f.maxStates < 1 || f.cores < 0:
		return cfg, usage("a budget or a bound is negative; see idemrace explore --help")
	case !slices.Contains(explore.Strategies(), cfg.Strategy):
		return cfg, about("strategy", unknown("strategy", f.strategy, []string{"exhaustive", "random", "pct"}, "idemrace explore --help"))
	case !slices.Contains(exploreFormats(), f.form):
		return cfg, about("format", unknown("format", f.form, exploreFormats(), "idemrace explore --help"))
	}
	if f.preemptions != "unbounded" {
		n, err := strconv.Atoi(f.preemptions)
		if err != nil || n < 0 {
			return cfg, usage("--preemptions %s: a number, or unbounded", f.preemptions)
		}
		cfg.Preemptions = n
	}
	return cfg, nil
}

// explored is what was found of one coordinator.
type explored struct {
	Coordinator string          `json:"coordinator"`
	Complete    bool            `json:"complete"`
	Why         string          `json:"why,omitempty"`
	Schedules   int             `json:"schedules"`
	Steps       int             `json:"steps"`
	States      int             `json:"states"`
	TookMS      float64         `json:"took_ms"`
	Unlike      bool            `json:"unlike,omitempty"` // alike clients did not act alike: searched without symmetry
	Outcomes    []string        `json:"outcomes"`
	Levels      []explore.Level `json:"levels"`
	Violations  []violation     `json:"violations"`
}

// violation is a smallest schedule as a story, and all that it breaks.
type violation struct {
	Breaks []broken      `json:"breaks"`
	Story  explore.Story `json:"story"`
	Passes string        `json:"passes,omitempty"` // the nearest schedule that does
}

// broken is one invariant that a schedule breaks.
type broken struct {
	Invariant  string `json:"invariant"`
	Guaranteed bool   `json:"guaranteed"`
	Because    string `json:"because"`
}

func (a *app) explore(ctx context.Context, f exploreFlags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	entries, err := a.pickTargets(f.impls)
	if err != nil {
		return err
	}
	file, err := openOut("--output", f.output)
	if err != nil {
		return err
	}
	defer file.close()
	closing, err := a.backing(ctx, &cfg, f.store)
	if err != nil {
		return err
	}
	defer closing()
	if f.step {
		return a.stepThrough(ctx, cfg, entries)
	}
	var all []explored
	for _, e := range entries {
		cfg.Entry = e
		one, err := a.exploreOne(ctx, cfg)
		if err != nil {
			return exploreError(e.Name, err)
		}
		all = append(all, one)
	}
	text, err := a.drawExplored(all, cfg, f.form)
	if err == nil {
		err = a.put(file, text)
	}
	if err != nil {
		return err
	}
	return a.exploreEnd(ctx, all, f.gate)
}

// exploreError tells a coordinator that cannot be explored from a mistake.
func exploreError(name string, err error) error {
	if errors.Is(err, explore.ErrUncontrollable) {
		return err // exit 4, by name
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (a *app) exploreOne(ctx context.Context, cfg explore.Config) (explored, error) {
	if err := admit(ctx, cfg); err != nil {
		return explored{}, err
	}
	p := a.progress()
	defer p.clear()
	cfg.Progress = func(s explore.Progress) {
		p.doing(fmt.Sprintf("%s: %d schedules, %d states", cfg.Entry.Name, s.Runs, s.States))
	}
	r, err := explore.Explore(ctx, cfg)
	if err != nil {
		return explored{}, err
	}
	one := explored{Coordinator: cfg.Entry.Name, Complete: r.Complete, Why: r.Why, Unlike: r.Unlike, Schedules: r.Runs, Steps: r.Steps, States: r.States,
		TookMS: float64(r.Took.Microseconds()) / 1000, Outcomes: r.Outcomes, Levels: r.Levels, Violations: []violation{}}
	for _, v := range r.Found {
		if one.tells(v) {
			continue
		}
		told, err := tellViolation(ctx, cfg, v)
		if err != nil {
			return one, err
		}
		one.Violations = append(one.Violations, told)
	}
	return one, nil
}

// admit asks whether a coordinator can be explored. Ours have been asked: a test of
// package explore admits them all.
func admit(ctx context.Context, cfg explore.Config) error {
	if _, ours := impl.Lookup(cfg.Entry.Name); ours {
		return nil
	}
	return explore.Admit(ctx, cfg)
}

// tells: a story that is there already breaks it too.
func (e explored) tells(v explore.Violation) bool {
	return slices.ContainsFunc(e.Violations, func(told violation) bool {
		return slices.ContainsFunc(told.Breaks, func(b broken) bool { return b.Invariant == v.Invariant && b.Guaranteed == v.Guaranteed })
	})
}

// all is every invariant that some schedule breaks.
func (e explored) all() []broken {
	var list []broken
	for _, v := range e.Violations {
		list = append(list, v.Breaks...)
	}
	return list
}

// tellViolation makes a violation's schedule as small as it goes, and tells it.
func tellViolation(ctx context.Context, cfg explore.Config, v explore.Violation) (violation, error) {
	v.Schedule.Invariant = v.Invariant
	modelled := cfg
	modelled.Back = nil // hundreds of candidates are tried
	small, err := explore.Minimise(ctx, modelled, v.Schedule)
	if err != nil {
		return violation{}, err
	}
	again, err := explore.Replay(cfg, small)
	if err != nil {
		return violation{}, err
	}
	told := violation{Story: again.Story()}
	for _, b := range again.Violated {
		told.Breaks = append(told.Breaks, broken{b.Invariant, b.Guaranteed, b.Because})
	}
	if near, found, err := explore.NearestPassing(ctx, modelled, small); err == nil && found {
		told.Passes = near.String()
	}
	return told, nil
}

// drawExplored draws what was found.
func (a *app) drawExplored(all []explored, cfg explore.Config, form string) ([]byte, error) {
	var b strings.Builder
	switch form {
	case "json":
		text, err := json.MarshalIndent(all, "", "  ")
		return append(text, '\n'), err
	case "mermaid":
		for _, one := range all {
			for _, v := range one.Violations {
				fmt.Fprintf(&b, "%%%% %s: %s\n%s\n", one.Coordinator, v.Story.Invariant, v.Story.Mermaid())
			}
		}
		return []byte(b.String()), nil
	}
	for i, one := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		a.tellExplored(&b, one, cfg)
	}
	return []byte(b.String()), nil
}

func (a *app) tellExplored(b *strings.Builder, one explored, cfg explore.Config) {
	fmt.Fprintf(b, "%s: %s: %s\n", one.Coordinator, within(cfg), done(one))
	fmt.Fprintf(b, "  %d schedules, %d steps, %d states, %.0f ms; %s\n", one.Schedules, one.Steps, one.States, one.TookMS, count(len(one.Outcomes), "way")+" of ending")
	if one.Unlike {
		b.WriteString("  clients that send the same did not act the same: none was taken for another\n")
	}
	if len(one.Violations) == 0 {
		b.WriteString("  nothing is violated\n")
	}
	for _, v := range one.Violations {
		b.WriteByte('\n')
		for _, x := range v.Breaks {
			word := "expected"
			if x.Guaranteed {
				word = "GUARANTEED, AND VIOLATED"
			}
			fmt.Fprintf(b, "  %s (%s): %s\n", x.Invariant, word, x.Because)
		}
		fmt.Fprintf(b, "\n%s\n", indented(v.Story.Lanes(a.page()-2)))
		if v.Passes != "" {
			fmt.Fprintf(b, "  %s\n", v.Passes)
		}
		fmt.Fprintf(b, "  replay: %s replay %s\n", a.name, v.Story.Token)
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// within are the bounds, in words.
func within(cfg explore.Config) string {
	words := []string{count(cfg.Clients, "client")}
	if cfg.Preemptions == explore.Unbounded {
		words = append(words, "any preemptions")
	} else {
		words = append(words, "at most "+count(cfg.Preemptions, "preemption"))
	}
	for _, w := range []struct {
		n    int
		name string
	}{{cfg.Faults, "fault"}, {cfg.Crashes, "crash"}, {cfg.Expiries, "expiry"}, {cfg.HangUps, "hang-up"}} {
		switch {
		case w.n == 1:
			words = append(words, "1 "+w.name)
		case w.n > 1:
			words = append(words, fmt.Sprintf("%d %s", w.n, strings.NewReplacer("crash", "crashes", "expiry", "expiries", "fault", "faults", "hang-up", "hang-ups").Replace(w.name)))
		}
	}
	return strings.Join(words, ", ")
}

func done(one explored) string {
	switch {
	case !one.Complete:
		return "NOT COMPLETE: " + one.Why
	case slices.ContainsFunc(one.all(), func(b broken) bool { return b.Guaranteed }):
		return "complete, and violated"
	case len(one.Violations) > 0:
		return "complete; what it guarantees holds in every schedule"
	}
	return "complete, no violation"
}

// exploreEnd is the exit code, and why.
func (a *app) exploreEnd(ctx context.Context, all []explored, gate bool) error {
	code, reason := ExitOK, "what is guaranteed holds in every schedule"
	worse := func(c int, why string) {
		if code == ExitOK || c == ExitUnexpected {
			code, reason = c, why
		}
	}
	for _, one := range all {
		for _, v := range one.all() {
			switch {
			case v.Guaranteed:
				worse(ExitUnexpected, one.Coordinator+" violates "+v.Invariant+", which it guarantees")
			case gate && v.Invariant == "effect/at-most-once":
				worse(ExitUnexpected, "the gate is closed: "+one.Coordinator+" charges twice")
			}
		}
		if !one.Complete {
			worse(ExitInconclusive, one.Coordinator+": not complete: "+one.Why)
		}
	}
	if ctx.Err() != nil {
		code, reason = ExitInterrupted, "interrupted"
	}
	fmt.Fprintf(a.stderr, "exit %d: %s\n", code, reason)
	if code == ExitOK {
		return nil
	}
	return verdictError{code}
}

// replayVerb makes a schedule again.
func (a *app) replayVerb() *cobra.Command {
	var name, form, output string
	var gate bool
	var sf storeFlags
	cmd := &cobra.Command{
		Use:   "replay TOKEN",
		Short: "Make a schedule of explore again, step by step",
		Long: "replay makes a schedule again, by the labels of its steps, so that it survives small\n" +
			"changes of the code. After a fix it says FIXED, exit 0. Where it no longer fits it says\n" +
			"DIVERGED, at the first step that differs, exit 4. On --store redis-server each step is\n" +
			"made on a real Redis too, and both must end alike.",
		Example: "  idemrace replay i1:…\n  idemrace replay --impl wait i1:…   # the same schedule on another coordinator\n  idemrace replay --store redis-server i1:…",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("replay takes one token, got %d arguments; idemrace explore prints them", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replay(cmd, args[0], name, form, output, gate, sf)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&name, "impl", "", "the `coordinator`; default: the token's")
	fs.StringVar(&form, "format", "text", "`format`: text, json, mermaid")
	fs.StringVarP(&output, "output", "o", "", "write to this `file` instead of stdout")
	fs.BoolVar(&gate, "gate", false, "exit 1 on any double charge, expected or not")
	sf.addToModel(cmd)
	complete(cmd, "impl", a.implNames)
	complete(cmd, "format", exploreFormats)
	return cmd
}

func (a *app) replay(cmd *cobra.Command, token, name, form, output string, gate bool, sf storeFlags) error {
	s, err := explore.Decode(token)
	if err != nil {
		return usage("%v; copy the whole token", err)
	}
	if name == "" {
		name = s.Coordinator
	}
	entries, err := a.pickTargets([]string{name})
	if err != nil {
		return err
	}
	if !slices.Contains(exploreFormats(), form) {
		return about("format", unknown("format", form, exploreFormats(), "idemrace replay --help"))
	}
	file, err := openOut("--output", output)
	if err != nil {
		return err
	}
	defer file.close()
	cfg := explore.Config{Entry: entries[0]}
	closing, err := a.backing(cmd.Context(), &cfg, sf)
	if err != nil {
		return err
	}
	defer closing()
	r, err := explore.Replay(cfg, s)
	var diverged *explore.DivergedError
	if err != nil && !errors.As(err, &diverged) {
		return exploreError(name, err)
	}
	if err := a.put(file, drawReplayed(r, form, a.page())); err != nil {
		return err
	}
	return a.replayEnd(r, diverged, gate)
}

func drawReplayed(r explore.Replayed, form string, width int) []byte {
	story := r.Story()
	switch form {
	case "json":
		text, _ := json.MarshalIndent(story, "", "  ") // texts and numbers always marshal
		return append(text, '\n')
	case "mermaid":
		return []byte(story.Mermaid() + "\n")
	}
	return []byte(story.Lanes(width) + "\n")
}

func (a *app) replayEnd(r explore.Replayed, diverged *explore.DivergedError, gate bool) error {
	var names []string
	code := ExitOK
	for _, v := range r.Violated {
		names = append(names, v.Invariant)
		if v.Guaranteed || gate && v.Invariant == "effect/at-most-once" {
			code = ExitUnexpected
		}
	}
	switch {
	case diverged != nil:
		fmt.Fprintf(a.stderr, "exit %d: DIVERGED: %v\n", ExitCouldNotRun, diverged)
		return verdictError{ExitCouldNotRun}
	case r.Fixed:
		fmt.Fprintf(a.stderr, "exit 0: FIXED: %s is not violated any more\n", r.Schedule.Invariant)
		return nil
	case len(names) == 0:
		fmt.Fprintln(a.stderr, "exit 0: nothing is violated")
		return nil
	}
	fmt.Fprintf(a.stderr, "exit %d: violated again: %s\n", code, strings.Join(names, ", "))
	if code == ExitOK {
		return nil
	}
	return verdictError{code}
}

// page is how wide lanes may be.
func (a *app) page() int {
	if w := width(a.stdout); w > 0 {
		return w
	}
	return lanesWide
}

// lanesWide is for a file or a pipe: four columns of words that can be read.
const lanesWide = 110

// model is the store of explore's own.
const model = "model"

// addToModel adds the flags of a real store beside the model.
func (f *storeFlags) addToModel(cmd *cobra.Command) {
	f.add(cmd)
	f.name = model
	cmd.Flags().Lookup("store").DefValue = "the model"
}

// backing puts a real store beside the model, if one is asked for.
func (a *app) backing(ctx context.Context, cfg *explore.Config, sf storeFlags) (closing func(), err error) {
	if sf.name == model {
		return func() {}, nil
	}
	b, err := backend.Open(ctx, sf.spec(a.env))
	if err != nil {
		return nil, storeError(sf.name, err)
	}
	if b.DialAddr() == "" {
		_ = b.Close()
		return nil, usage("--store %s is the model's own kind; a real one is redis-server, embedded, container or a URL", sf.name)
	}
	s, err := redisstore.New(b.Client(""), redisstore.Config{Prefix: "idemrace:explore:" + rand.Text() + ":"})
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	cfg.Back = func() (explore.Real, error) { return s, nil }
	return func() {
		_, _ = s.Purge(context.WithoutCancel(ctx))
		_ = s.Close()
		_ = b.Close() // nothing is left in it
	}, nil
}
