package cli

import "github.com/spf13/cobra"

func (a *app) reportVerb() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "report DIR|run.json",
		Short: "Draw a saved run again, in any format",
		Long: "report draws a saved run as it was saved; check judges it again. The exit code is\n" +
			"the one that the run had: its gate is saved with it, and another --gate goes before\n" +
			"that one. Only that repeats differed is not saved.\n\n" + exitTable(),
		Example: "  idemrace report results/today\n  idemrace report results/today --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n  idemrace report results/today --format junit -o report.xml",
		Args:    onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := loadRun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			out, err := f.open(a)
			if err != nil {
				return err
			}
			defer out.close()
			if err := out.write(run); err != nil {
				return err
			}
			end := concludeSaved(run, f.gate)
			return out.exitLines(end, a.checkAgain(args[0], f.gate, end))
		},
	}
	f.addSaved(cmd)
	return cmd
}
