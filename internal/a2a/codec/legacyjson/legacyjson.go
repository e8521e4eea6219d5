// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package legacyjson decodes and encodes the elements that the JSON of A2A 0.1 shares with
// the JSON of 0.2 and 0.3: scalars, requests that name a task, and push configurations.
// Package typedpart has the parts. The package is pure.
package legacyjson

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// Limits of a request.
const (
	// maxID bounds an id, in bytes.
	maxID = 256
	// MaxStrings bounds an array of strings.
	MaxStrings = 256
)

// Decoder reads the objects that occur in both requests and events. It reads a request
// strictly, and an event leniently. Events come from the agent's container, or from the
// A2A server that this process calls.
type Decoder struct {
	jsonread.Reader
	// Agent is true for an event. StartEvent sets it.
	Agent bool
}

// StartRequest starts reading a request. variantOf is the argument of
// jsonread.Reader.Spell.
func (d *Decoder) StartRequest(text []byte, variantOf func(name []byte) string) {
	d.Start(text)
	d.Spell(variantOf)
}

// StartEvent starts reading an event.
func (d *Decoder) StartEvent(text []byte) {
	d.Agent = true
	d.Start(text)
}

// ID reads the id of a task, a context, a message or a push configuration.
func (d *Decoder) ID() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// State reads a task state, in any spelling.
func (d *Decoder) State() a2a.State {
	state, ok := scalar.ParseState(d.String())
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

// Status reads a TaskStatus. message reads the message of the status. hasState is false if
// the agent omitted the state. This is allowed for a task, but not for an update, because an
// update without a state would change nothing.
func (d *Decoder) Status(message func() *a2a.Message) (s a2a.Status, hasState bool) {
	for name := range d.Members() {
		switch string(name) {
		case "state":
			s.State, hasState = d.State(), true
		case "message":
			s.Message = message()
		case "timestamp":
			s.Time = d.Time()
		}
	}
	return s, hasState
}

// Role reads a role, in any spelling.
func (d *Decoder) Role() a2a.Role {
	role, ok := scalar.ParseRole(d.String())
	if !ok {
		d.Fail(`must be "user" or "agent"`)
	}
	return role
}

// Time reads a time. It returns the zero time for an invalid time of an agent.
func (d *Decoder) Time() time.Time {
	t, ok := scalar.ParseTime(d.String())
	if !ok && !d.Agent {
		d.Fail("must be an RFC 3339 time")
	}
	return t
}

// HistoryLength reads a number of messages, which must not be negative.
func (d *Decoder) HistoryLength() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return &n
}

// CheckMessage fails if a message of a client has no parts. It sets a missing role to the
// sender of the message: user for a client, agent for an agent.
func (d *Decoder) CheckMessage(m *a2a.Message) {
	if !d.Agent && len(m.Parts) == 0 {
		d.FailAt("parts", "must have at least one element")
	}
	switch {
	case m.Role != a2a.RoleUnspecified:
	case d.Agent:
		m.Role = a2a.RoleAgent
	default:
		m.Role = a2a.RoleUser
	}
}

// TaskParams has the members of TaskIdParams and TaskQueryParams.
type TaskParams struct {
	ID string
	// HistoryLength is the default of the protocol version if the member is absent.
	HistoryLength *int
	Metadata      a2a.Object
}

// TaskParams reads TaskIdParams or TaskQueryParams, which must have an id, to the end of
// the text. historyLength is the default of the protocol version.
func (d *Decoder) TaskParams(historyLength *int) (TaskParams, error) {
	p := TaskParams{HistoryLength: historyLength}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			p.ID = d.ID()
		case "historyLength":
			p.HistoryLength = d.HistoryLength()
		case "metadata":
			p.Metadata = d.Object()
		}
	}
	if p.ID == "" {
		d.FailAt("id", "is required")
	}
	return p, d.End()
}

// Get returns the request to get the task, and the error of TaskParams.
func Get(p TaskParams, err error) (*a2a.GetRequest, error) {
	return &a2a.GetRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}, err
}

// Cancel returns the request to cancel the task, and the error of TaskParams.
func Cancel(p TaskParams, err error) (*a2a.CancelRequest, error) {
	return &a2a.CancelRequest{TaskID: p.ID, Metadata: p.Metadata}, err
}

// Subscribe returns the request to subscribe to the task, and the error of TaskParams.
func Subscribe(p TaskParams, err error) (*a2a.SubscribeRequest, error) {
	return &a2a.SubscribeRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}, err
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = AppendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendHistoryLength appends a comma and the member historyLength. It appends nothing if n
// is nil.
func AppendHistoryLength(dst []byte, n *int) []byte {
	if n == nil {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}

// SetPush reads a TaskPushNotificationConfig to the end of the text. taskID is the name of
// the member that contains the id of the task.
func (d *Decoder) SetPush(dialect a2a.Dialect, taskID string) (*a2a.SetPushRequest, error) {
	var config *a2a.PushConfig
	task := ""
	for name := range d.Members() {
		switch string(name) {
		case taskID:
			task = d.ID()
		case "pushNotificationConfig":
			config = d.PushConfig(dialect)
		}
	}
	if task == "" {
		d.FailAt(taskID, "is required")
	}
	if config == nil {
		d.FailAt("pushNotificationConfig", "is required")
		config = &a2a.PushConfig{}
	}
	config.TaskID = task
	return &a2a.SetPushRequest{Config: *config}, d.End()
}

// PushConfig reads a PushNotificationConfig, which must have a URL. In 0.1 it has no id,
// because a task has one configuration.
func (d *Decoder) PushConfig(dialect a2a.Dialect) *a2a.PushConfig {
	c := &a2a.PushConfig{Dialect: dialect}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			if dialect != a2a.DialectV01 {
				c.ID = d.ID()
			}
		case "url":
			c.URL = d.String()
		case "token":
			c.Token = d.String()
		case "authentication":
			d.authentication(c)
		}
	}
	if c.URL == "" {
		d.FailAt("url", "is required")
	}
	return c
}

// authentication reads an AuthenticationInfo. If it has several schemes, authentication
// uses scalar.PreferredScheme.
func (d *Decoder) authentication(c *a2a.PushConfig) {
	for name := range d.Members() {
		switch string(name) {
		case "schemes":
			c.Scheme = scalar.PreferredScheme(d.Strings(MaxStrings))
		case "credentials":
			c.Credentials = d.String()
		}
	}
}

// AppendPush appends a TaskPushNotificationConfig. before is the text up to the id of the
// task. id is the id of the configuration, "" in 0.1.
func AppendPush(dst []byte, before string, c *a2a.PushConfig, id string) []byte {
	dst = jsonwrite.Member(dst, before, c.TaskID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = AppendPushConfig(dst, c, id)
	return append(dst, '}')
}

// AppendPushConfig appends a PushNotificationConfig with an id, "" in 0.1.
func AppendPushConfig(dst []byte, c *a2a.PushConfig, id string) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, id)
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, `,"authentication":{"schemes":[`, c.Scheme)
		dst = append(dst, ']')
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
