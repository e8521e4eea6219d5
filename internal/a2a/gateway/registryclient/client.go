// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryclient reads the registry through the gateway. The endpoints that the
// gateway itself serves use it. All URLs in its results lead through the gateway.
package registryclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// timeout bounds one request.
	timeout = 10 * time.Second
	// maxAnswer is the maximum size of a response in bytes. A page of the registry has at most 4
	// MiB plus one entry.
	maxAnswer = 8 << 20
	// maxQuery is the maximum length of the parameters of a search, in bytes. The registry
	// accepts headers of up to 32 KiB.
	maxQuery = 24 << 10
	// maxMessage is the maximum length of the text of the registry's error in a result, in
	// bytes.
	maxMessage = 1024
)

// Client reads the registry. It is safe for concurrent use. Its errors are *a2a.Error. If ctx
// ends, the error wraps the cause of its end.
type Client struct {
	// Gateway sends requests through the gateway.
	Gateway http.RoundTripper
}

// Find searches the registry with the parameters of the registry's API. origin is the URL
// by which the client has reached the gateway, without a slash at its end.
func (c *Client) Find(ctx context.Context, origin string, parameters url.Values) (*directory.Page, error) {
	query := parameters.Encode()
	if len(query) > maxQuery {
		return nil, a2a.InvalidParams("", "have more than "+strconv.Itoa(maxQuery)+" bytes as parameters of a search; shorten them")
	}
	text, err := c.get(ctx, origin, request{path: "/v1/agents?" + query, missing: "no agents"})
	if err != nil {
		return nil, err
	}
	page := &directory.Page{}
	if err := json.Unmarshal(text, page); err != nil || page.Items == nil {
		return nil, errUnreadable
	}
	return page, nil
}

// Entry returns the registry's entry of an agent as a JSON object.
func (c *Client) Entry(ctx context.Context, origin string, a directory.Agent) (json.RawMessage, error) {
	return c.object(ctx, origin, request{path: "/v1/agents/" + a.String(), missing: "no agent " + a.String()})
}

// Card returns the card of an agent as a JSON object: the card of 1.0 if version is "1.0",
// and the union card for any other version.
func (c *Client) Card(ctx context.Context, origin string, a directory.Agent, version string) (json.RawMessage, error) {
	return c.object(ctx, origin, request{path: "/v1/agents/" + a.String() + "/card", missing: "no card of agent " + a.String(), version: version})
}

// request is a request to the registry. If the response is 404, missing describes what does
// not exist. version is the version of a card, "" for any.
type request struct{ path, missing, version string }

func (c *Client) object(ctx context.Context, origin string, q request) (json.RawMessage, error) {
	text, err := c.get(ctx, origin, q)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return nil, errUnreadable
	}
	return text, nil
}

var errUnreadable error = &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The registry sent an invalid response; try again", RetryAfter: time.Second}

func (c *Client) get(ctx context.Context, origin string, q request) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(bounded, http.MethodGet, origin+"/registry"+q.path, http.NoBody)
	if err != nil {
		return nil, a2a.InvalidParams("", "make no request of the registry")
	}
	if q.version != "" {
		r.Header.Set("A2A-Version", q.version)
	}
	response, err := c.Gateway.RoundTrip(r)
	if err != nil {
		return nil, late(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, late(ctx, err)
	case len(text) > maxAnswer:
		return nil, errUnreadable
	case response.StatusCode == http.StatusOK:
		return text, nil
	default:
		return nil, refused(response.StatusCode, text, q.missing)
	}
}

// late returns the error for a request whose response did not arrive in time, or did not
// arrive completely.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("read the registry: %w", context.Cause(ctx))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The registry did not answer within " + timeout.String() + "; try again", RetryAfter: time.Second}
	}
	return errUnreadable
}

// refused returns the error for a response with a status other than 200.
func refused(status int, text []byte, missing string) error {
	var answer struct {
		Error struct {
			Message string `json:"message"`
			Field   string `json:"field"`
		} `json:"error"`
	}
	_ = json.Unmarshal(text, &answer)
	message := safetext.Clip(answer.Error.Message, maxMessage)
	switch {
	case status == http.StatusNotFound:
		return &a2a.Error{
			Reason:  a2a.ReasonPermissionDenied,
			Message: "The registry lists " + missing + " that this agent may see: check namespace and name, or search for it",
		}
	case status == http.StatusBadRequest && message != "":
		return &a2a.Error{Reason: a2a.ReasonInvalidParams, Message: message, Field: answer.Error.Field}
	case message != "":
		return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: message, RetryAfter: time.Second}
	default:
		return errUnreadable
	}
}
