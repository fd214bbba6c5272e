package cli

import (
	"fmt"

	"github.com/idemrace/idemrace/results"
)

// gate is the value of --gate.
type gate string

// The gates. A closed gate is exit code 1.
const (
	gateOff    gate = "off"
	gateOn     gate = results.GateOn     // closes on double charges, but for cells that are at-least-once by nature
	gateStrict gate = results.GateStrict // closes on every double charge
	gateSaved  gate = "saved"            // the one that a saved run had; not to be typed
)

// of is the gate to hold a run against: the one that was given, or else the one
// that the run had.
func (g gate) of(run results.Run) gate {
	switch {
	case g != gateSaved:
		return g
	case run.Gate == "":
		return gateOff
	}
	return gate(run.Gate)
}

// word is the gate in the run document.
func (g gate) word() string {
	if g == gateOff {
		return ""
	}
	return string(g)
}

// String and Set make it a pflag.Value.
func (g *gate) String() string { return string(*g) }

// Set takes true and false too, as every switch does in the environment.
func (g *gate) Set(value string) error {
	switch value {
	case "on", "true", "1":
		*g = gateOn
	case "strict":
		*g = gateStrict
	case "off", "false", "0":
		*g = gateOff
	default:
		return fmt.Errorf("%q is neither on, strict nor off", value)
	}
	return nil
}

// Type is shown in help.
func (g *gate) Type() string { return "gate" }
