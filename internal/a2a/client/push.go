// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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

// noPush says what versions before 1.0 lack.
const noPush = "has no push configurations that this client supports"

// CreatePushConfig registers a push configuration of a task. Like all methods for push configurations, it returns an
// *Error like List unless the agent speaks 1.0.
func (c *Client) CreatePushConfig(ctx context.Context, config *a2a.PushConfig) (*PushConfig, error) {
	return c.pushConfig(ctx, &request{op: opCreatePush, taskID: config.TaskID, push: config})
}

// GetPushConfig returns a push configuration of a task.
func (c *Client) GetPushConfig(ctx context.Context, r *a2a.PushRequest) (*PushConfig, error) {
	return c.pushConfig(ctx, &request{op: opGetPush, tenant: r.Tenant, taskID: r.TaskID, push: &a2a.PushConfig{ID: r.ID}})
}

// ListPushConfigs returns a page of the push configurations of a task.
func (c *Client) ListPushConfigs(ctx context.Context, r *a2a.ListPushRequest) (*PushPage, error) {
	var answer struct {
		Configs       []json.RawMessage `json:"configs"`
		NextPageToken string            `json:"nextPageToken"`
	}
	text, err := c.callV10(ctx, noPush, &request{op: opListPush, tenant: r.Tenant, taskID: r.TaskID, pageToken: r.PageToken}, &answer)
	if err != nil {
		return nil, err
	}
	page := &PushPage{NextPageToken: answer.NextPageToken, JSON: text}
	for _, each := range answer.Configs {
		config := &PushConfig{}
		if err := json.Unmarshal(each, config); err != nil {
			return nil, c.explain(ctx, &DecodeError{Text: each, Err: err})
		}
		config.JSON, err = compact(each)
		if err != nil {
			return nil, c.explain(ctx, err)
		}
		page.Configs = append(page.Configs, config)
	}
	return page, nil
}

// DeletePushConfig removes a push configuration of a task.
func (c *Client) DeletePushConfig(ctx context.Context, r *a2a.PushRequest) error {
	_, err := c.callV10(ctx, noPush, &request{op: opDeletePush, tenant: r.Tenant, taskID: r.TaskID, push: &a2a.PushConfig{ID: r.ID}}, nil)
	return err
}

func (c *Client) pushConfig(ctx context.Context, r *request) (*PushConfig, error) {
	out := &PushConfig{}
	var err error
	out.JSON, err = c.callV10(ctx, noPush, r, out)
	if err != nil {
		return nil, err
	}
	return out, nil
}
