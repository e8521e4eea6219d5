// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

const (
	// maxPerTask bounds the push configurations of a task, as in the memory store.
	maxPerTask = 16
	// openPage bounds the configurations that Unfinished reads with one call.
	openPage = 128
)

// Pushes returns the store of the agent's push configurations. It does not encrypt
// their credentials, which are therefore only as safe as the server.
func (s *Store) Pushes() *Pushes { return &Pushes{store: s} }

// Pushes implements store.SharedPushStore.
type Pushes struct{ store *Store }

var _ store.SharedPushStore = (*Pushes)(nil)

// Put implements store.PushStore. A retry may put the configuration twice; the second
// copy replaces the first. As in the memory store, a principal may hold at most twice as many
// configurations, in number and in bytes, as can still be added before Options.MaxPushes or a
// quarter of Options.MaxBytes is reached.
func (p *Pushes) Put(ctx context.Context, c store.Push) (uint64, error) {
	return p.put(ctx, &c, "")
}

// Add implements store.PushStore.
func (p *Pushes) Add(ctx context.Context, c store.Push) (uint64, error) {
	return p.put(ctx, &c, "1")
}

// put runs the script of Put or, if add is "1", of Add.
func (p *Pushes) put(ctx context.Context, c *store.Push, add string) (uint64, error) {
	config := writePush(c)
	generation, err := p.store.count(ctx, p.store.scripts.put, len(config), []any{
		nameOf(c.Task), c.Config.ID, config, c.Acked, expiry(c), string(c.Replica), millis(p.store.options.keyTTL()), maxPerTask, p.store.options.MaxPushes,
		principalOf(c.Task), add, p.store.options.MaxBytes / 4, c.Through, shareOf(c.Task.Owner),
	})
	switch {
	case err != nil:
		return 0, err
	case generation == 0:
		return 0, store.ErrFull
	case generation < 0:
		return 0, store.ErrExists
	}
	return uint64(generation), nil
}

// Get implements store.PushStore.
func (p *Pushes) Get(ctx context.Context, task store.Key, id string) (store.Push, error) {
	reply, err := p.store.calls.command(ctx, "HMGET", p.key(task), "c"+id, "s"+id)
	if err != nil {
		return store.Push{}, err
	}
	fields, ok := reply.([]any)
	if !ok || len(fields) != 2 {
		return store.Push{}, errReply(reply)
	}
	if fields[0] == nil || fields[1] == nil {
		return store.Push{}, store.ErrNotFound
	}
	a := newReplyReader(reply)
	c, err := readPush(a.text(), a.text())
	if err != nil || a.err != nil {
		return store.Push{}, cmp.Or(a.err, err)
	}
	if p.expired(&c) {
		return store.Push{}, store.ErrNotFound
	}
	return c, nil
}

// List implements store.PushStore.
func (p *Pushes) List(ctx context.Context, task store.Key) ([]store.Push, error) {
	reply, err := p.store.calls.command(ctx, "HGETALL", p.key(task))
	if err != nil {
		return nil, err
	}
	configs := map[string]string{}
	states := map[string]string{}
	a := newReplyReader(reply)
	for a.more() {
		field := a.text()
		value := a.text()
		if id, ok := strings.CutPrefix(field, "c"); ok {
			configs[id] = value
		} else {
			states[strings.TrimPrefix(field, "s")] = value
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	var all []store.Push
	for id, config := range configs {
		c, err := readPush(config, states[id])
		if err != nil {
			return nil, err
		}
		if !p.expired(&c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b store.Push) int { return cmp.Compare(a.Generation, b.Generation) })
	return all, nil
}

// Advance implements store.PushStore.
func (p *Pushes) Advance(ctx context.Context, c store.Push) error {
	return p.move(ctx, &c, strconv.FormatUint(c.Acked, 10), expiry(&c), "")
}

// Adopt implements store.SharedPushStore.
func (p *Pushes) Adopt(ctx context.Context, c store.Push, by store.Replica) error {
	return p.move(ctx, &c, "", "", string(by))
}

func (p *Pushes) move(ctx context.Context, c *store.Push, acked, expires, by string) error {
	answer, err := p.store.count(ctx, p.store.scripts.advance, 0, []any{
		nameOf(c.Task), c.Config.ID, c.Generation, string(c.Replica), acked, expires, millis(p.store.options.keyTTL()), by,
		principalOf(c.Task), c.Through,
	})
	if err == nil && answer == 1 {
		return store.ErrNotFound
	}
	return err
}

// Delete implements store.PushStore.
func (p *Pushes) Delete(ctx context.Context, task store.Key, id string) error {
	_, err := p.store.calls.run(ctx, p.store.scripts.remove, nameOf(task), id, principalOf(task))
	return err
}

// Unfinished implements store.PushStore.
func (p *Pushes) Unfinished(ctx context.Context, yield func(store.Push) bool) error {
	var undecodable error
	for after := uint64(0); ; {
		reply, err := p.store.calls.run(ctx, p.store.scripts.open, after, openPage)
		if err != nil {
			return err
		}
		a := newReplyReader(reply)
		if !a.more() {
			return cmp.Or(a.err, undecodable)
		}
		after = a.number()
		if a.err != nil {
			return a.err
		}
		for a.more() {
			content := a.text()
			state := a.text()
			c, err := readPush(content, state)
			switch {
			case a.err != nil:
				return a.err
			case err != nil:
				undecodable = cmp.Or(undecodable, err)
			case !yield(c):
				return nil
			}
		}
	}
}

func (p *Pushes) key(task store.Key) string { return p.store.options.Prefix + "p:" + nameOf(task) }

func (p *Pushes) expired(c *store.Push) bool {
	return c.Ended() && !p.store.options.Now().Before(c.Expires)
}

// expiry returns the time until which a push configuration can be read, in Unix milliseconds.
// It returns "" while there may be events to deliver (store.Push.Ended).
func expiry(c *store.Push) string {
	if !c.Ended() {
		return ""
	}
	return strconv.FormatInt(c.Expires.UnixMilli(), 10)
}

// writePush encodes the fields that do not change.
func writePush(p *store.Push) []byte {
	w := writer{buf: []byte{formatV1, byte(p.Config.Dialect)}}
	c := &p.Config
	for _, s := range []string{string(p.Task.Owner), p.Task.TaskID, c.ID, c.TaskID, c.URL, c.Token, c.Scheme, c.Credentials, c.Trace.Parent, c.Trace.State} {
		w.text(s)
	}
	w.texts(c.Extensions)
	w.text(strconv.FormatUint(p.Since, 10))
	return w.buf
}

// readPush decodes a configuration and its state: generation, Acked, Expires and
// replica. If Through is not 0, it follows Acked, after a hyphen.
func readPush(config, state string) (p store.Push, err error) {
	r := reader{buf: []byte(config)}
	r.version()
	c := &p.Config
	c.Dialect = a2a.Dialect(r.byte())
	p.Task.Owner = a2a.Owner(r.text())
	for _, s := range []*string{&p.Task.TaskID, &c.ID, &c.TaskID, &c.URL, &c.Token, &c.Scheme, &c.Credentials, &c.Trace.Parent, &c.Trace.State} {
		*s = r.text()
	}
	c.Extensions = r.texts()
	since := r.text()
	if err := r.end(); err != nil {
		return p, err
	}
	fields := strings.SplitN(state, " ", 4)
	if len(fields) != 4 {
		return p, errFormat
	}
	acked, through, joined := strings.Cut(fields[1], "-")
	if !joined {
		through = "0"
	}
	for _, each := range []struct {
		to   *uint64
		text string
	}{{&p.Generation, fields[0]}, {&p.Acked, acked}, {&p.Through, through}, {&p.Since, since}} {
		if *each.to, err = strconv.ParseUint(each.text, 10, 64); err != nil {
			return p, fmt.Errorf("%w: %w", errFormat, err)
		}
	}
	if fields[2] != "" {
		millis, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return p, fmt.Errorf("%w: %w", errFormat, err)
		}
		p.Expires = time.UnixMilli(millis).UTC()
	}
	p.Replica = store.Replica(fields[3])
	return p, nil
}

// count runs a script that returns a number, with retries for Options.Timeout. The script
// must be idempotent, because it may run twice.
func (s *Store) count(ctx context.Context, what *script, size int, args []any) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err = store.Retry(ctx, func() error {
		reply, err := s.calls.pipelined(ctx, what, size, args...)
		if err != nil {
			return err
		}
		n, err = integer(reply)
		return err
	})
	return n, err
}
