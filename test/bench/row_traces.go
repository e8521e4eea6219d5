// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// traces measures S11: the message of S1 while the sidecar exports 10 % of the traces.
func traces(ctx context.Context, b *bench) ([]report.Result, error) {
	op := sends(message, said)
	traced := load.Contender{Name: string(oursTraced), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, oursTraced, func(r *running) error {
			if s, err = b.cpuOf(ctx, r, op(r)); err != nil {
				return err
			}
			return r.exported(ctx)
		})
		return s, err
	}}
	s, err := b.interleave(ctx, b.cpu(oursTokens, op), traced)
	if err != nil {
		return nil, err
	}
	r := report.Result{What: "unary message of 1 KB, 10 % of the traces exported", Unit: "us CPU", Peer: string(oursTokens)}
	return []report.Result{report.Compare(r, s.Of(string(oursTraced), 0), s.Of(string(oursTokens), 0), report.RatioAtMost(1.15))}, nil
}

// exported waits for the first export of spans, which happens at most 5 s after the first span.
func (r *running) exported(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no traces were exported"))
	defer cancel()
	for {
		exports, err := r.sunk(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || exports > 0:
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
