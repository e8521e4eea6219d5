// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// webhookDistance is the distance between tasks whose push configurations a client changes.
const webhookDistance = 4

// changeWebhooks adds two push configurations to a task, and deletes the latter.
func (l *lifecycle) changeWebhooks(ctx context.Context, rng *rand.Rand, t *startedTask) {
	err := l.persist(ctx, rng, func(c caller, address string) error { return c.addWebhook(ctx, address, t.id, "second", l.second.url) })
	if err != nil {
		l.violationf(t.id, history.Wedged, "the push configuration was not added: %v", err)
		return
	}
	t.added = true
	err = l.persist(ctx, rng, func(c caller, address string) (err error) {
		t.end, err = c.get(ctx, address, t.id)
		return err
	})
	t.watched = err == nil && !t.end.hasEnded()
	err = l.persist(ctx, rng, func(c caller, address string) error {
		err := c.addWebhook(ctx, address, t.id, "third", l.third.url)
		t.mayHaveMore = t.mayHaveMore || errors.Is(err, errAway) // a sidecar that goes on after a pause adds it after its deletion
		return err
	})
	if err == nil {
		err = l.persist(ctx, rng, func(c caller, address string) error { return c.removeWebhook(ctx, address, t.id, "third") })
	}
	if err != nil {
		l.violationf(t.id, history.Wedged, "the push configuration was not added and deleted: %v", err)
	}
}

// checkWebhooks reads the push configurations of a task: that of its message, and the one that was added.
func (l *lifecycle) checkWebhooks(ctx context.Context, rng *rand.Rand, t *startedTask) {
	var webhooks []string
	err := l.persist(ctx, rng, func(c caller, address string) (err error) {
		webhooks, err = c.webhooks(ctx, address, t.id)
		return err
	})
	if t.mayHaveMore {
		webhooks = slices.DeleteFunc(webhooks, func(url string) bool { return url == l.third.url })
	}
	want := []string{l.receiver.url}
	if t.added {
		want = append(want, l.second.url)
	}
	slices.Sort(webhooks)
	slices.Sort(want)
	if err != nil || !slices.Equal(webhooks, want) {
		l.violationf(t.id, history.Lost, "the task has the webhooks %q, want %q (%v)", webhooks, want, err)
	}
}

// checkSecond checks what the added push configurations got: the ends of all tasks that had not ended before.
func (l *lifecycle) checkSecond(ctx context.Context) {
	watched := slices.DeleteFunc(slices.Clone(l.tasks), func(t *startedTask) bool { return !t.watched })
	l.second.await(ctx, watched)
	for _, t := range watched {
		for _, problem := range l.second.problems(t) {
			l.violationf(t.id, history.Lost, "added push configuration: %s", problem)
		}
	}
}
