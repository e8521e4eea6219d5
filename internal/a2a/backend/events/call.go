// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// How long to wait before trying again, when nobody says.
const (
	redialFirst = 50 * time.Millisecond
	redialMost  = time.Second
	retryFirst  = time.Second
	retryMost   = 16 * time.Second
)

// call posts a turn and returns an answer of 2xx. What was sent is not sent
// again: tried again are connections that were not made, and turns that the
// agent turned away for now.
func (b *Backend) call(ctx context.Context, t *backend.Turn) (*http.Response, error) {
	body := appendRequest(nil, t)
	begin := b.options.Now()
	redial, retry := redialFirst, retryFirst
	for {
		resp, err := b.transport.RoundTrip(b.request(ctx, t, body))
		since := b.options.Now().Sub(begin)
		var pause time.Duration
		switch {
		case err != nil && !notConnected(err):
			return nil, backend.Failed("The connection to the agent broke", err)
		case err != nil:
			if since+redial > b.options.Connect {
				return nil, backend.Failed("The agent could not be reached", err)
			}
			pause, redial = redial, min(2*redial, redialMost)
		case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
			pause, retry = retryAfter(resp, retry, b.options.Now()), min(2*retry, retryMost)
			release(resp)
			if since+pause > b.options.FirstEvent {
				return nil, refusal(resp.StatusCode)
			}
		case resp.StatusCode < 200 || resp.StatusCode > 299:
			release(resp)
			return nil, refusal(resp.StatusCode)
		default:
			return resp, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// notConnected reports that there was no connection to send anything on.
func notConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// retryAfter is what the agent asks for (RFC 9110 section 10.2.3).
func retryAfter(resp *http.Response, otherwise time.Duration, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), 0)
	}
	return otherwise
}

// refusal is what a status means for the task. The body stays here: who wrote
// it did not write it for the client.
func refusal(status int) *backend.TurnError {
	code := strconv.Itoa(status)
	if text := http.StatusText(status); text != "" {
		code += " " + text
	}
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return backend.Rejected("The agent rejected the message: " + code)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return backend.Failed("The agent is too busy: "+code, nil)
	default:
		return backend.Failed("The agent answered "+code, nil)
	}
}

// release gives a connection back, when little is left on it.
func release(resp *http.Response) {
	discard(resp.Body)
	_ = resp.Body.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to try again: %w", context.Cause(ctx))
	}
}
