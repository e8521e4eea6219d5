// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// documents is the state of a conversation: documents with names, each a list of texts. They are the artifacts of the
// conversation's task in the store. The artifact of a removed document has no name, and the next new document uses it.
type documents struct {
	artifacts []a2a.Artifact
	size      int
	// changes are the changes that are not stored yet.
	changes []a2a.Event
}

// texts returns the texts of a document, the oldest first; none for an unknown document.
func (d *documents) texts(name string) []string {
	at := d.find(name)
	if at < 0 {
		return nil
	}
	texts := make([]string, len(d.artifacts[at].Parts))
	for i := range texts {
		texts[i] = d.artifacts[at].Parts[i].Text
	}
	return texts
}

func (d *documents) find(name string) int {
	for i := range d.artifacts {
		if d.artifacts[i].Name == name {
			return i
		}
	}
	return -1
}

// names returns the names of the documents whose names begin with a prefix, in no order.
func (d *documents) names(prefix string) []string {
	var names []string
	for i := range d.artifacts {
		if name := d.artifacts[i].Name; len(name) > len(prefix) && name[:len(prefix)] == prefix {
			names = append(names, name)
		}
	}
	return names
}

// put replaces or adds a document.
func (d *documents) put(name, text string) {
	at := d.find(name)
	if at < 0 {
		at = d.find("")
	}
	a := a2a.Artifact{Name: name, Parts: []a2a.Part{a2a.TextPart(text)}}
	if at < 0 {
		a.ID = strconv.Itoa(len(d.artifacts))
		d.artifacts = append(d.artifacts, a2a.Artifact{})
		at = len(d.artifacts) - 1
	} else {
		a.ID = d.artifacts[at].ID
	}
	d.replace(at, a)
}

// add adds a text to a document.
func (d *documents) add(name, text string) {
	at := d.find(name)
	if at < 0 {
		d.put(name, text)
		return
	}
	part := a2a.TextPart(text)
	a := &d.artifacts[at]
	d.size += part.Size()
	a.Parts = append(slices.Clip(a.Parts), part)
	d.changes = append(d.changes, a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: a.ID, Parts: []a2a.Part{part}}, Append: true}})
}

// remove removes a document, if it exists.
func (d *documents) remove(name string) {
	if at := d.find(name); at >= 0 {
		d.replace(at, a2a.Artifact{ID: d.artifacts[at].ID})
	}
}

func (d *documents) replace(at int, a a2a.Artifact) {
	d.size += a.Size() - d.artifacts[at].Size()
	d.artifacts[at] = a
	d.changes = append(d.changes, a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a}})
}

// read returns the documents of a conversation, and their log at the event seq; a nil log if there is none yet.
func (h *Handler) read(ctx context.Context, c *conversation) (d *documents, log store.Log, seq uint64, err error) {
	d = &documents{}
	log, err = h.options.Store.Open(ctx, c.key)
	if errors.Is(err, store.ErrNotFound) {
		return d, nil, 0, nil
	}
	if err != nil {
		return nil, nil, 0, fmt.Errorf("open state: %w", err)
	}
	snapshot, err := log.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return d, nil, 0, nil
	}
	if err != nil {
		return nil, nil, 0, fmt.Errorf("read state: %w", err)
	}
	d.artifacts = append(d.artifacts, snapshot.Task.Artifacts...)
	for i := range d.artifacts {
		d.size += d.artifacts[i].Size()
	}
	return d, log, snapshot.Seq, nil
}

// maxAttempts bounds the attempts of a write while other replicas write the same state.
const maxAttempts = 16

// write changes the documents of a conversation. It calls change again if another replica has changed them meanwhile.
func (h *Handler) write(ctx context.Context, c *conversation, change func(*documents) error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for attempt := 1; ; attempt++ {
		d, log, seq, err := h.read(ctx, c)
		if err != nil {
			return err
		}
		former := d.size
		if err := change(d); err != nil {
			return err
		}
		if most := h.mostState(); d.size > most && d.size > former {
			return refuse(statusTooLarge, "the state of the conversation would have %d KiB, and %d KiB is the limit: begin a new conversation, or raise the memory limit of the sidecar",
				(d.size+1<<10-1)>>10, most>>10)
		}
		if len(d.changes) == 0 {
			return nil
		}
		err = h.append(ctx, c, log, seq, d.changes)
		again := errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRolledBack)
		if !again || attempt == maxAttempts {
			return err
		}
	}
}

// mostState is the limit of the state of one conversation, in bytes.
func (h *Handler) mostState() int { return min(maxState, int(h.options.Bodies.Largest()/answerCost)) }

// append appends changes to a log, and creates the log if it is nil.
func (h *Handler) append(ctx context.Context, c *conversation, log store.Log, seq uint64, changes []a2a.Event) error {
	if log != nil {
		_, err := log.Append(ctx, store.Append{After: seq, Events: changes, Compact: true})
		if err != nil {
			return fmt.Errorf("append state: %w", err)
		}
		return nil
	}
	paused := a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired, Time: h.options.Now()}}}
	_, err := h.options.Store.Create(ctx, store.NewTask{Key: c.key, Events: append([]a2a.Event{paused}, changes...)})
	if err != nil {
		return fmt.Errorf("create state: %w", err)
	}
	return nil
}
