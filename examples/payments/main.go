// Command payments is a tiny payment service: POST /charges charges a card through
// a provider, once for each Idempotency-Key, by whichever coordinator of the
// catalogue its flag names. So it is a sound service and a broken one, as needed;
// README.md says how to race it.
//
// It refuses to hide what it does not know. A provider that breaks off is answered
// with 504 and an unknown outcome, and not with a guess.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/idemrace/idemrace/impl/fenced"
	"github.com/idemrace/idemrace/store/redisstore"
)

func main() {
	redisstore.Quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// The server's times, each with its reason.
const (
	// headerTime and readTime: a client that sends slowly must not hold a connection.
	headerTime = 5 * time.Second
	readTime   = 15 * time.Second
	// writeTime counts from the header on, so it has to outlast the longest action.
	writeTime = fenced.DefaultMaxRun + time.Minute
	idleTime  = 2 * time.Minute
	// stopTime: what is charging when the service is told to end gets this long.
	stopTime = 10 * time.Second
)

// run is the service from its start to the end of ctx.
func run(ctx context.Context, args []string, env func(string) string, stderr io.Writer) int {
	set, err := settings(args, env, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "payments:", err)
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(stderr, nil)).With("worker", set.worker)
	if err := serve(ctx, set, log); err != nil {
		fmt.Fprintln(stderr, "payments:", err)
		return exitFailed
	}
	return exitOK
}

func serve(ctx context.Context, set setting, log *slog.Logger) error {
	coordinator, closeAll, err := coordinate(set, log)
	if err != nil {
		return err
	}
	defer closeAll()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", set.address)
	if err != nil {
		return err
	}
	bank := newBank(set.provider)
	defer bank.client.CloseIdleConnections()
	server := &http.Server{
		Handler:           (&service{worker: set.worker, bank: bank, log: log}).handler(set.entry, coordinator),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "impl", set.entry.Name)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return shutDown(server, failed)
}

// shutDown lets what is under way end, and then cuts it off: the coordinator's
// lease takes care of it.
func shutDown(server *http.Server, failed <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		_ = server.Close()
	}
	<-failed // ErrServerClosed, since it was told to
	return err
}
