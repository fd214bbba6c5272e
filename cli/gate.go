package cli

import "fmt"

// gate is the value of --gate.
type gate string

// The gates. A closed gate is exit code 1.
const (
	gateOff    gate = "off"
	gateOn     gate = "on"     // closes on double charges, but for cells that are at-least-once by nature
	gateStrict gate = "strict" // closes on every double charge
)

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
