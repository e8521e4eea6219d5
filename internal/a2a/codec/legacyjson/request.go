// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package legacyjson

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

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

// Get returns the request to get the task.
func (p *TaskParams) Get() *a2a.GetRequest {
	return &a2a.GetRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}
}

// Cancel returns the request to cancel the task.
func (p *TaskParams) Cancel() *a2a.CancelRequest {
	return &a2a.CancelRequest{TaskID: p.ID, Metadata: p.Metadata}
}

// Subscribe returns the request to subscribe to the task.
func (p *TaskParams) Subscribe() *a2a.SubscribeRequest {
	return &a2a.SubscribeRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}
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
// uses the first one that is Bearer or Basic, or else the first one.
func (d *Decoder) authentication(c *a2a.PushConfig) {
	for name := range d.Members() {
		switch string(name) {
		case "schemes":
			schemes := d.Strings(MaxStrings)
			for _, s := range schemes {
				if strings.EqualFold(s, "Bearer") || strings.EqualFold(s, "Basic") {
					c.Scheme = s
					break
				}
			}
			if c.Scheme == "" && len(schemes) > 0 {
				c.Scheme = schemes[0]
			}
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
