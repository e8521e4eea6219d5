// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const testIssuer = "https://issuer.example"

// discoveryEndpoint is a fake discovery endpoint of an issuer. It responds by calling respond, and counts its
// requests.
type discoveryEndpoint struct {
	requests atomic.Int64
	respond  func(r *http.Request) (*http.Response, error)
}

func (d *discoveryEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	d.requests.Add(1)
	return d.respond(r)
}

// hang waits until the request ends, and sends no response.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refuse(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// publish returns a function that responds with the given authorization endpoint.
func publish(authorization string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		body := `{"issuer":"` + testIssuer + `","authorization_endpoint":"` + authorization + `","token_endpoint":"https://issuer.example/token"}`
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func newTestProvider(t *testing.T, d *discoveryEndpoint) *provider {
	t.Helper()
	return newProvider(&Options{
		OIDC: access.OIDCOptions{Issuer: testIssuer, Transport: d}, SecretDir: t.TempDir(), Clock: clock.RealClock{}, Log: logr.Discard(),
	}, "https://agents.example/callback")
}

func TestSignInsAtAnIssuerThatHangsWaitForOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endpoint := &discoveryEndpoint{respond: hang}
		p := newTestProvider(t, endpoint)
		started := time.Now()
		var people sync.WaitGroup
		for range 5 {
			people.Go(func() {
				if _, err := p.oauth(t.Context()); err == nil {
					t.Error("the endpoints of an issuer that hangs are known")
				}
			})
		}
		left, leave := context.WithCancel(t.Context())
		people.Go(func() {
			if _, err := p.oauth(left); !errors.Is(err, context.Canceled) || time.Since(started) != time.Second {
				t.Errorf("a person who leaves waits %s for %v", time.Since(started), err)
			}
		})
		time.Sleep(time.Second)
		leave()
		people.Wait()
		if waited := time.Since(started); waited != issuerTimeout || endpoint.requests.Load() != 1 {
			t.Errorf("five people wait %s for %d requests", waited, endpoint.requests.Load())
		}
	})
}

func TestAFailedDiscoveryIsRepeatedAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endpoint := &discoveryEndpoint{respond: refuse}
		p := newTestProvider(t, endpoint)
		for range 3 {
			if _, err := p.oauth(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("the error is %v", err)
			}
		}
		if got := endpoint.requests.Load(); got != 1 {
			t.Errorf("three sign-ins at once made %d requests", got)
		}
		endpoint.respond = publish("https://issuer.example/authorize")
		time.Sleep(discoveryPause)
		if config, err := p.oauth(t.Context()); err != nil || config.Endpoint.AuthURL != "https://issuer.example/authorize" {
			t.Errorf("after the pause, the configuration is %+v, %v", config, err)
		}
	})
}

func TestSignInsUseTheKnownEndpointsWhileTheyAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endpoint := &discoveryEndpoint{respond: publish("https://issuer.example/old")}
		p := newTestProvider(t, endpoint)
		expect := func(want string) {
			t.Helper()
			started := time.Now()
			config, err := p.oauth(t.Context())
			if err != nil || config.Endpoint.AuthURL != want || time.Since(started) != 0 {
				t.Errorf("after %s, the configuration is %+v, %v, want %s", time.Since(started), config, err, want)
			}
		}
		expect("https://issuer.example/old")
		time.Sleep(discoveryLifetime)
		endpoint.respond = hang
		expect("https://issuer.example/old")
		time.Sleep(issuerTimeout)
		synctest.Wait()
		expect("https://issuer.example/old")
		if got := endpoint.requests.Load(); got != 2 {
			t.Errorf("there were %d requests before the pause ended", got)
		}
		endpoint.respond = publish("https://issuer.example/new")
		time.Sleep(discoveryPause)
		expect("https://issuer.example/old")
		synctest.Wait()
		expect("https://issuer.example/new")
	})
}
