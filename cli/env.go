package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const environmentHelp = `Every flag can also be set as IDEMRACE_FLAG in the environment, for example
IDEMRACE_STORE=embedded or IDEMRACE_WAIT_LIMIT=5s. A flag goes before the
environment, and the environment before the default. Also read: REDIS_URL,
NO_COLOR, FORCE_COLOR, TERM and CI.`

// envPrefix begins the variables that stand for flags.
const envPrefix = "IDEMRACE_"

// environment is what the process was given.
type environment map[string]string

// environmentOf reads NAME=value lines; the last of one name counts, as in a
// shell.
func environmentOf(lines []string) environment {
	env := environment{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	return env
}

// variable is the name under which a flag stands in the environment.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readEnvironment sets the flags that were not given from the environment. An
// empty variable is one that is not set.
func (a *app) readEnvironment(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := a.env[variable(f.Name)]
		if err != nil || f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		a.fromEnv[f.Name] = true
		if refused := cmd.Flags().Set(f.Name, value); refused != nil {
			err = usage("%s: %v; unset it, or see idemrace %s --help", variable(f.Name), refused, cmd.Name())
		}
	})
	if err != nil {
		return err
	}
	a.warnUnknown(cmd)
	return a.checkColor()
}

// warnUnknown says which IDEMRACE_ variables are no flag of any verb: a misspelt one
// would otherwise be silently without effect.
func (a *app) warnUnknown(cmd *cobra.Command) {
	var known []string
	for _, verb := range cmd.Root().Commands() {
		for _, set := range []*pflag.FlagSet{verb.Flags(), verb.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) { known = append(known, variable(f.Name)) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		if !strings.HasPrefix(name, envPrefix) || name == requireVariable || slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("%s: %s in the environment is no flag's", a.name, name)
		if near := nearest(name, known); near != "" {
			text += "; did you mean " + near + "?"
		}
		fmt.Fprintln(a.stderr, text)
	}
}

// requireVariable is the tests' own: see package unrun.
const requireVariable = envPrefix + "REQUIRE"

// origin says that what was refused was never typed: it came from the environment.
func (a *app) origin(refused *usageError) string {
	flag := refused.flag
	if typed, ok := strings.CutPrefix(refused.Error(), "--"); flag == "" && ok {
		flag = typed[:strings.IndexFunc(typed+" ", func(r rune) bool { return r == ' ' || r == ':' || r == '=' })]
	}
	if !a.fromEnv[flag] {
		return ""
	}
	return " (from " + variable(flag) + " in the environment)"
}

// flagError makes cobra's complaint one line with a next step.
func flagError(cmd *cobra.Command, err error) error {
	see := strings.TrimSpace(cmd.CommandPath()) + " --help"
	name, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return usage("%v; see %s", err, see)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest(name, names); near != "" {
		return usage("unknown flag --%s; did you mean --%s? See: %s", name, near, see)
	}
	return usage("unknown flag --%s; see %s", name, see)
}
