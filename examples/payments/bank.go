package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// What is known of a charge that was not answered with success. Any other error
// says that the bank failed, and no more.
var (
	// errDeclined: the bank's own word that nothing was charged.
	errDeclined = errors.New("declined")
	// errUnknown: it may have been charged.
	errUnknown = errors.New("the bank did not say whether it has charged")
)

// bank is the provider, over its plain JSON API.
type bank struct {
	charges string // URL
	client  *http.Client
}

func newBank(base string) *bank {
	return &bank{charges: base + "/charges", client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// charged is the bank's success.
type charged struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// charge sends one call, once, with the provider's key if there is one. It takes as
// long as ctx allows.
func (b *bank) charge(ctx context.Context, o order, key string) (charged, error) {
	req, err := b.request(ctx, o, key)
	if err != nil {
		return charged{}, err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return charged{}, fmt.Errorf("%w: %w", errUnknown, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return charged{}, fmt.Errorf("%w: %w", errUnknown, err)
	}
	if err := verdict(resp.StatusCode); err != nil {
		return charged{}, err
	}
	c := charged{Amount: o.Amount}
	if err := json.Unmarshal(body, &c); err != nil || c.ID == "" {
		return charged{}, fmt.Errorf("%w: status %d, and the answer names no charge", errUnknown, resp.StatusCode)
	}
	return c, nil
}

func (b *bank) request(ctx context.Context, o order, key string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{
		"amount": o.Amount, "currency": o.Currency, "metadata": map[string]string{"ref": o.Ref},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.charges, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	// net/http takes a request with that header for one that it may send again by
	// itself when a connection breaks. Whether to is the coordinator's to decide; a
	// body that cannot be had again keeps it from that.
	req.GetBody = nil
	return req, nil
}

// verdict is what a status of the bank's says. Its 504 is a plain failure: it is
// this bank's word for having timed out before it began. Of a bank behind a gateway
// it would say nothing, and be errUnknown.
func verdict(status int) error {
	switch status {
	case http.StatusOK, http.StatusCreated:
		return nil
	case http.StatusConflict, http.StatusRequestTimeout, http.StatusBadGateway:
		return fmt.Errorf("%w: status %d", errUnknown, status)
	case http.StatusTooEarly, http.StatusTooManyRequests:
		return fmt.Errorf("the bank is busy: status %d", status)
	}
	switch {
	case status < 400:
		return fmt.Errorf("%w: status %d", errUnknown, status)
	case status < 500:
		return fmt.Errorf("%w: status %d", errDeclined, status)
	}
	return fmt.Errorf("the bank failed: status %d", status)
}
