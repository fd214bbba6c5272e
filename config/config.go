// Package config is idemrace.yaml: what a person writes down about a service so
// that it can be raced.
//
// It refuses what it does not know: a misspelt field is an error, with its line
// and the name that was meant. Of secrets it takes ${env:NAME} and remembers which
// words they became, so that no output holds one.
package config

import (
	"time"

	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

// Config is one file.
type Config struct {
	Targets   []Service `yaml:"targets"`
	Scenarios []string  `yaml:"scenarios,omitempty"` // files with scenarios of the user's own, beside this one
	Run       []string  `yaml:"run,omitempty"`       // names of scenarios; empty: all
	Accept    []Accept  `yaml:"accept,omitempty"`

	Dir     string   `yaml:"-"` // where the file lies; relative paths are relative to it
	Secrets []string `yaml:"-"` // what ${env:NAME} became
}

// Service is one target: an HTTP service with its workers.
type Service struct {
	Name     string                       `yaml:"name"`
	Request  httptarget.Request           `yaml:"request,omitempty"`
	Answer   httptarget.Answer            `yaml:"answer,omitempty"`
	Profile  httptarget.Profile           `yaml:"profile,omitempty"` // a name, or its fields
	Workers  worker.Spec                  `yaml:"workers,omitempty"`
	Provider Provider                     `yaml:"provider,omitempty"`
	Effects  effects.Spec                 `yaml:"effects,omitempty"`
	Store    Store                        `yaml:"store,omitempty"` // "redis", "none", or its fields
	TLS      httptarget.TLS               `yaml:"tls,omitempty"`
	Tenants  map[string]httptarget.Tenant `yaml:"tenants,omitempty"`
	Setup    []hook.Step                  `yaml:"setup,omitempty"`
	Teardown []hook.Step                  `yaml:"teardown,omitempty"`
}

// Provider is the fake provider that the service charges through.
type Provider struct {
	// Listen is an address for services that cannot be told one; default: a free
	// port of 127.0.0.1. Advertise is how workers reach it, where that is another.
	Listen    string `yaml:"listen,omitempty"`
	Advertise string `yaml:"advertise,omitempty"`
	// HonoursKeys: it has an idempotency of its own, as Stripe has. Scenarios that are
	// about that say so themselves.
	HonoursKeys bool `yaml:"honours-keys,omitempty"`
}

// Store is what the service keeps its keys in.
type Store struct {
	// Kind is redis (default: idemrace hands it one, behind a fault proxy) or none:
	// idemrace cannot disturb what it uses.
	Kind      string `yaml:"kind,omitempty"`
	Listen    string `yaml:"listen,omitempty"` // of the proxy
	Advertise string `yaml:"advertise,omitempty"`
}

// Kinds of Store.
const (
	Redis = "redis"
	None  = "none"
)

// Accept is a known finding: it is shown, and does not fail a run until its day.
// One that has expired, or is not found any more, does.
type Accept struct {
	Invariant string    `yaml:"invariant"`
	Scenario  string    `yaml:"scenario"`
	Target    string    `yaml:"target,omitempty"` // "": every one
	Reason    string    `yaml:"reason"`
	Until     time.Time `yaml:"until"` // a day: 2027-01-31
}
