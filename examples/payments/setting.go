package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/impl/reservation"
)

// setting is what the flags and the environment say.
type setting struct {
	entry       impl.Entry
	config      reservation.Config
	honoursKeys bool

	address  string // to listen on
	worker   string // this process, in answers and in the log
	provider string // its base URL
	redis    string // URL; "": memory of this process
}

// settings reads flags and environment. A service that would charge nobody is not
// started.
func settings(args []string, env func(string) string, stderr io.Writer) (setting, error) {
	var s setting
	flags := flag.NewFlagSet("payments", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("impl", "wait", "the coordinator, by its name in idemrace list impls")
	host := flags.String("host", "127.0.0.1", "the address to listen on; the port is $PORT")
	policy := flags.String("store-policy", "", "when the store is down: open (serve) or closed (refuse); default: the coordinator's own")
	flags.DurationVar(&s.config.Lease, "lease", 0, "how long a claim is exclusive; default: 30s")
	flags.DurationVar(&s.config.Retention, "retention", 0, "how long an answer is kept; default: 24h")
	flags.DurationVar(&s.config.WaitLimit, "wait-limit", 0, "how long a duplicate waits for the first; default: 10s")
	flags.BoolVar(&s.honoursKeys, "honours-keys", false, "the provider answers a second call with one key by the outcome of the first")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	var known bool
	if s.entry, known = impl.Lookup(*name); !known {
		return s, fmt.Errorf("no coordinator is called %q; idemrace list impls names them", *name)
	}
	s.config.StoreDown = cmp.Or(reservation.Policy(*policy), s.entry.Policy)
	if _, err := s.config.WithDefaults(); err != nil {
		return s, err
	}
	s.address = net.JoinHostPort(*host, cmp.Or(env("PORT"), "8080"))
	s.worker = cmp.Or(env("WORKER"), "w1")
	s.provider, s.redis = env("PROVIDER_URL"), env("REDIS_URL")
	if u, err := url.Parse(s.provider); err != nil || u.Host == "" {
		return s, errors.New("PROVIDER_URL must be the provider's address, such as http://127.0.0.1:4242")
	}
	return s, nil
}
