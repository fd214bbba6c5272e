package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: "  idemrace version",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("idemrace %s %s %s/%s", toolVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// toolVersion is read from the build, so that it cannot go stale: the module's
// version, or the commit it was built from.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	return "(devel)" + revision + dirty
}

// noArguments refuses arguments of a verb that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("%s takes no argument, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}
