package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// completionVerb writes what a shell needs. Names of scenarios, coordinators,
// formats and stores are completed by asking this program.
func (a *app) completionVerb() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Write the completion script of a shell",
		Example:   "  source <(idemrace completion bash)\n  idemrace completion zsh > \"${fpath[1]}/_idemrace\"\n  idemrace completion fish | source",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("completion takes one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return unknown("shell", args[0], shells, "idemrace completion --help")
		},
	}
}

// completions are the names that can follow; of a comma separated list, the last
// is completed.
func completions(typed string, names []string) []string {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	var fit []string
	for _, name := range names {
		if strings.HasPrefix(name, last) {
			fit = append(fit, before+name)
		}
	}
	return fit
}
