// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t *testing.T, ctx context.Context, h http.HandlerFunc) (*http.Response, error) { //nolint:revive // a test
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:8643/a%2Fb?x=1", strings.NewReader("in"))
	if err != nil {
		t.Fatal(err)
	}
	return (&Transport{Handler: h}).RoundTrip(r)
}

func TestHandlerSeesTheRequestAndItsResponseArrives(t *testing.T) {
	response, err := call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.RequestURI+" "+string(text))
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, "out")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusTeapot || string(text) != "out" || err != nil || response.Header.Get("X-Late") != "" ||
		response.Header.Get("X-Seen") != "POST 127.0.0.1:8643 /a%2Fb?x=1 in" {
		t.Errorf("%d %q %v %v", response.StatusCode, text, err, response.Header)
	}
}

func TestEventsArriveBeforeTheHandlerReturns(t *testing.T) {
	proceed := make(chan struct{})
	response, err := call(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		for range 2 {
			<-proceed
			_, _ = io.WriteString(w, "x")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for range 2 {
		proceed <- struct{}{}
		if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := response.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func TestClosingTheBodyEndsTheHandler(t *testing.T) {
	ended := make(chan error, 1)
	response, err := call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, err := io.WriteString(w, "x")
		ended <- err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write() = %v", err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	response, err := call(t, ctx, func(_ http.ResponseWriter, r *http.Request) {
		defer close(ended)
		cancel()
		<-r.Context().Done()
	})
	if err == nil {
		// The handler may return before the caller has left. The response is then empty.
		_ = response.Body.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("RoundTrip() = %v", err)
	}
	<-ended
}

func TestPanicEndsTheBodyWithAnError(t *testing.T) {
	for name, value := range map[string]any{"abort": http.ErrAbortHandler, "bug": "a bug"} {
		t.Run(name, func(t *testing.T) {
			response, err := call(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "half")
				panic(value)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if text, err := io.ReadAll(response.Body); string(text) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
