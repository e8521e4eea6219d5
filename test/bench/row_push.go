// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// mostPosting bounds a window of S9. The clients create tasks faster than the sidecar posts their notifications. In a
// longer window, the push configurations with pending notifications would reach their limit.
const mostPosting = time.Second

// notifications measures S9: the cost of a push notification in addition to its task.
func notifications(ctx context.Context, b *bench) ([]report.Result, error) {
	s, err := b.interleave(ctx,
		load.Contender{Name: string(oursPush), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, oursPush, func(r *running) error { s, err = b.pushed(ctx, r); return err })
			return s, err
		}},
		load.Contender{Name: string(poster), Measure: func(ctx context.Context) (s load.Sample, err error) {
			err = b.servers.with(ctx, b.row, poster, func(r *running) error { s, err = b.posted(ctx, r); return err })
			return s, err
		}})
	if err != nil {
		return nil, err
	}
	r := report.Result{What: "a push notification, without the cost of its task", Unit: "us CPU", Peer: string(poster)}
	return []report.Result{report.Compare(r, s.Of(string(oursPush), 0), s.Of(string(poster), 0), report.RatioAtMost(1.2))}, nil
}

// pushed returns the difference in cost between tasks with and without push notifications, for each
// notification.
func (b *bench) pushed(ctx context.Context, r *running) (load.Sample, error) {
	play := script.Script{Chunks: 2, Size: 20}
	tasks := func(configuration string) (count int, used time.Duration, err error) {
		body := strings.Replace(string(r.request("SendMessage", play)), `"params":{`, `"params":{`+configuration, 1)
		// Each message has an id of its own, because the sidecar remembers ids for longer than a measurement.
		before, after, _ := strings.Cut(body, `"messageId":"`)
		used, err = costs(r.server, func() error {
			if count, err = load.Closed(ctx, load.Connections, min(b.window, mostPosting), func(ctx context.Context) (int, error) {
				id := strconv.FormatInt(r.last.Add(1), 10)
				return 1, r.answered(ctx, []byte(before+`"messageId":"p`+id+after), []byte("TASK_STATE_COMPLETED"))
			}); err != nil {
				return err
			}
			return r.settled(ctx)
		})
		return count, used, err
	}
	if _, _, err := tasks(""); err != nil { // warm up
		return nil, err
	}
	// Measure tasks without notifications before and after, because a filling store changes the cost.
	quiet, alone, err := tasks("")
	if err != nil {
		return nil, err
	}
	told, used, err := tasks(`"configuration":{"taskPushNotificationConfig":{"url":"` + r.agent + `sink"}},`)
	if err != nil {
		return nil, err
	}
	posts, err := r.sunk(ctx)
	if err != nil {
		return nil, err
	}
	again, aloneAgain, err := tasks("")
	if err != nil {
		return nil, err
	}
	quiet, alone = quiet+again, alone+aloneAgain
	if posts < told {
		return nil, fmt.Errorf("%d notifications of %d tasks", posts, told)
	}
	return load.Sample{(load.Micros(used) - load.Micros(alone)*float64(told)/float64(quiet)) / float64(posts)}, nil
}

// posted warms the poster up and then measures it.
func (b *bench) posted(ctx context.Context, r *running) (load.Sample, error) {
	count := int(b.window.Seconds() * 5000)
	ask := func(count int) error {
		response, err := r.post(ctx, r.url+"?count="+strconv.Itoa(count), nil)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(response.Body)
			return fmt.Errorf("post: %s: %s", response.Status, text)
		}
		return nil
	}
	if err := ask(count / 4); err != nil {
		return nil, err
	}
	used, err := costs(r.server, func() error { return ask(count) })
	return load.Sample{load.Micros(used) / float64(count)}, err
}

// settled waits until no more notifications arrive.
func (r *running) settled(ctx context.Context) error {
	const still = 500 * time.Millisecond
	for before := -1; ; {
		now, err := r.sunk(ctx)
		if err != nil || now == before {
			return err
		}
		before = now
		time.Sleep(still)
	}
}

// sunk returns the number of notifications that have arrived.
func (r *running) sunk(ctx context.Context) (int, error) {
	response, err := r.post(ctx, r.agent+"sunk", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}
