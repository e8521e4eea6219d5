// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"iter"
)

// The values that the tests check, converted from the types of each SDK.
type (
	task struct {
		ID, ContextID string
		State         string
		Text          string
		History       int
	}
	// event is one item of a stream or the result of a send; State is "" for
	// an event that is no status.
	event struct {
		Kind   string
		TaskID string
		State  string
		Text   string
	}
	message struct {
		Text, TaskID, ContextID string
		Immediately             bool
	}
)

// sdk is a client of an official SDK.
type sdk interface {
	messages
	tasks
	pushes
	// extended returns the name and the number of skills of the extended card.
	extended(ctx context.Context) (string, error)
}

type messages interface {
	send(ctx context.Context, m message) (event, error)
	stream(ctx context.Context, m message) iter.Seq2[event, error]
	// parts sends one part of each kind and returns the parts of the answer.
	parts(ctx context.Context) ([]string, error)
}

type tasks interface {
	get(ctx context.Context, id string, history *int) (task, error)
	// list returns the tasks of a context.
	list(ctx context.Context, contextID string) ([]task, error)
	cancel(ctx context.Context, id string) (task, error)
	subscribe(ctx context.Context, id string) iter.Seq2[event, error]
}

// pushes are the operations on push notification configurations. Each returns the ids
// and URLs of configurations.
type pushes interface {
	setPush(ctx context.Context, taskID, id, url string) (string, error)
	getPush(ctx context.Context, taskID, id string) (string, error)
	listPush(ctx context.Context, taskID string) ([]string, error)
	deletePush(ctx context.Context, taskID, id string) error
}

// errNone is the error of an operation that the client does not have.
var errNone = errors.New("the client has no such operation")

// collect reads a stream to its end.
func collect(stream iter.Seq2[event, error]) ([]event, error) {
	var all []event
	for e, err := range stream {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// convert converts the events of a stream.
func convert[E any](in iter.Seq2[E, error], one func(E) event) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for e, err := range in {
			out := event{}
			if err == nil {
				out = one(e)
			}
			if !yield(out, err) {
				return
			}
		}
	}
}
