package scenarios

import (
	"strings"

	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/store/redisstore"
)

// matching finds a command on the wire by what it means. A plain value that says
// "state":"pending" is a claim, as the judge has it too; any other value that is
// written is a result. A coordinator that begins by looking up has no earlier
// command, so the look-up counts as its claim. Of a script that nobody knows only the
// values tell what it writes; one that is handed no result is taken for its claim.
func matching(of Of) faultproxy.Match {
	return func(c faultproxy.Command) bool {
		pending := says(c.Args, "pending")
		op, ok := redisstore.WireOp(c.Name, c.Script, c.Args)
		if !ok {
			done := says(c.Args, "done")
			return c.Script != "" && (of == TheCompletion) == done
		}
		switch op {
		case "claim", "get":
			return of == TheClaim
		case "complete":
			return of == TheCompletion
		case "set", "setnx":
			return pending == (of == TheClaim)
		}
		return false
	}
}

// says: one of the values is a JSON object with that state.
func says(args []string, state string) bool {
	for _, a := range args {
		if strings.Contains(a, `"state":"`+state+`"`) {
			return true
		}
	}
	return false
}
