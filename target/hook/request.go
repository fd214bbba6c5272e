package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"
)

func (r Runner) request(ctx context.Context, s Step, d Data) (got, error) {
	req, err := r.build(ctx, *s.HTTP, d)
	if err != nil {
		return got{}, err
	}
	what := req.Method + " " + req.URL.Redacted()
	resp, err := r.client().Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // it names the address once more
	}
	if err != nil {
		return got{}, fmt.Errorf("%s: %w", what, because(ctx, err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, textMax+1))
	if err != nil {
		return got{}, fmt.Errorf("%s answered %d, and then: %w", what, resp.StatusCode, because(ctx, err))
	}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		return got{}, fmt.Errorf("%s answered %d: it redirects to %s, and no redirect is followed", what, resp.StatusCode, to)
	}
	if resp.StatusCode/100 != 2 {
		return got{}, fmt.Errorf("%s answered %d: %s", what, resp.StatusCode, firstWords(string(text)))
	}
	return got{status: resp.StatusCode, header: resp.Header, text: string(text), cut: len(text) > textMax}, nil
}

// client asks as it is told.
func (r Runner) client() *http.Client {
	client := http.Client{}
	if r.Client != nil {
		client = *r.Client
	}
	if client.Transport == nil {
		client.Transport = &http.Transport{DisableKeepAlives: true}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

func (r Runner) build(ctx context.Context, h HTTP, d Data) (*http.Request, error) {
	address, err := fill(h.URL, d)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if address, err = absolute(address, d.Base); err != nil {
		return nil, err
	}
	body, err := fill(h.Body, d)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(h.Method, method), address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.Header.Clone())
	if gjson.Valid(body) {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, headers(req, h.Headers, d)
}

// absolute is the address that a step's URL means.
func absolute(address, base string) (string, error) {
	if strings.HasPrefix(address, "/") {
		return strings.TrimSuffix(base, "/") + address, nil
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("url: %q is neither a path (/carts) nor a URL (http://…)", shown(address))
	}
	return address, nil
}

func headers(req *http.Request, texts map[string]string, d Data) error {
	for name, text := range texts {
		value, err := fill(text, d)
		if err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	return nil
}
