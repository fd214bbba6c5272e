package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/store/backend"
)

// reproduce is the command that shows the blamed cells again, on the store that
// served and with everything that was asked for.
func reproduce(cmd *cobra.Command, run results.Run, blamed []results.Cell) string {
	scenarios, impls, services := involved(blamed)
	words := []string{cmd.Root().CommandPath() + " run", "--scenario", shellWord(strings.Join(scenarios, ","))}
	if len(impls) > 0 {
		words = append(words, "--impl", shellWord(strings.Join(impls, ",")))
	}
	if len(services) > 0 && run.Config != "" {
		words = append(words, "--config", shellWord(run.Config), "--target", shellWord(strings.Join(services, ",")))
	} else if len(services) > 0 {
		words = append(words, spelt(cmd.Flags().Lookup("target")))
	}
	words = append(words, "--store", shellWord(storeWord(run.Store)), "--seed", fmt.Sprint(run.Seed))
	again := []string{"redis-image", "allow-remote", "store-policy", "lease", "retention", "wait-limit", "repeat", "parallel", "timeout", "gate"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && slices.Contains(again, f.Name) {
			words = append(words, spelt(f))
		}
	})
	return strings.Join(words, " ")
}

func involved(cells []results.Cell) (scenarios, impls, services []string) {
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, c := range cells {
		add(&scenarios, c.Scenario)
		if c.Service {
			add(&services, c.Target)
		} else {
			add(&impls, c.Target)
		}
	}
	return scenarios, impls, services
}

// storeWord names the store that served, never with a password.
func storeWord(s results.Store) string {
	if s.Kind == backend.URL {
		return s.Address
	}
	return s.Kind
}

func spelt(f *pflag.Flag) string {
	value := f.Value.String()
	switch {
	case f.Name == "gate" && value == string(gateOn), f.Value.Type() == "bool" && value == "true":
		return "--" + f.Name
	case f.Name == "gate", f.Value.Type() == "bool":
		return "--" + f.Name + "=" + value
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		value = strings.Join(list.GetSlice(), ",")
	}
	return "--" + f.Name + " " + shellWord(value)
}

// exitLines writes how it ended, and for a failure the line that shows it again.
// Nobody is left to tell if that cannot be written.
func (o *output) exitLines(c conclusion, again string) error {
	w := o.lastWords()
	fmt.Fprintf(w, "exit %d: %s\n", c.code, c.reason)
	if c.code == ExitOK {
		return nil
	}
	if len(c.cells) > 0 && c.code != ExitInterrupted {
		fmt.Fprintf(w, "reproduce: %s\n", again)
	}
	return verdictError{c.code}
}

// shellWord makes a path safe to paste into a shell.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
