package backend

import (
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Hide takes the URL's password out of words that came from elsewhere: a server
// may repeat what it was sent.
func (b *Backend) Hide(words string) string { return b.login.hide(words) }

// hide also knows the password as a URL spells it.
func (l login) hide(words string) string {
	for _, secret := range []string{l.password, url.QueryEscape(l.password), url.PathEscape(l.password)} {
		if secret != "" {
			words = strings.ReplaceAll(words, secret, "***")
		}
	}
	return words
}

// hidden is err without the password in its text. It is still the error that it
// was to errors.Is and errors.As.
func (l login) hidden(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); l.hide(text) != text {
		return said{l.hide(text), err}
	}
	return err
}

// hider hides the password in every error that a client gives.
type hider struct{ login login }

var _ redis.Hook = hider{}

// DialHook is part of redis.Hook.
func (h hider) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		return conn, h.login.hidden(err)
	}
}

// ProcessHook is part of redis.Hook.
func (h hider) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.login.hidden(next(ctx, cmd))
		cmd.SetErr(err)
		return err
	}
}

// ProcessPipelineHook is part of redis.Hook.
func (h hider) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := h.login.hidden(next(ctx, cmds))
		for _, cmd := range cmds {
			cmd.SetErr(h.login.hidden(cmd.Err()))
		}
		return err
	}
}
