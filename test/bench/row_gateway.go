// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

const (
	throughGateway = "sidecars, gateway"
	forAUser       = "sidecars, gateway, for a user"
)

// gatewayCalls measures S1g: the message of S1 through the gateway of another sidecar, for the calling agent itself and for the user of a turn.
func gatewayCalls(ctx context.Context, b *bench) ([]report.Result, error) {
	called := func(name string) load.Contender {
		return load.Contender{Name: name, Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, oursCalled, func(r *running) error {
				s, err = b.throughGateway(ctx, r, name == forAUser)
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, called(throughGateway), called(forAUser))
	if err != nil {
		return nil, err
	}
	r := report.Result{What: "the message of S1 through the gateway, for a user; both sidecars", Unit: "us CPU", Peer: "for the agent itself"}
	return []report.Result{report.Compare(r, s.Of(forAUser, 0), s.Of(throughGateway, 0), report.RatioAtMost(1.05))}, nil
}

// throughGateway measures the CPU time of a called sidecar and of a calling one.
func (b *bench) throughGateway(ctx context.Context, called *running, forUser bool) (load.Sample, error) {
	registry := httptest.NewServer(http.HandlerFunc(b.servers.serveRegistry))
	defer registry.Close()
	gateway, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	config, err := b.servers.callingConfig(called, registry.URL)
	if err != nil {
		return nil, err
	}
	caller, err := process.Start(ctx, filepath.Join(b.servers.dir, "sidecar"), "--config", config, "--health-listen", "127.0.0.1:0", "--gateway-listen", gateway, "--log-level", "WARN")
	if err != nil {
		return nil, err
	}
	defer caller.Stop()
	calls := newClient("http://"+gateway+"/agents/team/bench/", "")
	defer calls.close()
	if forUser {
		token, err := b.servers.token()
		if err != nil {
			return nil, err
		}
		task, end, err := beginTurn(ctx, newClient("http://"+caller.Address+"/", token))
		if err != nil {
			return nil, err
		}
		defer end()
		calls.task = task
	}
	op := func(ctx context.Context) (int, error) { return 1, calls.send(ctx, message, []byte(said)) }
	if _, err := load.Closed(ctx, load.Connections, b.window/4, op); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	var units int
	var ofCaller time.Duration
	ofCalled, err := costs(called.server, func() (err error) {
		ofCaller, err = costs(caller, func() (err error) {
			units, err = load.Closed(ctx, load.Connections, b.window, op)
			return err
		})
		return err
	})
	return load.Sample{load.Micros(ofCalled+ofCaller) / float64(max(units, 1))}, err
}

// beginTurn begins a turn that runs until end, and returns the id of its task.
func beginTurn(ctx context.Context, user *client) (task string, end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	begun := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := user.stream(ctx, user.request("SendStreamingMessage", script.Script{Gated: true}), func(event []byte) {
			if bytes.Contains(event, []byte("waiting")) {
				select {
				case begun <- taskOf(event):
				default:
				}
			}
		})
		ended <- err
	}()
	end = func() {
		cancel()
		_ = <-ended //nolint:staticcheck // errcheck wants it
		user.close()
	}
	select {
	case task = <-begun:
		return task, end, nil
	case err := <-ended:
		cancel()
		return "", nil, fmt.Errorf("begin a turn: %w", errors.Join(err, ctx.Err()))
	}
}

// callingConfig writes the configuration of the calling sidecar, and returns its file.
func (s *servers) callingConfig(called *running, registry string) (string, error) {
	token := filepath.Join(s.dir, "token")
	if err := os.WriteFile(token, []byte("of-the-caller"), 0o600); err != nil {
		return "", err
	}
	text, err := s.sidecarConfig(called.agent, oursTokens)
	if err != nil {
		return "", err
	}
	config, err := sidecarconfig.Decode(text)
	if err != nil {
		return "", err
	}
	config.Gateway = &sidecarconfig.Gateway{RegistryURL: registry, AgentURL: "http://" + called.server.Address, TokenFile: token}
	if text, err = sidecarconfig.Encode(config); err != nil {
		return "", err
	}
	return s.writeConfig(text)
}

// serveRegistry answers the lookup of the called agent, and the exchange of a token.
func (s *servers) serveRegistry(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != sidecarconfig.TokenPath {
		_, _ = fmt.Fprint(w, `{"namespace":"team","name":"bench","url":"http://bench.team.svc/"}`)
		return
	}
	const caller, user = "system:serviceaccount:team:caller", "system:serviceaccount:team:load"
	claims := map[string]any{
		"iss": sidecarconfig.TokenIssuer, "aud": audience, "sub": caller, "exp": time.Now().Add(10 * time.Minute).Unix(),
		"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "caller", "uid": "1"}},
	}
	if r.PostFormValue("actor_token") != "" {
		claims["sub"] = user
		claims["act"] = auth.ActorsClaim([]string{caller})
		claims[auth.SubjectClaimName] = auth.SubjectClaim{Owner: a2a.Owner(user)}
	}
	token, err := s.sign(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 600})
}
