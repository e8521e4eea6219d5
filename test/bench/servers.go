// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

const (
	module   = "github.com/a2a-operator/a2a-operator"
	issuer   = "https://kubernetes.default.svc"
	audience = "bench.team.a2a-operator.dev"
)

// kind is a kind of server to measure.
type kind string

const (
	ours       kind = "sidecar"
	oursTokens kind = "sidecar, tokens"
	oursCalled kind = "sidecar, called by an agent"
	oursPush   kind = "sidecar, push"
	oursTraced kind = "sidecar, tokens, 10 % of traces"
	oursModel  kind = "sidecar, model"
	stepLoop   kind = "bare loop"
	oursAlways kind = "sidecar, Redis, appendfsync always"
	oursSecond kind = "sidecar, Redis, appendfsync everysec"
	proxy      kind = "ReverseProxy"
	sdk        kind = "a2a-go, agent behind"
	sdkAlone   kind = "a2a-go, no hop"
	fanout     kind = "raw fan-out"
	poster     kind = "http.Client loop"
	direct     kind = "no server between"
)

// sidecar reports whether the kind is a sidecar.
func (k kind) sidecar() bool {
	switch k {
	case ours, oursTokens, oursCalled, oursPush, oursModel, oursTraced, oursAlways, oursSecond:
		return true
	default:
		return false
	}
}

// tokens reports whether the kind requires a token.
func (k kind) tokens() bool { return k == oursTokens || k == oursTraced || k == oursCalled }

// servers starts servers and their agents.
type servers struct {
	// dir holds the programs.
	dir string
	// profiles is the directory for CPU profiles of the sidecar; "" for none.
	profiles string
	profiled map[string]int

	key *ecdsa.PrivateKey
}

// build builds all programs.
func build(ctx context.Context, dir string) (*servers, error) {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/",
		module+"/cmd/sidecar", module+"/test/bench/agent", module+"/test/bench/proxy",
		module+"/test/bench/sdk", module+"/test/bench/fanout", module+"/test/bench/poster", module+"/test/bench/steploop", module+"/test/bench/profiled")
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // like the images
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("build the servers: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &servers{dir: dir, profiled: map[string]int{}, key: key}, nil
}

// running is a server with an agent of its own.
type running struct {
	*client
	server *process.Process
	// redis is the store of the tasks, nil for tasks in the memory of the server.
	redis *process.Process
	// agent is the base URL of the server's agent.
	agent string
	// gates are the URLs that open the gates of scripts.
	gates []string
}

// with runs f with a new server in front of a new agent. row is part of the profile's name.
func (s *servers) with(ctx context.Context, row string, k kind, f func(*running) error) error {
	agent, err := process.Start(ctx, filepath.Join(s.dir, "agent"))
	if err != nil {
		return err
	}
	defer agent.Stop()
	url := "http://" + agent.Address + "/"
	r := &running{server: agent, agent: url, gates: []string{url + "open"}}
	var token string
	if k.tokens() {
		if token, err = s.token(); err != nil {
			return err
		}
	}
	if k == direct {
		url += "ready"
	} else {
		if r.redis, err = s.redis(ctx, k); err != nil {
			return err
		}
		if r.redis != nil {
			defer r.redis.Stop()
		}
		if r.server, err = s.start(ctx, row, k, url, r.redis); err != nil {
			return err
		}
		url = "http://" + r.server.Address + "/"
	}
	if k == sdkAlone || k == fanout {
		r.gates = []string{url + "open"}
	}
	r.client = newClient(url, token)
	err = f(r)
	r.close()
	if s.profiles != "" && k.sidecar() {
		r.server.End() // with SIGTERM, so that the server writes its profile
	} else {
		r.server.Stop()
	}
	if err != nil {
		return fmt.Errorf("%w; standard error of the server: %q", err, r.server.Stderr())
	}
	return nil
}

func (s *servers) start(ctx context.Context, row string, k kind, agent string, redis *process.Process) (*process.Process, error) {
	if k.sidecar() {
		return s.sidecar(ctx, row, agent, k, redis)
	}
	switch k {
	case poster:
		return process.Start(ctx, filepath.Join(s.dir, "poster"), "--sink", agent+"sink")
	case stepLoop:
		return process.Start(ctx, filepath.Join(s.dir, "steploop"), "--agent", agent)
	case proxy:
		return process.Start(ctx, filepath.Join(s.dir, "proxy"), "--agent", agent)
	case sdk:
		return process.Start(ctx, filepath.Join(s.dir, "sdk"), "--agent", agent)
	case sdkAlone:
		return process.Start(ctx, filepath.Join(s.dir, "sdk"))
	case fanout:
		return process.Start(ctx, filepath.Join(s.dir, "fanout"))
	default:
		return nil, fmt.Errorf("start %s: unknown server", k)
	}
}

func (s *servers) sidecar(ctx context.Context, row, agent string, k kind, redis *process.Process) (*process.Process, error) {
	arguments, err := s.arguments(agent, k)
	if err != nil {
		return nil, err
	}
	arguments = append(arguments, "--log-level", "WARN")
	if redis != nil {
		arguments = append(arguments, "--store", "redis://"+redis.Address)
	}
	if s.profiles == "" {
		return process.Start(ctx, filepath.Join(s.dir, "sidecar"), arguments...)
	}
	s.profiled[row]++
	profile := filepath.Join(s.profiles, fmt.Sprintf("%s-%d.pprof", row, s.profiled[row]))
	return process.Start(ctx, filepath.Join(s.dir, "profiled"), append(arguments, "--profile", profile)...)
}

func (s *servers) arguments(agent string, k kind) ([]string, error) {
	if k != oursPush {
		file, err := s.configFile(agent, k)
		return []string{"--config", file, "--health-listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0"}, err
	}
	file := filepath.Join(s.dir, "card.yaml")
	err := os.WriteFile(file, []byte(`{displayName: Bench, description: An agent of benchmarks, version: "1.0", skills: []}`), 0o600)
	return []string{
		"--backend-url", agent, "--backend-protocol", string(sidecarconfig.ProtocolEvents), "--card", file, "--anonymous",
		// In a benchmark, the receivers of push notifications are on this machine.
		"--allowed-push-target", "127.0.0.1/32",
		"--limit", "requests.perSecond=1000000", "--limit", "totalRequests.perSecond=1000000", "--limit", "turns.maxPerCaller=256",
	}, err
}

func (s *servers) configFile(agent string, k kind) (string, error) {
	config, err := s.sidecarConfig(agent, k)
	if err != nil {
		return "", err
	}
	return s.writeConfig(config)
}

// writeConfig writes a configuration, and returns its file.
func (s *servers) writeConfig(config []byte) (string, error) {
	// A sidecar watches the directory of its configuration file, so each sidecar has its own directory.
	dir, err := os.MkdirTemp(s.dir, "config")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, sidecarconfig.FileName)
	return file, os.WriteFile(file, config, 0o600)
}

func (s *servers) sidecarConfig(agent string, k kind) ([]byte, error) {
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "bench"},
		Card: card.Card{
			Name: "Bench", Description: "An agent of the benchmark", Version: "1.0",
			Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: agent},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(time.Second)},
		// All load comes from one caller, so the limits for one caller are far above the defaults.
		Limits: sidecarconfig.Limits{
			Requests: sidecarconfig.Rate{PerSecond: 1_000_000}, TotalRequests: sidecarconfig.Rate{PerSecond: 1_000_000},
			Turns:   sidecarconfig.TurnLimits{Max: 8192, MaxPerCaller: 8192},
			Streams: sidecarconfig.StreamLimits{Max: 8192, MaxPerCaller: 8192},
		},
	}
	if k == oursModel {
		config.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: agent + "v1", Model: sidecarconfig.Model{
			Name: "m", MCP: []sidecarconfig.MCPServer{{URL: agent + "mcp", Allow: []string{}, Deny: []string{}, Approval: []string{"change"}}},
		}}
	}
	if k == oursTraced {
		config.Tracing = &sidecarconfig.Tracing{Endpoint: agent + "sink", SamplingPercent: 10}
	}
	if k.tokens() {
		keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "k"}}})
		if err != nil {
			return nil, fmt.Errorf("encode keys: %w", err)
		}
		config.Access = sidecarconfig.Access{
			Authentication: []sidecarconfig.Authentication{{
				Type:       sidecarconfig.AuthenticationKubernetes,
				Kubernetes: &sidecarconfig.KubernetesAuthentication{Issuer: issuer, Audiences: []string{audience}, Keys: keys},
			}},
			Namespaces: []string{"team"},
		}
		if k == oursCalled {
			registry := *config.Access.Authentication[0].Kubernetes
			registry.Issuer = sidecarconfig.TokenIssuer
			config.Access.Authentication = append(config.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationKubernetes, Kubernetes: &registry})
		}
	}
	return sidecarconfig.Encode(config)
}

// token returns a token of a ServiceAccount of the agent's namespace.
func (s *servers) token() (string, error) {
	return s.sign(map[string]any{
		"iss": issuer, "aud": audience, "sub": "system:serviceaccount:team:load",
		"exp":           time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "load"}},
	})
}

func (s *servers) sign(claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// open opens the gates of waiting scripts.
func (r *running) open(ctx context.Context, body []byte) error {
	for _, gate := range r.gates {
		response, err := r.post(ctx, gate, body)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("open the gate: %s", response.Status)
		}
	}
	return nil
}
