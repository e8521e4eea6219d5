// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"log/slog"
	"reflect"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// reconfigure applies the changed files of the sidecar configuration. If it returns an
// error, nothing has changed.
func (s *Sidecar) reconfigure(files reload.Files) error {
	next, err := s.options.Load(files, s.listeners.Agent.Addr())
	if err != nil {
		return err
	}
	return reload.Apply(s.steps(), s.current(), next)
}

// steps returns the parts of the sidecar that a configuration changes, in the order in
// which they are committed. The first configuration and each reload apply the same steps.
func (s *Sidecar) steps() []reload.Step[*settings.Loaded] {
	return []reload.Step[*settings.Loaded]{
		{Name: "card", Prepare: func(_, next *settings.Loaded) (func(), error) { return s.card.prepare(next, s.card.keys) }},
		{Name: "egressProxy", Prepare: s.prepareProxy},
		{Name: "backend", Prepare: func(_, next *settings.Loaded) (func(), error) {
			return s.turns.backend.prepare(next.Agent, &next.Backend)
		}},
		{Name: "access", Prepare: s.prepareAccess},
		{Name: "pushNotifications", Prepare: s.preparePushes},
		{Name: "gateway", Prepare: s.prepareGateway},
		{Name: "tracing", Prepare: s.traces.prepare},
		{Name: "limits", Prepare: func(_, next *settings.Loaded) (func(), error) {
			return func() { s.limits.Swap(&next.Limits); s.turns.LimitsChanged() }, nil
		}},
		{Name: "configuration", Prepare: func(former, next *settings.Loaded) (func(), error) {
			return func() { s.useConfiguration(former, next) }, nil
		}},
	}
}

// prepareAccess creates the access policy of next. If the configuration of the access has
// not changed, the present policy stays in use, with its cache of verified tokens.
func (s *Sidecar) prepareAccess(former, next *settings.Loaded) (func(), error) {
	if reflect.DeepEqual(former.Access, next.Access) && reflect.DeepEqual(former.Decisions, next.Decisions) {
		return nil, nil
	}
	policy, keys, err := s.access.policy(&next.Access, next.Decisions)
	if err != nil {
		return nil, err
	}
	return func() {
		s.gate.Swap(policy)
		s.refusals.reset()
		s.access.issuer.swap(keys)
	}, nil
}

func (s *Sidecar) preparePushes(former, next *settings.Loaded) (func(), error) {
	if reflect.DeepEqual(former.PushNotifications, next.PushNotifications) {
		return nil, nil
	}
	policy, err := pushPolicy(next.PushNotifications, s.options.Standalone())
	if err != nil {
		return nil, err
	}
	return func() { s.turns.pushes.guard.Swap(policy) }, nil
}

func (s *Sidecar) prepareProxy(former, next *settings.Loaded) (func(), error) {
	if reflect.DeepEqual(former.EgressProxy, next.EgressProxy) {
		return nil, nil
	}
	options := egress.ProxyOptions{Local: s.options.Standalone(), Protected: s.protected, Roots: s.trust.Roots, CredentialDir: s.options.EgressProxyCredentials}
	if p := next.EgressProxy; p != nil {
		options.URL = p.URL
		options.NoProxy = p.NoProxy
		options.ClusterDomain = p.ClusterDomain
	}
	proxy, err := egress.NewProxy(options)
	if err != nil {
		return nil, fmt.Errorf("egressProxy.%w", err)
	}
	return func() { s.trust.SetProxy(proxy) }, nil
}

func (s *Sidecar) prepareGateway(former, next *settings.Loaded) (func(), error) {
	if reflect.DeepEqual(former.Gateway, next.Gateway) {
		return nil, nil
	}
	policy, err := remotePolicy(next.Gateway)
	if err != nil {
		return nil, err
	}
	registry, err := trust.NewRegistry(next.Gateway)
	if err != nil {
		return nil, err
	}
	return func() {
		s.trust.SetRegistry(registry)
		s.translator.Swap(policy)
		s.gateway.Swap(gatewayConfig(next.Agent, next.Gateway))
	}, nil
}

func (s *Sidecar) useConfiguration(former, next *settings.Loaded) {
	if former.Tasks != next.Tasks {
		s.log.Warn("task store bounds changed, which takes effect at the next start", "tasks", next.Tasks)
	}
	s.useLogLevel(next.Observability.LogLevel)
	s.config.Store(next)
	s.metrics.SetConfiguration(next.Digest)
}

// logLevels maps the levels of the sidecar configuration to levels of slog.
var logLevels = map[sidecarconfig.LogLevel]slog.Level{
	"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError,
}

// useLogLevel sets the level of the log to the level in the sidecar configuration, or
// without one to the level of the flag. It logs each change, whatever the two levels are.
func (s *Sidecar) useLogLevel(configured sidecarconfig.LogLevel) {
	if s.options.Level == nil {
		return
	}
	next, found := logLevels[configured]
	if !found {
		next = s.options.LogLevel
	}
	if former := s.options.Level.Level(); former != next {
		lower := min(former, next)
		s.options.Level.Set(lower)
		write := s.log.Info
		switch {
		case lower >= slog.LevelError:
			write = s.log.Error
		case lower >= slog.LevelWarn:
			write = s.log.Warn
		}
		write("log level changed", "new_level", next.String(), "former_level", former.String())
		s.options.Level.Set(next)
	}
}
