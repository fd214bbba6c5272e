package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
	"github.com/idemrace/idemrace/faultproxy"
	"github.com/idemrace/idemrace/store/backend"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

// ErrTarget is wrapped when a service cannot be raced: it does not start, it
// does not answer, or its charges are not found.
var ErrTarget = errors.New("the target cannot be raced")

// ServiceConfig is what a service is opened with.
type ServiceConfig struct {
	Service config.Service
	Dir     string   // the configuration's folder
	Environ []string // of the processes and commands that are started
	Hide    func(string) string
	Backend *backend.Backend
}

// Service is an HTTP service that runs and has been found fit to be raced, with
// all that stands around it: workers, provider, and the proxy before its store.
type Service struct {
	cfg     ServiceConfig
	run     string // the run's id, in all that is sent
	profile httptarget.Profile
	desk    *desk
	source  *effects.Source // nil: effects are the provider's charges
	amounts *httptarget.Amounts
	server  *http.Server
	money   string // the provider's URL, for workers
	proxy   *faultproxy.Proxy
	crew    *worker.Crew
	target  *httptarget.Target
	hooks   hook.Runner
	vars    map[string]string // captured per run

	cells      atomic.Int64
	serialises bool         // a second key had to wait for the first
	usesStore  bool         // something came through the proxy
	marks      string       // by what an answer that comes again differs from the first, in words
	one        sync.RWMutex // held alone by a cell that disturbs store or workers
}

// Name is the target's.
func (s *Service) Name() string { return s.cfg.Service.Name }

// OpenService starts what the service needs and the service itself, and sends it
// one request, which must make one charge. What it started is ended by Close, or
// has been when it returns an error.
func OpenService(ctx context.Context, cfg ServiceConfig) (s *Service, err error) {
	s = &Service{cfg: cfg, run: runID(), vars: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w: %s: %s", ErrTarget, s.Name(), cfg.Hide(err.Error())), s.Close())
			s = nil
		}
	}()
	steps := []func(context.Context) error{s.read, s.openProvider, s.openStore, s.openWorkers, s.openTarget, s.setUp, s.preflight}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return s, err
		}
	}
	return s, nil
}

// read makes what needs no surroundings.
func (s *Service) read(context.Context) (err error) {
	svc := s.cfg.Service
	if s.profile, err = httptarget.Resolve(svc.Profile); err != nil {
		return err
	}
	attribute, err := effects.Attribute(svc.Effects.Ref)
	if err != nil {
		return err
	}
	if attribute.ByAmount() {
		s.amounts = &httptarget.Amounts{}
	}
	s.desk = &desk{attribute: attribute}
	s.source, err = effects.NewSource(effects.Config{Spec: svc.Effects, Dir: s.cfg.Dir, Env: s.cfg.Environ})
	return err
}

// openProvider serves the fake provider on a port of this machine.
func (s *Service) openProvider(ctx context.Context) error {
	p := s.cfg.Service.Provider
	ln, err := listen(ctx, p.Listen)
	if err != nil {
		return fmt.Errorf("provider.listen: %w", err)
	}
	s.server = &http.Server{Handler: providerhttp.Handler(s.desk), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(ln) }() // ends with Close
	s.money = "http://" + advertised(p.Advertise, ln.Addr().String())
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}

func advertised(as, real string) string {
	if as == "" {
		return real
	}
	if _, _, err := net.SplitHostPort(as); err != nil {
		if _, port, err := net.SplitHostPort(real); err == nil {
			return net.JoinHostPort(as, port)
		}
	}
	return as
}

// openStore puts a proxy before the store that the service is handed.
func (s *Service) openStore(context.Context) (err error) {
	if s.cfg.Service.Store.Kind == config.None || !s.cfg.Backend.Proxyable() {
		return nil
	}
	var opts []faultproxy.Option
	if at := s.cfg.Service.Store.Listen; at != "" {
		opts = append(opts, faultproxy.At(at))
	}
	s.proxy, err = faultproxy.Listen(s.cfg.Backend.DialAddr(), opts...)
	if err != nil {
		return fmt.Errorf("store.listen: %w", err)
	}
	return nil
}

// redisURL is the store as a worker is told; "" if there is none to tell.
func (s *Service) redisURL() string {
	if s.proxy == nil {
		return s.cfg.Backend.ClientURL("")
	}
	return s.cfg.Backend.ClientURL(advertised(s.cfg.Service.Store.Advertise, s.proxy.Addr()))
}

func (s *Service) openWorkers(ctx context.Context) (err error) {
	s.crew, err = worker.Start(ctx, worker.Config{Spec: s.cfg.Service.Workers, Dir: s.cfg.Dir, Environ: s.cfg.Environ,
		Env: func(string) []string {
			env := []string{"PROVIDER_URL=" + s.money}
			if u := s.redisURL(); u != "" && s.cfg.Service.Store.Kind != config.None {
				env = append(env, "REDIS_URL="+u)
			}
			return env
		}})
	return err
}

// Mark is the header of every request, so that a service's own log tells what
// came from idemrace.
const Mark = "X-Idemrace-Run"

func (s *Service) openTarget(context.Context) (err error) {
	svc, mark := s.cfg.Service, http.Header{Mark: {s.run}}
	s.target, err = httptarget.New(httptarget.Config{Request: svc.Request, Answer: svc.Answer, Profile: s.profile, TLS: svc.TLS,
		Tenants: svc.Tenants, Header: mark, Base: s.crew.URL, Run: s.run, Vars: s.vars})
	s.hooks = hook.Runner{Dir: s.cfg.Dir, Env: s.cfg.Environ, Client: &http.Client{}, Header: mark}
	return err
}

// setUp runs the setup steps of the run.
func (s *Service) setUp(ctx context.Context) error {
	vars, err := s.hooks.Run(ctx, s.cfg.Service.Setup, hook.PerRun, s.hookData(""))
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	for k, v := range vars {
		s.vars[k] = v
	}
	return nil
}

func (s *Service) hookData(ref string) hook.Data {
	base, _ := s.crew.URL("w1") // the first is always there
	return hook.Data{Run: s.run, Ref: ref, Base: base, Vars: s.vars}
}

// closeService is how long teardown and the workers' end may take.
const closeService = 20 * time.Second

// Close tears down, and ends what OpenService has started, workers first.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeService)
	defer cancel()
	var errs []error
	if s.crew != nil {
		if _, err := s.hooks.Run(ctx, s.cfg.Service.Teardown, hook.PerRun, s.hookData("")); err != nil {
			errs = append(errs, fmt.Errorf("%s: teardown: %w", s.Name(), err))
		}
		errs = append(errs, s.crew.Close())
	}
	if s.target != nil {
		s.target.Close()
	}
	if s.server != nil {
		_ = s.server.Close()
	}
	if s.proxy != nil {
		_ = s.proxy.Close()
	}
	return errors.Join(errs...)
}
