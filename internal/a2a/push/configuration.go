// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

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
	return p.set(ctx, key, log, r.Config, start{})
}

// Check checks a configuration that comes with a message. The engine calls it.
func (p *Pushes) Check(_ context.Context, c a2a.PushConfig) error {
	return p.check(&c, sendFields(c.Dialect))
}

// Attach adds the configuration of a message that has created the task or is about to continue
// it. Check has accepted the configuration. The delivery begins after the event numbered after,
// the last one that the caller knows, even if that event ended the task.
func (p *Pushes) Attach(ctx context.Context, task store.Key, c a2a.PushConfig, after uint64) error {
	return p.attach(ctx, task, c, start{first: true, after: after})
}

// Reattach adds the configuration of a message that a client has sent again, if the task does
// not have it. Check has accepted the configuration. The delivery begins after the event
// numbered after, with which the turn of the message began. If the task has ended since, the
// delivery includes at least the last event.
//
// If the task has the configuration, Reattach changes nothing: the cursor keeps its position,
// and a delivery that has ended does not begin again.
func (p *Pushes) Reattach(ctx context.Context, task store.Key, c a2a.PushConfig, after uint64) error {
	return p.attach(ctx, task, c, start{repeated: true, after: after})
}

func (p *Pushes) attach(ctx context.Context, task store.Key, c a2a.PushConfig, at start) error {
	log, err := p.open(ctx, task)
	if err != nil {
		return err
	}
	_, err = p.set(ctx, task, log, c, at)
	return err
}

// start is the place in the log of a task at which the delivery of a new configuration begins.
// The zero value is the end of the log.
type start struct {
	// first is true if the configuration comes with the first copy of a message, and repeated if
	// it comes with a message that a client has sent again.
	first, repeated bool
	// after is the number of the event after which the delivery begins. It is used only if first
	// or repeated is true.
	after uint64
}

// set stores a configuration and follows its task.
func (p *Pushes) set(ctx context.Context, task store.Key, log store.Log, c a2a.PushConfig, at start) (*a2a.PushConfig, error) {
	defer p.lockConfigs(task.Owner)()
	c.TaskID = task.TaskID
	c.ID = cmp.Or(c.ID, task.TaskID)
	next, err := p.put(ctx, task, log, c, at, p.options.Configs.Add)
	if errors.Is(err, store.ErrExists) {
		// Another replica has added the configuration since put looked for it. Its delivery
		// may have advanced.
		next, err = p.put(ctx, task, log, c, at, p.options.Configs.Put)
	}
	if err != nil {
		return nil, err
	}
	if next.Replica == p.self() && !p.followsGeneration(&next) {
		p.follow(next, log)
	}
	return &next.Config, nil
}

// lockConfigs locks configMu of an owner.
func (p *Pushes) lockConfigs(owner a2a.Owner) (unlock func()) {
	mu := &p.configMu[maphash.String(p.seed, string(owner))%uint64(len(p.configMu))]
	mu.Lock()
	return mu.Unlock
}

// put stores a configuration and returns it. If the store has the configuration of this message,
// put changes nothing and returns the stored one. put calls add if the task has no configuration
// with the id.
func (p *Pushes) put(
	ctx context.Context, task store.Key, log store.Log, c a2a.PushConfig, at start,
	add func(context.Context, store.Push) (uint64, error),
) (store.Push, error) {
	former, err := p.options.Configs.Get(ctx, task, c.ID)
	exists := err == nil
	switch {
	case exists && at.repeated && isSame(&former.Config, &c):
		return former, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return store.Push{}, storeError("read push configuration", task.TaskID, err)
	case exists && at.first && at.after < former.Acked && isSame(&former.Config, &c):
		// A former task of this id had the configuration, or this replica hung after it had created the task: another one has taken the task
		// over and has delivered events.
		holds, err := p.holds(ctx, task)
		if err != nil {
			return store.Push{}, storeError("read owner of task", task.TaskID, err)
		}
		if !holds {
			return former, nil
		}
	}
	// The task is read after the cursor, so that its last event is not older than the cursor.
	now, err := log.Snapshot(ctx)
	if err != nil {
		return store.Push{}, storeError("read task", task.TaskID, err)
	}
	next := p.begin(task, c, now, at)
	if exists {
		add = p.options.Configs.Put
	}
	if exists && !former.Ended() {
		// The new configuration delivers the events that the former configuration has not
		// delivered.
		next.Acked = min(former.Acked, now.Seq)
		next.Through = resumed(former).Through
		next.Expires = time.Time{}
		if !at.first {
			next.Since = former.Since
		}
	}
	if next.Generation, err = add(ctx, next); err != nil {
		return store.Push{}, storeError("store push configuration", task.TaskID, err)
	}
	return next, nil
}

// holds reports whether this replica runs the task.
func (p *Pushes) holds(ctx context.Context, task store.Key) (bool, error) {
	if p.shared == nil {
		return true, nil
	}
	hold, err := p.shared.Holder(ctx, task)
	return hold.Replica == p.self(), err
}

// begin returns a new configuration, with its cursor. now is the current task.
func (p *Pushes) begin(task store.Key, c a2a.PushConfig, now *a2a.Record, at start) store.Push {
	next := store.Push{Task: task, Config: c, Acked: now.Seq, Replica: p.self()}
	ended := now.Task.Status.State.Terminal()
	switch {
	case at.repeated && ended:
		next.Acked = min(at.after, now.Seq-1) // the delivery includes at least the last event
		next.Since = next.Acked
	case at.first, at.repeated:
		next.Acked = min(at.after, now.Seq)
		next.Since = next.Acked
	case ended:
		next.Expires = p.options.Now().Add(p.options.Keep)
	}
	return next
}

// isSame reports whether two configurations with the same id have the same receiver, with the
// same secrets.
func isSame(a, b *a2a.PushConfig) bool {
	return a.URL == b.URL && a.Token == b.Token && a.Scheme == b.Scheme && a.Credentials == b.Credentials
}

// self returns this replica, or "" if no other replica uses the store.
func (p *Pushes) self() store.Replica {
	if p.shared == nil {
		return ""
	}
	return p.shared.Self()
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
// contains the last id of the previous page. A change between two pages therefore moves no
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
	defer p.lockConfigs(task.Owner)()
	if err := p.options.Configs.Delete(ctx, task, config); err != nil {
		return storeError("delete push configuration", task.TaskID, err)
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
		return nil, storeError("list push configurations", task.TaskID, err)
	}
	return all, nil
}

// storeError translates an error of the store into an error that contains the *a2a.Error for the client.
func storeError(operation, task string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a2a.TaskNotFound(task)
	case errors.Is(err, store.ErrFull):
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "The task has too many push notification configs, or the store has no room for another one; delete one", TaskID: task}
	default:
		return store.ClientError(operation, err)
	}
}

// Bounds of the fields of a configuration, in bytes.
const (
	maxID          = 256
	maxToken       = 4 << 10
	maxScheme      = 64
	maxCredentials = 8 << 10
)

// fields are the names of the fields of a configuration in the requests of a dialect.
type fields struct {
	prefix string
	// flat is true if the dialect has a single authentication scheme.
	flat bool
}

// setFields returns the fields of a request that sets a configuration.
func setFields(d a2a.Dialect) fields {
	if isV10(d) {
		return fields{flat: true}
	}
	return fields{prefix: "pushNotificationConfig."}
}

// sendFields returns the fields of a request that sends a message.
func sendFields(d a2a.Dialect) fields {
	switch {
	case isV10(d):
		return fields{prefix: "configuration.taskPushNotificationConfig.", flat: true}
	case d == a2a.DialectV01:
		return fields{prefix: "pushNotification."}
	default:
		return fields{prefix: "configuration.pushNotificationConfig."}
	}
}

func (f fields) scheme() string {
	if f.flat {
		return f.prefix + "authentication.scheme"
	}
	return f.prefix + "authentication.schemes"
}

// check returns an *a2a.Error for a configuration that is not valid or not allowed.
func (p *Pushes) check(c *a2a.PushConfig, f fields) error {
	switch {
	case len(c.ID) > maxID:
		return tooLong(f.prefix+"id", maxID)
	case strings.ContainsFunc(c.ID, func(r rune) bool { return r < ' ' || r == '/' || r == 0x7f }):
		return a2a.InvalidParams(f.prefix+"id", "must hold no '/' and no control character")
	}
	if err := p.options.Guard.Check(f.prefix+"url", c.URL); err != nil {
		return err
	}
	for _, h := range []struct {
		field, value string
		limit        int
	}{
		{f.prefix + "token", c.Token, maxToken},
		{f.prefix + "authentication.credentials", c.Credentials, maxCredentials},
	} {
		if len(h.value) > h.limit {
			return tooLong(h.field, h.limit)
		}
		if !headerValue(h.value) {
			return a2a.InvalidParams(h.field, "must be visible ASCII, to be sent in a header")
		}
	}
	if len(c.Scheme) > maxScheme || !headerToken(c.Scheme) {
		return a2a.InvalidParams(f.scheme(), "must be the name of an HTTP authentication scheme, such as Bearer")
	}
	if c.Credentials != "" && c.Scheme == "" {
		return a2a.InvalidParams(f.scheme(), "is required with credentials")
	}
	return nil
}

func tooLong(field string, limit int) error {
	return a2a.InvalidParams(field, "must have at most "+strconv.Itoa(limit)+" bytes")
}

// headerValue reports whether a header can contain a value unchanged.
func headerValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// headerToken reports whether s is a token (RFC 9110, section 5.6.2) or empty.
func headerToken(s string) bool {
	return strings.Trim(s, "!#$%&'*+-.^_`|~0123456789"+
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
