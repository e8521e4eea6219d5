// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// stepsOfATurn is the number of answers of the agent's model that call a tool, and of such calls, in a turn.
const stepsOfATurn = 10

// steps measures S12: a step of an agent without code, an answer of the model and a call of a tool.
func steps(ctx context.Context, b *bench) ([]report.Result, error) {
	op := func(r *running) load.Operation {
		return func(ctx context.Context) (int, error) {
			return stepsOfATurn, r.send(ctx, script.Script{}, []byte("TASK_STATE_COMPLETED"))
		}
	}
	// alone measures the time of a step without other turns.
	alone := func(k kind) load.Contender {
		return load.Contender{Name: string(k) + ", alone", Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, k, func(r *running) error {
				if _, err := load.Closed(ctx, 1, b.window/4, op(r)); err != nil {
					return err
				}
				began := time.Now()
				units, err := load.Closed(ctx, 1, b.window, op(r))
				s = load.Sample{load.Micros(time.Since(began)) / float64(max(units, 1))}
				return err
			})
			return s, err
		}}
	}
	s, err := b.interleave(ctx, b.cpu(oursModel, op), b.cpu(stepLoop, op), alone(oursModel), alone(stepLoop))
	if err != nil {
		return nil, err
	}
	cost := report.Result{What: "a step of an agent without code: an answer with a call, and the call", Unit: "us CPU", Peer: string(stepLoop)}
	took := report.Result{What: "time of such a step, one turn at a time", Unit: "us", Peer: string(stepLoop), Clock: true}
	return []report.Result{
		report.Compare(cost, s.Of(string(oursModel), 0), s.Of(string(stepLoop), 0), report.RatioAtMost(1.5)),
		report.Compare(took, s.Of(string(oursModel)+", alone", 0), s.Of(string(stepLoop)+", alone", 0), report.RatioAtMost(1.5)),
	}, nil
}

// paused measures S13: the memory of tasks that wait for an approval, and of an idle agent without code.
func paused(ctx context.Context, b *bench) ([]report.Result, error) {
	const tasks = 1000
	s, err := b.interleave(ctx, load.Contender{Name: string(oursModel), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, oursModel, func(r *running) error {
			if err := r.send(ctx, script.Script{}, []byte("TASK_STATE_COMPLETED")); err != nil {
				return err
			}
			time.Sleep(b.settle)
			before, err := r.server.RSS()
			if err != nil {
				return err
			}
			for range tasks {
				request := []byte(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + r.nextID() + `","role":"ROLE_USER","parts":[{"text":"This needs approval."}]}}}`)
				if err := r.answered(ctx, request, []byte("TASK_STATE_INPUT_REQUIRED")); err != nil {
					return err
				}
			}
			time.Sleep(b.settle)
			after, err := r.server.RSS()
			s = load.Sample{float64(after-before) / 1000 / tasks, float64(before) / 1e6}
			return err
		})
		return s, err
	}}, load.Contender{Name: string(ours), Measure: func(ctx context.Context) (s load.Sample, err error) {
		err = b.servers.with(ctx, b.row, ours, func(r *running) error {
			if err := r.send(ctx, message, []byte(said)); err != nil {
				return err
			}
			time.Sleep(b.settle)
			memory, err := r.server.RSS()
			s = load.Sample{float64(memory) / 1e6}
			return err
		})
		return s, err
	}})
	if err != nil {
		return nil, err
	}
	waiting := report.Result{What: "memory of a task that waits for an approval, of 1,000", Unit: "KB"}
	idle := report.Result{What: "memory, an idle agent without code", Unit: "MB", Peer: string(ours)}
	return []report.Result{
		report.Compare(waiting, s.Of(string(oursModel), 0), nil, report.Goal{}),
		report.Compare(idle, s.Of(string(oursModel), 1), s.Of(string(ours), 0), report.Goal{}),
	}, nil
}
