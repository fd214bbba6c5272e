package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// ownName is the program's, if Config gives none.
const ownName = "idemrace"

// called turns the commands in one of our texts, which are written as idemrace's,
// into those of the program that we are part of: a line that cannot be pasted
// helps nobody. The tool itself is called idemrace all the same.
func (a *app) called(text string) string {
	if a.name == ownName {
		return text
	}
	command := regexp.MustCompile(`(^|[^\w/.-])` + ownName + ` (run|list|explain|selftest|check|report|provider|init|explore|replay|load|merge|version|completion|help|--help)\b`)
	return command.ReplaceAllString(text, "${1}"+strings.ReplaceAll(a.name, "$", "$$")+" ${2}")
}

// callBy does so for the help of every verb.
func (a *app) callBy(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		cmd.Example, cmd.Long = a.called(cmd.Example), a.called(cmd.Long)
	}
}
