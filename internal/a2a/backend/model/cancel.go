// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// pausedNote is the private note of a task that waits for the answer to the question of a tool.
type pausedNote struct {
	// Tool is Tool.Name, and Key is Tool.Key.
	Tool   string          `json:"tool"`
	Key    string          `json:"key"`
	Resume json.RawMessage `json:"resume"`
}

// noNote is the note of a task that waits for something else. An empty note would keep the former one.
const noNote = "{}"

var _ backend.Canceler = (*Backend)(nil)

// cancelTimeout bounds the search for the tool of a paused call.
const cancelTimeout = 10 * time.Second

// Canceled implements backend.Canceler. The toolset of a paused call ends what the call has left, such as the task of a called agent.
func (b *Backend) Canceled(ctx context.Context, t *a2a.Task) {
	var note pausedNote
	if json.Unmarshal([]byte(t.Note), &note) != nil || note.Tool == "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		finding, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		for _, set := range b.options.Toolsets {
			canceler, ok := set.(Canceler)
			if !ok {
				continue
			}
			tools, err := set.Tools(finding, nil)
			if err != nil {
				continue
			}
			for _, tool := range tools {
				if tool.Name == note.Tool && tool.Key == note.Key {
					canceler.Canceled(ctx, note.Key, note.Resume)
				}
			}
		}
	}()
}
