// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// SetPush implements a2a.PushHandler.
func (p *Pushes) SetPush(ctx context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	key := store.Key{Owner: r.Owner, TaskID: r.Config.TaskID}
	log, err := p.open(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := p.check(&r.Config, setFields(r.Config.Dialect)); err != nil {
		return nil, err
	}
	return p.set(ctx, key, log, r.Config, false)
}

// Check checks a configuration that comes with a message. The engine calls it.
func (p *Pushes) Check(_ context.Context, c a2a.PushConfig) error {
	return p.check(&c, sendFields(c.Dialect))
}

// Attach adds a configuration that Check has accepted to a task that exists. The delivery
// begins after the last event of the task, even if that event ended the task, because a
// message is about to continue it.
func (p *Pushes) Attach(ctx context.Context, task store.Key, c a2a.PushConfig) error {
	log, err := p.open(ctx, task)
	if err != nil {
		return err
	}
	_, err = p.set(ctx, task, log, c, true)
	return err
}

// set stores a configuration and follows its task. continues is true if the task is
// about to continue.
func (p *Pushes) set(ctx context.Context, task store.Key, log store.Log, c a2a.PushConfig, continues bool) (*a2a.PushConfig, error) {
	p.configMu.Lock()
	defer p.configMu.Unlock()
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", task.TaskID, err)
	}
	c.TaskID = task.TaskID
	c.ID = cmp.Or(c.ID, task.TaskID)
	next := store.Push{Task: task, Config: c, Acked: now.Seq}
	former, err := p.options.Configs.Get(ctx, task, c.ID)
	switch {
	case err == nil && !former.Ended():
		// The new configuration delivers the events that the former one has not
		// delivered.
		next.Acked, next.Since = min(former.Acked, now.Seq), former.Since
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read push configuration: %w", err)
	case now.Task.Status.State.Terminal() && !continues:
		next.Expires = p.options.Now().Add(p.options.Keep)
	}
	if continues {
		next.Since = now.Seq
	}
	if p.shared != nil {
		next.Replica = p.shared.Self()
	}
	if next.Generation, err = p.options.Configs.Put(ctx, next); err != nil {
		return nil, storeError("store push configuration", task.TaskID, err)
	}
	p.follow(next, log)
	return &next.Config, nil
}

// GetPush implements a2a.PushHandler. For a request without an id, it returns the
// configuration with the id of the task or, if there is none, the configuration that was
// set last.
func (p *Pushes) GetPush(ctx context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	all, err := p.list(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	wanted := cmp.Or(r.ID, r.TaskID)
	for i := range all {
		if all[i].Config.ID == wanted {
			return &all[i].Config, nil
		}
	}
	if r.ID == "" && len(all) > 0 {
		return &all[len(all)-1].Config, nil
	}
	return nil, &a2a.Error{
		Reason: a2a.ReasonTaskNotFound, Message: "push notification config not found", TaskID: r.TaskID,
	}
}

var tokenText = base64.RawURLEncoding

// ListPush implements a2a.PushHandler. It orders configurations by id, and a page token
// contains the last id of the former page. A change between two pages therefore moves no
// other configuration to another page, and a token reveals nothing about other clients.
func (p *Pushes) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	all, err := p.list(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	if r.PageSize < 0 {
		return nil, a2a.InvalidParams("pageSize", "must not be negative")
	}
	if r.PageToken != "" {
		after, err := tokenText.DecodeString(r.PageToken)
		if err != nil || len(after) > maxID {
			return nil, a2a.InvalidParams("pageToken", "must be one that a former page ended with")
		}
		all = slices.DeleteFunc(all, func(c store.Push) bool { return c.Config.ID <= string(after) })
	}
	slices.SortFunc(all, func(a, b store.Push) int { return cmp.Compare(a.Config.ID, b.Config.ID) })
	page := &a2a.PushPage{}
	if r.PageSize > 0 && len(all) > r.PageSize {
		all = all[:r.PageSize]
		page.NextPageToken = tokenText.EncodeToString([]byte(all[len(all)-1].Config.ID))
	}
	for i := range all {
		page.Configs = append(page.Configs, &all[i].Config)
	}
	return page, nil
}

// DeletePush implements a2a.PushHandler.
func (p *Pushes) DeletePush(ctx context.Context, r *a2a.PushRequest) error {
	task := store.Key{Owner: r.Owner, TaskID: r.TaskID}
	if _, err := p.open(ctx, task); err != nil {
		return err
	}
	config := cmp.Or(r.ID, r.TaskID)
	p.configMu.Lock()
	defer p.configMu.Unlock()
	if err := p.options.Configs.Delete(ctx, task, config); err != nil {
		return fmt.Errorf("delete push configuration: %w", err)
	}
	p.unfollow(id{task, config})
	return nil
}

func (p *Pushes) open(ctx context.Context, task store.Key) (store.Log, error) {
	log, err := p.options.Tasks.Open(ctx, task)
	if err != nil {
		return nil, storeError("open task", task.TaskID, err)
	}
	return log, nil
}

func (p *Pushes) list(ctx context.Context, task store.Key) ([]store.Push, error) {
	if _, err := p.open(ctx, task); err != nil {
		return nil, err
	}
	all, err := p.options.Configs.List(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("list push configurations: %w", err)
	}
	return all, nil
}

// storeError translates an error of the store into an *a2a.Error for the client, or adds
// the operation to an error that the client does not receive.
func storeError(operation, task string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a2a.TaskNotFound(task)
	case errors.Is(err, store.ErrFull):
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many push notification configs", TaskID: task}
	default:
		return fmt.Errorf("%s: %w", operation, err)
	}
}
