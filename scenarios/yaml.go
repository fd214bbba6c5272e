package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/history"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/strictyaml"
)

// step is one line of a script in YAML: a mapping with the step's name, or the name
// alone where nothing is to be said of it. A new kind of step is one line here.
type step struct {
	Send      *Send      `yaml:"send,omitempty"`
	Many      *Many      `yaml:"many,omitempty"`
	WaitFor   *WaitFor   `yaml:"wait-for,omitempty"`
	Release   *Release   `yaml:"release,omitempty"`
	Join      *Join      `yaml:"join,omitempty"`
	Idle      *Idle      `yaml:"idle,omitempty"`
	Settle    *Settle    `yaml:"settle,omitempty"`
	Pass      *Pass      `yaml:"pass,omitempty"`
	HangUp    *HangUp    `yaml:"hang-up,omitempty"`
	Kill      *Kill      `yaml:"kill,omitempty"`
	Pause     *Pause     `yaml:"pause,omitempty"`
	Resume    *Resume    `yaml:"resume,omitempty"`
	StoreDown *StoreDown `yaml:"store-down,omitempty"`
	StoreUp   *StoreUp   `yaml:"store-up,omitempty"`
	EndLeases *EndLeases `yaml:"end-leases,omitempty"`
	SetExpiry *SetExpiry `yaml:"set-expiry,omitempty"`
	LoseReply *LoseReply `yaml:"lose-reply,omitempty"`
	CutBefore *CutBefore `yaml:"cut-before,omitempty"`
	HoldStore *HoldStore `yaml:"hold-store,omitempty"`
	SlowStore *SlowStore `yaml:"slow-store,omitempty"`
	Held      *Held      `yaml:"held,omitempty"`
	Heal      *Heal      `yaml:"heal,omitempty"`
	Inspect   *Inspect   `yaml:"inspect,omitempty"`
}

// script is a scenario in YAML.
type script struct {
	Name        string                   `yaml:"name"`
	Title       string                   `yaml:"title,omitempty"`
	Why         string                   `yaml:"why,omitempty"`
	Workers     []string                 `yaml:"workers,omitempty"`
	Provider    fakeprovider.Behaviour   `yaml:"provider,omitempty"`
	Calls       []fakeprovider.Behaviour `yaml:"calls,omitempty"` // of the first calls, in order of arrival
	HonoursKeys bool                     `yaml:"honours-keys,omitempty"`
	StorePolicy string                   `yaml:"store-policy,omitempty"`
	MaxResult   int                      `yaml:"max-result,omitempty"`
	Lease       time.Duration            `yaml:"lease,omitempty"`
	WaitLimit   time.Duration            `yaml:"wait-limit,omitempty"`
	Alone       bool                     `yaml:"alone,omitempty"`
	Takes       time.Duration            `yaml:"takes,omitempty"`
	Steps       []step                   `yaml:"steps"`
	Exposes     []string                 `yaml:"exposes,omitempty"` // surely
	Possibly    []string                 `yaml:"possibly,omitempty"`
	Stresses    []string                 `yaml:"stresses,omitempty"`
	Controls    map[string]int           `yaml:"controls,omitempty"`
	AtLeastOnce bool                     `yaml:"at-least-once,omitempty"`
	Chance      bool                     `yaml:"chance,omitempty"`
}

// Decode reads a scenario that somebody has written; file is for messages. It refuses
// what it does not know, with its place and the name that was meant.
func Decode(file string, text []byte) (Scenario, error) {
	var in script
	bare := map[reflect.Type]func(*yaml.Node) (*yaml.Node, error){reflect.TypeFor[step](): bareStep}
	if err := strictyaml.Decode(text, &in, strictyaml.Options{File: file, Short: bare}); err != nil {
		return Scenario{}, err
	}
	s, err := in.scenario()
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// bareStep lets "join" stand for "join: {}".
func bareStep(n *yaml.Node) (*yaml.Node, error) {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) != 2:
		return n, errors.New("a step is one mapping of its name to what it is about, e.g. send: {client: A}")
	case n.Kind != yaml.ScalarNode:
		return n, nil
	}
	empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{n, empty}}, nil
}

func (in script) scenario() (Scenario, error) {
	s := Scenario{Name: in.Name, Title: in.Title, Why: in.Why, AtLeastOnce: in.AtLeastOnce, Chance: in.Chance,
		Setting: Setting{Workers: in.Workers, Provider: in.Provider, Script: in.Calls, HonoursKeys: in.HonoursKeys,
			StoreDown: reservation.Policy(in.StorePolicy), MaxResult: in.MaxResult, Lease: in.Lease, WaitLimit: in.WaitLimit,
			Alone: in.Alone, Takes: in.Takes},
		Exposes: join(surely(in.Exposes...), possibly(in.Possibly...))}
	for _, one := range in.Steps {
		s.Steps = append(s.Steps, one.step())
	}
	for _, stress := range in.Stresses {
		s.Stresses = append(s.Stresses, check.Stress(stress))
	}
	for name, least := range in.Controls {
		s.Controls = append(s.Controls, history.Control{Name: name, Min: least})
	}
	slices.SortFunc(s.Controls, func(a, b history.Control) int { return strings.Compare(a.Name, b.Name) })
	return s, s.check()
}

// check refuses a scenario that cannot be played or judged.
func (s Scenario) check() error {
	switch {
	case s.Name == "":
		return errors.New("the scenario has no name")
	case len(s.Steps) == 0:
		return errors.New("the scenario has no steps")
	case reflect.TypeOf(s.Steps[len(s.Steps)-1]) != reflect.TypeFor[Settle]():
		return errors.New("the last step must be settle: late charges count")
	}
	for _, e := range s.Exposes {
		if err := e.Validate(); err != nil {
			return err
		}
	}
	for _, stress := range s.Stresses {
		if !slices.Contains(check.Stresses(), stress) {
			return fmt.Errorf("unknown stress %q", stress)
		}
	}
	for _, c := range s.Controls {
		if !check.KnownControl(c.Name) {
			return fmt.Errorf("unknown control %q; it is fault:NAME, or one of %s", c.Name, strings.Join(check.ControlNames(), ", "))
		}
	}
	return nil
}

// step is the one that is set.
func (s step) step() Step {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsNil() {
			return f.Elem().Interface().(Step)
		}
	}
	return nil
}

// stepOf is a Step in its place; false if the language has no such step.
func stepOf(one Step) (step, bool) {
	var s step
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Type().Elem() == reflect.TypeOf(one) {
			at := reflect.New(f.Type().Elem())
			at.Elem().Set(reflect.ValueOf(one))
			f.Set(at)
			return s, true
		}
	}
	return s, false
}

// MarshalYAML writes a step that says nothing as its name alone.
func (s step) MarshalYAML() (any, error) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if f.Elem().IsZero() {
				return name, nil
			}
			return map[string]any{name: f.Interface()}, nil
		}
	}
	return nil, errors.New("a step of no kind")
}

// Encode writes a scenario as Decode reads it: a start for one's own.
func Encode(s Scenario) ([]byte, error) {
	out := script{Name: s.Name, Title: s.Title, Why: s.Why, AtLeastOnce: s.AtLeastOnce, Chance: s.Chance, Workers: s.Setting.Workers,
		Provider: s.Setting.Provider, Calls: s.Setting.Script, HonoursKeys: s.Setting.HonoursKeys, StorePolicy: string(s.Setting.StoreDown),
		MaxResult: s.Setting.MaxResult, Lease: s.Setting.Lease, WaitLimit: s.Setting.WaitLimit, Alone: s.Setting.Alone, Takes: s.Setting.Takes,
		Controls: map[string]int{}}
	for _, one := range s.Steps {
		written, ok := stepOf(one)
		if !ok {
			return nil, fmt.Errorf("%s: the step %q has no form in YAML", s.Name, one)
		}
		out.Steps = append(out.Steps, written)
	}
	for _, e := range s.Exposes {
		if e.Surely {
			out.Exposes = append(out.Exposes, e.Invariant)
		} else {
			out.Possibly = append(out.Possibly, e.Invariant)
		}
	}
	for _, stress := range s.Stresses {
		out.Stresses = append(out.Stresses, string(stress))
	}
	for _, c := range s.Controls {
		out.Controls[c.Name] = c.Min
	}
	return yaml.Marshal(out)
}
