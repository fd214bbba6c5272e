package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/results"
)

// mergeFlags are the flags of merge.
type mergeFlags struct {
	thresholds        []string
	form, output, log string
}

func (a *app) mergeVerb() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the shards of one load",
		Long: "merge joins what the shards of one load have written, in any order, as one load would\n" +
			"have written it: counts are added, histograms merged, and the refs that several shards\n" +
			"have sent are judged by all their ledgers. It refuses what is not the whole of one load.\n" +
			"It ends as the load did: 130 where a shard was interrupted.\n\n" + exitTable(),
		Example: "  idemrace merge shard-*.json\n  idemrace merge shard-*.json --threshold double_charges==0 --format json -o load.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return usage("merge takes the files that shards have written: idemrace load --shard 0/4 --format json -o shard-0.json")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.merge(cmd.Context(), args, f) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.thresholds, "threshold", nil, "what must hold: `METRIC<VALUE`, as in load")
	fs.StringVar(&f.form, "format", "table", "`format`: table, json")
	fs.StringVarP(&f.output, "output", "o", "", "write to this `file` instead of stdout")
	fs.StringVar(&f.log, "hlog", "", "write a log of HdrHistogram to this `file`")
	complete(cmd, "format", loadFormats)
	return cmd
}

func loadFormats() []string { return []string{"table", "json"} }

func (a *app) merge(ctx context.Context, paths []string, f mergeFlags) error {
	if err := loadFormat(f.form); err != nil {
		return err
	}
	limits, err := thresholds(f.thresholds)
	if err != nil {
		return err
	}
	var docs []load.Document
	var cut []string
	for _, path := range paths {
		d, err := interruptible(ctx, func() (load.Document, error) { return readLoad(path) })
		if err != nil {
			return err
		}
		docs = append(docs, d)
		if slices.ContainsFunc(d.Loads, func(r load.Report) bool { return r.Interrupted }) {
			cut = append(cut, path)
		}
	}
	all, err := load.MergeAll(docs, paths)
	if err != nil {
		return usage("%v", err)
	}
	for _, out := range []struct{ flag, path string }{{"--output", f.output}, {"--hlog", f.log}} {
		if shard := sameFile(out.path, paths); shard != "" {
			return usage("%s %s would be written over the shard %s; choose another file", out.flag, out.path, shard)
		}
	}
	files, err := loadOutput{output: f.output, log: f.log}.open()
	if err != nil {
		return err
	}
	defer files.close()
	var logged error
	if files.log != nil {
		logged = load.WriteLog(files.log, all.Started, all.Loads)
		files.log.done = true
	}
	return a.loadEnd(ctx, f.form, files, logged, all, limits, cut...)
}

// sameFile is the path that names the same file as the first, "" if none does.
func sameFile(path string, others []string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, other := range others {
		if o, err := os.Stat(other); err == nil && os.SameFile(info, o) {
			return other
		}
	}
	return ""
}

// interruptible returns when the context ends, although do may wait for a pipe that
// nobody fills.
func interruptible[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type done struct {
		value T
		err   error
	}
	c := make(chan done, 1)
	go func() {
		value, err := do()
		c <- done{value, err}
	}()
	select {
	case d := <-c:
		return d.value, d.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

func readLoad(path string) (load.Document, error) {
	file, err := results.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return load.Document{}, usage("there is no %s; a shard writes it: idemrace load --shard 0/4 --format json -o %s", path, path)
	}
	if err != nil {
		return load.Document{}, usage("%v", err)
	}
	defer func() { _ = file.Close() }()
	d, err := load.Read(file, path)
	if err != nil {
		return d, usage("%v", err)
	}
	return d, nil
}

// loadFormat refuses what a load cannot be written in.
func loadFormat(form string) error {
	for _, known := range loadFormats() {
		if form == known {
			return nil
		}
	}
	return about("format", unknown("format", form, loadFormats(), "idemrace load --help"))
}
