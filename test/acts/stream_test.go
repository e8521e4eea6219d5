// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// streams opens the streams of a step at once. Long-running turns go on when every stream that stays open has its first
// event.
func (r *run) streams(ctx context.Context, s *step) error {
	all := s.ExpectStream.Streams
	if len(all) == 0 {
		all = []streamExpectation{{}}
	}
	var open, first sync.WaitGroup
	stay := false
	for i := range all {
		first.Add(1)
		stay = stay || all[i].DisconnectAfter == 0
	}
	streams := make([]followed, len(all))
	for i := range all {
		open.Go(func() { streams[i] = r.follow(ctx, s, &all[i], sync.OnceFunc(first.Done)) })
	}
	first.Wait()
	if stay {
		r.server.agent.release()
	}
	open.Wait()
	var failures []error
	for i := range all {
		failures = append(failures, r.checkStream(s, &all[i], &streams[i]))
	}
	return errors.Join(failures...)
}

// followed is what a client has received of a stream.
type followed struct {
	reply *reply
	seen  []any
	err   error
}

// follow reads one stream of a step. It calls begun at the first event, or at the end.
func (r *run) follow(ctx context.Context, s *step, own *streamExpectation, begun func()) (got followed) {
	defer begun()
	got.reply, got.err = r.request(ctx, s, func(event map[string]any) bool {
		got.seen = append(got.seen, view(event))
		begun()
		return len(got.seen) != own.DisconnectAfter
	})
	return got
}

func (r *run) checkStream(s *step, own *streamExpectation, got *followed) error {
	if got.err != nil {
		return got.err
	}
	if err := r.check(s, got.reply); err != nil {
		return err
	}
	if own.DisconnectAfter == 0 {
		return errors.Join(r.checkEvents(s.ExpectStream, got.seen), r.checkEvents(own, got.seen))
	}
	if len(got.seen) < own.DisconnectAfter {
		return fmt.Errorf("the stream ended after %d events", len(got.seen))
	}
	return r.checkEvents(&streamExpectation{MinCount: s.ExpectStream.MinCount, EachEvent: s.ExpectStream.EachEvent}, got.seen)
}

func (r *run) checkEvents(want *streamExpectation, seen []any) error {
	if len(seen) < max(want.MinCount, 1) {
		return fmt.Errorf("%d events, want %d", len(seen), max(want.MinCount, 1))
	}
	all := []error{r.matches("final event", want.FinalEvent, seen[len(seen)-1])}
	for _, e := range seen {
		all = append(all, r.matches("event", want.EachEvent, e))
	}
	switch want.Ordering {
	case "":
	case "monotonic_state":
		all = append(all, inOrder(seen))
	default:
		all = append(all, errors.New("unknown ordering "+want.Ordering))
	}
	for _, e := range want.Events {
		all = append(all, r.checkEvent(e, seen))
	}
	return errors.Join(all...)
}

// checkEvent compares the event that an expectation selects: by its index, or at any position.
func (r *run) checkEvent(want map[string]any, seen []any) error {
	expected := maps.Clone(want)
	maps.DeleteFunc(expected, func(name string, _ any) bool { return slices.Contains([]string{"description", "index", "match"}, name) })
	if i, ok := want["index"].(float64); ok {
		if int(i) >= len(seen) {
			return fmt.Errorf("%d events, want one with index %v", len(seen), i)
		}
		return r.matches("event", expected, seen[int(i)])
	}
	if want["match"] != "any_position" {
		return fmt.Errorf("unknown match %v", want["match"])
	}
	var all []error
	for _, e := range seen {
		err := r.matches("event", expected, e)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// view returns an event with the names that the suite uses: also the members of the content, and the names of the
// contents in snake case.
func view(event map[string]any) any {
	all := maps.Clone(event)
	if result, ok := event["result"].(map[string]any); ok {
		maps.Copy(all, result)
	}
	for _, name := range []string{"task", "statusUpdate", "artifactUpdate"} {
		content, ok := all[name].(map[string]any)
		if !ok {
			continue
		}
		maps.Copy(all, content)
		all[snake(name)] = content
	}
	return all
}

func snake(name string) string {
	var out strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// ranks are the states of a task in the order in which a turn may reach them.
var ranks = map[string]int{
	"TASK_STATE_SUBMITTED": 0, "TASK_STATE_WORKING": 1, "TASK_STATE_INPUT_REQUIRED": 2, "TASK_STATE_AUTH_REQUIRED": 2,
	"TASK_STATE_COMPLETED": 3, "TASK_STATE_FAILED": 3, "TASK_STATE_CANCELED": 3, "TASK_STATE_REJECTED": 3,
}

func inOrder(seen []any) error {
	last := 0
	for _, e := range seen {
		for _, state := range find("status.state", e) {
			rank, ok := ranks[fmt.Sprint(state)]
			if !ok || rank < last {
				return fmt.Errorf("state %v after a later one", state)
			}
			last = rank
		}
	}
	return nil
}
