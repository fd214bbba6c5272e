// Package cli is the words at the prompt: one verb per file, and [Run], which
// outsiders call to have the same program with coordinators of their own.
//
// Only here is the environment read and a process's output written. The package
// refuses to judge and to drive: it reads what is wanted, refuses what cannot
// be meant, and says how it ended in an exit code.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/explore"
	"github.com/idemrace/idemrace/impl"
)

// Config is everything that the program gets from outside.
type Config struct {
	// Name is how the program is called, as a user types it: it stands in help, in
	// errors and in the lines that reproduce a failure. "" is idemrace.
	Name           string
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer // nil discards
	// Environ is the environment, as os.Environ gives it; nil is an empty one.
	Environ []string
	// Extra are coordinators besides idemrace's own; they are found by name and by
	// their groups.
	Extra []impl.Entry
}

// Run runs one command and returns its exit code (see [ExitCodes]). When ctx
// ends, what there is by then is reported, nothing is left behind, and the code
// is [ExitInterrupted].
func Run(ctx context.Context, cfg Config) int {
	redis.SetLogger(&logging.VoidLogger{}) // stderr is ours: a store that is down is said once, by us
	a := newApp(cfg)
	// explore asks this program, whoever's it is, about a coordinator in a child.
	if handled, code := explore.AdmitChild(append([]string{a.name}, cfg.Args...), a.stdout, a.entries()); handled {
		return code
	}
	root := a.root()
	root.SetArgs(append([]string{}, cfg.Args...)) // nil would mean this process's own
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := a.checkExtra()
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	return a.end(ctx, err)
}

// app is one command under way.
type app struct {
	name           string
	stdin          io.Reader
	stdout, stderr io.Writer
	env            environment
	extra          []impl.Entry
	flags          globalFlags
	fromEnv        map[string]bool // flags that the environment has set
}

func newApp(cfg Config) *app {
	a := &app{name: cmp.Or(strings.TrimSpace(cfg.Name), ownName), stdin: cfg.Stdin, stdout: cfg.Stdout, stderr: cfg.Stderr,
		env: environmentOf(cfg.Environ), extra: cfg.Extra, fromEnv: map[string]bool{}}
	if a.stdin == nil {
		a.stdin = strings.NewReader("")
	}
	if a.stdout == nil {
		a.stdout = io.Discard
	}
	if a.stderr == nil {
		a.stderr = io.Discard
	}
	return a
}

// end says an error in one line and turns it into an exit code.
func (a *app) end(ctx context.Context, err error) int {
	var verdict verdictError
	var refused *usageError
	switch {
	case err == nil, readerGone(err):
		return ExitOK
	case errors.As(err, &verdict): // said already
		return verdict.code
	case ctx.Err() != nil:
		a.complain("interrupted")
		return ExitInterrupted
	case errors.As(err, &refused):
		a.complain(err.Error() + a.origin(refused))
		return ExitUsage
	}
	a.complain(err.Error())
	return ExitCouldNotRun
}

// complain writes one line, whatever the error's text looks like.
func (a *app) complain(text string) {
	lines := strings.FieldsFunc(a.called(text), func(r rune) bool { return r == '\n' || r == '\r' })
	fmt.Fprintf(a.stderr, "%s: %s\n", a.name, strings.Join(lines, "; "))
}

// globalFlags are those of every verb.
type globalFlags struct {
	verbose, quiet bool
	color          string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   path.Base(strings.Fields(a.name)[0]),
		Short: "Race your Idempotency-Key and count the charges",
		Long: "idemrace proves, or disproves by a reproducible race, that an implementation of\n" +
			"Idempotency-Key makes an effect once and gives the same answer, under concurrency\n" +
			"and faults.\n\n" + exitTable() + "\n" + environmentHelp,
		Example:           "  idemrace run --scenario in-flight\n  idemrace run --impl wait,raise --gate\n  idemrace explain in-flight\n  idemrace selftest",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              a.knownVerb,
		Version:           versionLine(),
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: a.name},
		PersistentPreRunE: a.readEnvironment,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	fs := root.PersistentFlags()
	fs.BoolVarP(&a.flags.verbose, "verbose", "v", false, "show every finding, and what coordinators log")
	fs.BoolVarP(&a.flags.quiet, "quiet", "q", false, "no progress on stderr")
	fs.StringVar(&a.flags.color, "color", colorAuto, "`when` to colour: auto, always, never")
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colorModes(), cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(a.runVerb(), a.listVerb(), a.explainVerb(), a.selftestVerb(), a.checkVerb(), a.reportVerb(), a.providerVerb(), a.initVerb(), a.exploreVerb(), a.replayVerb(), a.loadVerb(), a.mergeVerb(), a.versionVerb(), a.completionVerb())
	root.SetHelpCommand(a.helpVerb())
	a.callBy(root)
	return root
}

// knownVerb refuses what is no verb. Cobra's own refusal has several lines.
func (a *app) knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknown("command", args[0], verbNames(cmd.Root()), "idemrace --help")
}

func verbNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// helpVerb is cobra's, but for refusing what is no verb.
func (a *app) helpVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Help for any verb",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Root().Help()
			}
			verb, _, err := cmd.Root().Find(args)
			if err != nil || verb == cmd.Root() {
				return a.knownVerb(cmd, args)
			}
			return verb.Help()
		},
	}
}
