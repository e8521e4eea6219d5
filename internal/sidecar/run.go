// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecar puts the sidecar together: flags and contract, servers,
// probes, reload and shutdown. It decides nothing about the protocol; what
// does stands in internal/a2a. It links no Kubernetes package.
package sidecar

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
)

// stopTimeout bounds the end of the servers, after the streams have ended.
const stopTimeout = 2 * time.Second

// Open opens the listeners and reads the configuration. From here on a client
// can connect; it is answered once Serve runs, which must follow. now is the
// clock.
func Open(ctx context.Context, o *Options, log *slog.Logger, now func() time.Time) (*Sidecar, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	sockets, err := listen(ctx, o)
	if err != nil {
		return nil, err
	}
	s, err := assemble(o, sockets, log, now)
	if err != nil {
		sockets.close()
		return nil, err
	}
	return s, nil
}

// Serve runs until ctx ends, and then drains. It owns every goroutine of the
// sidecar, and returns when all have ended.
//
// The end, in this order: not ready, and each answer ends its connection; no new turns; the turns end, or the grace
// period nearly does; streams end so that they can be resumed; servers close.
// A pod's preStop hook has had most of it happen before the signal comes.
func (s *Sidecar) Serve(ctx context.Context) error {
	sockets := s.sockets
	serving := []*server{newServer(s.log, serverconn.NewListener(sockets.agent, serverconn.Options{TLS: s.tls, Flooded: s.metrics.floods.Inc}), s.agentHandler)}
	serving[0].WriteTimeout = writeTimeout
	if sockets.health != nil {
		serving = append(serving, newServer(s.log, serverconn.NewListener(sockets.health, serverconn.Options{Flooded: s.metrics.floods.Inc}), s.probes.handler(sockets.health.Addr())))
	}
	if sockets.gateway != nil {
		serving = append(serving, newServer(s.log, sockets.gateway, s.gateway))
	}
	group, failed := errgroup.WithContext(ctx)
	for _, each := range serving {
		group.Go(func() error { return each.serve(each.listener) })
	}
	group.Go(func() error { return serving[0].serve(s.parking) })
	s.logCardKeys()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { s.turns.pushes.resume(watching, s.log); return nil })
	group.Go(func() error { s.issuer.follow(watching); return nil })
	group.Go(func() error { s.awaitAgentCard(watching); return nil })
	group.Go(func() error { s.followModelServer(watching); return nil })
	if s.options.ConfigFile != "" {
		group.Go(func() error { return watch(watching, s.log, filepath.Dir(s.options.ConfigFile), s.reload) })
	}
	for _, dir := range directories(s.options.CardSigningKeys) {
		group.Go(func() error { return watch(watching, s.log, dir, s.reloadCardKeys) })
	}
	group.Go(func() error { s.newReporter().run(watching); return nil })
	if s.served != nil {
		group.Go(func() error { s.served.follow(watching, s.retryCertificate); return nil })
	}
	for _, each := range s.mounts {
		group.Go(func() error { return watch(watching, s.log, each.dir, each.reload) })
	}
	s.probes.started.Store(true)
	s.log.Info("serving", "a2a", sockets.agent.Addr().String(), "backend", s.current().Backend.URL,
		"card", s.options.base(sockets.agent.Addr())+wellknown.Path)

	// The signal, or a server that could not go on.
	<-failed.Done()
	stopWatching()
	s.drain.begin(s.grace(), 0) //nolint:contextcheck // the drain begins because ctx has ended
	<-s.drain.drained
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	for _, each := range serving {
		each.stop(ending)
	}
	s.parking.Stop(ending)
	err := group.Wait()
	s.close()
	s.log.Info("stopped")
	return err
}
