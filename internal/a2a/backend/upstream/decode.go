// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// event decodes an event of a stream in the version of the dialect. If that fails, it
// accepts the forms that servers mix with that version (agentevents.DecodeEvent).
func (d *dialect) event(text []byte) (a2a.Event, error) { return d.lenient(d.decodeEvent, text) }

// response decodes the response to a message, as leniently as event.
func (d *dialect) response(text []byte) (a2a.Event, error) { return d.lenient(d.decodeResponse, text) }

// task decodes a task, as leniently as event.
func (d *dialect) task(text []byte) (*a2a.Task, error) {
	e, err := d.lenient(func(text []byte) (a2a.Event, error) {
		t, err := d.decodeTask(text)
		return a2a.Event{Task: t}, err
	}, text)
	if err == nil && e.Task == nil {
		err = agentevents.ErrNoTask
	}
	return e.Task, err
}

func (d *dialect) lenient(decode func([]byte) (a2a.Event, error), text []byte) (a2a.Event, error) {
	e, err := decode(text)
	if err == nil {
		err = agentevents.Check(&e, text)
	}
	if err == nil {
		return e, nil
	}
	other, otherErr := agentevents.DecodeEvent(text, d.version == version.V10)
	if otherErr == nil {
		return other, nil
	}
	_, malformed := errors.AsType[*a2a.Error](err)
	if _, better := errors.AsType[*a2a.Error](otherErr); better && !malformed {
		err = otherErr
	}
	return a2a.Event{}, err
}
