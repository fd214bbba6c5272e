package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
	"github.com/idemrace/idemrace/target/effects"
)

// providerFlags are the flags of provider.
type providerFlags struct {
	listen, ref, fail string
	before, after     time.Duration
	hold              int
	honoursKeys       bool
	remote            bool
}

func (a *app) providerVerb() *cobra.Command {
	var f providerFlags
	cmd := &cobra.Command{
		Use:   "provider",
		Short: "Be a fake payment provider that misbehaves on demand",
		Long: "provider is the fake payment provider by itself, as an HTTP server: a plain JSON API\n" +
			"(POST /charges, GET /ledger) and Stripe's (POST /v1/charges, /v1/payment_intents,\n" +
			"/v1/refunds), so that a service which uses Stripe's libraries only changes its API\n" +
			"base. Its first line on stdout is its address. It is told what to do by flags, and\n" +
			"while it runs below /control: script, default, hold, release, state.",
		Example: "  idemrace provider --listen 127.0.0.1:12111\n" +
			"  idemrace provider --before 300ms --honours-keys\n" +
			"  curl -d '[{\"fail\": \"decline\"}]' http://127.0.0.1:12111/control/script\n" +
			"  curl http://127.0.0.1:12111/ledger",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.provider(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 takes a free one")
	fs.StringVar(&f.ref, "ref", "metadata:ref", "`where` a call holds its ref: field:PATH, header:NAME, metadata:NAME, description")
	fs.DurationVar(&f.before, "before", 0, "every call takes so long before it charges")
	fs.DurationVar(&f.after, "after", 0, "and so long after it")
	fs.StringVar(&f.fail, "fail", "", "how every call `fails`: "+strings.Join(providerhttp.Failures(), ", "))
	fs.IntVar(&f.hold, "hold", 0, "hold the first so many calls until they are released")
	fs.BoolVar(&f.honoursKeys, "honours-keys", false, "answer a second call with one Idempotency-Key by the first one's charge")
	fs.BoolVar(&f.remote, "allow-remote", false, "listen on an address that other machines reach")
	complete(cmd, "fail", providerhttp.Failures)
	return cmd
}

func (a *app) provider(ctx context.Context, f providerFlags) error {
	attribute, err := effects.Attribute(f.ref)
	if err == nil && attribute.ByAmount() {
		err = errors.New("--ref amount is for runs, which know their amounts; alone the provider needs a place, e.g. metadata:ref")
	}
	fail, failing := providerhttp.Failure(f.fail)
	switch host, _, split := net.SplitHostPort(f.listen); {
	case err != nil:
		return usage("%v", err)
	case failing != nil:
		return usage("--fail: %v", failing)
	case f.hold < 0 || f.before < 0 || f.after < 0:
		return usage("--hold, --before and --after are not negative")
	case split != nil:
		return usage("--listen %s: write HOST:PORT, e.g. 127.0.0.1:12111", f.listen)
	case !f.remote && !isLoopback(host):
		return usage("--listen %s can be reached from other machines; --allow-remote allows that", f.listen)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("%w; another --listen, or port 0 for a free one", err)
	}
	p := fakeprovider.New(fakeprovider.Options{HonoursKeys: f.honoursKeys, Default: fakeprovider.Behaviour{Before: f.before, After: f.after, Fail: fail}, Observe: a.calls()})
	defer p.Close()
	p.HoldNext(f.hold)
	if err := a.print([]byte("http://" + ln.Addr().String() + "\n")); err != nil {
		return errors.Join(err, ln.Close())
	}
	return serve(ctx, ln, alone(p, attribute))
}

// alone is the provider's whole API.
func alone(p *fakeprovider.Provider, attribute effects.Attribution) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/control/", providerhttp.Control(p))
	mux.Handle("/", providerhttp.Handler(providerhttp.NewSingle(p, attribute.Text)))
	return mux
}

// serve serves until ctx ends.
func serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// calls logs what the provider sees, if that is asked for.
func (a *app) calls() func(fakeprovider.Event) {
	if !a.flags.verbose {
		return nil
	}
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	return func(e fakeprovider.Event) {
		log.Info(string(e.Phase), "call", e.Number, "ref", e.Call.Ref, "amount", e.Call.Amount, "key", e.Call.Key, "charge", e.Charge.ID, "error", e.Err)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
