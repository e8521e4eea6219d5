// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryclient is the CLI's client of the registry: it searches agents, reads their
// cards, and watches changes.
//
// It returns errors of package failure.
package registryclient

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/registryapi"
)

const (
	// maxResponse bounds a response that is no stream, in bytes. A page of the registry has 4 MiB.
	maxResponse = 8 << 20
	// requestTimeout bounds a request whose response is no stream.
	requestTimeout = 30 * time.Second
)

// Client calls one registry. It is safe for concurrent use.
type Client struct {
	// HTTP sends the requests. Required.
	HTTP *http.Client
	// URL is the root of the registry. Required.
	URL *url.URL
	// Token returns a token for the registry, "" for none. It is called before each request, as a
	// watch may last longer than a token. Required.
	Token func(ctx context.Context) (string, error)
}

// Search returns a page of agents that match.
func (c *Client) Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error) {
	page := &registryapi.Page{}
	if err := c.get(ctx, q.PageParameters(), page, "v1", "agents"); err != nil {
		return nil, err
	}
	return page, nil
}

// Agent returns an agent. For an agent that does not exist or that the caller may not see, it
// returns a failure with the code CardNotFound.
func (c *Client) Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error) {
	agent := &registryapi.Agent{}
	if err := c.get(ctx, nil, agent, "v1", "agents", url.PathEscape(namespace), url.PathEscape(name)); err != nil {
		return nil, err
	}
	return agent, nil
}

// Card returns the text of a card: the card of A2A 1.0 for the version 1.0, and the union card
// for "".
func (c *Client) Card(ctx context.Context, namespace, name, version string) ([]byte, error) {
	header := http.Header{}
	if version != "" {
		header.Set("A2a-Version", version)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	return c.read(ctx, header, nil, "v1", "agents", url.PathEscape(namespace), url.PathEscape(name), "card")
}

var errSlow = failure.New(failure.Unreachable, "the registry did not respond within %s", requestTimeout)

func (c *Client) get(ctx context.Context, query url.Values, into any, path ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	text, err := c.read(ctx, http.Header{}, query, path...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return failure.Wrap(failure.Internal, err, "read the response of the registry").WithHint("%s may not be a registry", c.URL)
	}
	return nil
}

// read returns the body of a response with status 200.
func (c *Client) read(ctx context.Context, header http.Header, query url.Values, path ...string) ([]byte, error) {
	response, err := c.do(ctx, header, query, path...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if len(text) > maxResponse {
		return nil, failure.New(failure.Internal, "the response of the registry has more than %d bytes", maxResponse)
	}
	return text, nil
}

// do returns a response with status 200. The caller closes its body.
func (c *Client) do(ctx context.Context, header http.Header, query url.Values, path ...string) (*http.Response, error) {
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	u := c.URL.JoinPath(path...)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "make request")
	}
	r.Header = header
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, refusal(response, token != "")
	}
	return response, nil
}

// tokenHint is the hint for a refused token.
const tokenHint = "the registry accepts tokens of ServiceAccounts for the audience a2a-operator.dev, and of its OpenID Connect issuer: set A2ACLI_REGISTRY_TOKEN"

// refusal returns the failure for a response with another status than 200.
func refusal(response *http.Response, authenticated bool) error {
	const maxError = 64 << 10
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError)) // the status remains
	_ = json.Unmarshal(text, &body)
	message := cmp.Or(body.Error.Message, response.Status)
	switch {
	case response.StatusCode == http.StatusUnauthorized && !authenticated:
		return failure.New(failure.CredentialsMissing, "the registry needs a token").WithHint(tokenHint)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		return failure.New(failure.AuthFailed, "the registry does not accept the token: %s", message).WithHint(tokenHint)
	case response.StatusCode == http.StatusNotFound && strings.HasSuffix(response.Request.URL.Path, "/v1/agents"):
		return failure.New(failure.Unreachable, "%s is not a registry", response.Request.URL.Host).WithHint("name the URL of the registry, without a path")
	case response.StatusCode == http.StatusNotFound:
		return failure.New(failure.CardNotFound, "there is no such agent, or you may not see it")
	case response.StatusCode == http.StatusBadRequest:
		return failure.New(failure.Usage, "the registry refuses the search: %s", message)
	default:
		return failure.New(failure.Unreachable, "the registry does not respond to the request: %s", message).WithHint("try again")
	}
}

// explain returns the failure for the error of a connection. If ctx has ended, it returns context.Cause(ctx).
func (c *Client) explain(ctx context.Context, err error) error {
	return a2aclient.ExplainConnection(ctx, err, c.URL)
}
