// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"context"
	"encoding/json"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// PushConfig is a push configuration of a task. Only the field JSON contains its secrets.
type PushConfig struct {
	ID             string `json:"id"`
	TaskID         string `json:"taskId"`
	URL            string `json:"url"`
	Authentication struct {
		Scheme string `json:"scheme"`
	} `json:"authentication"`
	// JSON is the TaskPushNotificationConfig that the agent sent, on one line. It may contain the token and the credentials.
	JSON []byte `json:"-"`
}

// PushPage is a page of push configurations. JSON is the response, on one line.
type PushPage struct {
	Configs       []*PushConfig
	NextPageToken string
	JSON          []byte
}

// CreatePush registers a push configuration of a task. Like all methods for push configurations, it returns an error
// unless the agent speaks 1.0 and its card declares push notifications.
func (c *Client) CreatePush(ctx context.Context, config *a2a.PushConfig) (*PushConfig, error) {
	return c.pushConfig(ctx, clientdialect.CreatePush, &params{taskID: config.TaskID, push: config})
}

// Push returns a push configuration of a task.
func (c *Client) Push(ctx context.Context, taskID, id string) (*PushConfig, error) {
	return c.pushConfig(ctx, clientdialect.GetPush, &params{taskID: taskID, push: &a2a.PushConfig{ID: id}})
}

// Pushes returns a page of the push configurations of a task.
func (c *Client) Pushes(ctx context.Context, taskID, pageToken string) (*PushPage, error) {
	text, err := c.callPush(ctx, clientdialect.ListPush, &params{taskID: taskID, pageToken: pageToken})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Configs       []json.RawMessage `json:"configs"`
		NextPageToken string            `json:"nextPageToken"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, unreadable(err)
	}
	page := &PushPage{NextPageToken: answer.NextPageToken}
	for _, each := range answer.Configs {
		config, err := readPush(each)
		if err != nil {
			return nil, err
		}
		page.Configs = append(page.Configs, config)
	}
	page.JSON, err = compact(text)
	return page, err
}

// DeletePush removes a push configuration of a task.
func (c *Client) DeletePush(ctx context.Context, taskID, id string) error {
	_, err := c.callPush(ctx, clientdialect.DeletePush, &params{taskID: taskID, push: &a2a.PushConfig{ID: id}})
	return err
}

func (c *Client) pushConfig(ctx context.Context, op clientdialect.Operation, p *params) (*PushConfig, error) {
	text, err := c.callPush(ctx, op, p)
	if err != nil {
		return nil, err
	}
	return readPush(text)
}

// callPush sends a request about push configurations. It returns an error for an agent without them.
func (c *Client) callPush(ctx context.Context, op clientdialect.Operation, p *params) ([]byte, error) {
	switch {
	case c.endpoint.Version != version.V10:
		return nil, failure.New(failure.OfReason(a2a.ReasonUnsupportedOperation), "the CLI supports push configurations of A2A 1.0 only, and the interface of the agent has version %s", c.endpoint.Version)
	case !c.card.Capabilities.PushNotifications:
		return nil, failure.New(failure.OfReason(a2a.ReasonPushNotSupported), "the agent does not support push notifications: its card does not set capabilities.pushNotifications")
	}
	return c.call(ctx, op, p)
}

func readPush(text []byte) (*PushConfig, error) {
	out := &PushConfig{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, unreadable(err)
	}
	var err error
	out.JSON, err = compact(text)
	return out, err
}
