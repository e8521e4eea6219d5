// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

const (
	// maxAnswer bounds an event, and a response that is no stream, in bytes.
	maxAnswer = 64 << 20
	// maxMemory bounds what an event or a response takes while it is decoded, by estimate, in bytes.
	maxMemory = 256 << 20
	// unlimited is the limit of the time for which a user waits; --timeout is an own limit.
	unlimited = time.Duration(math.MaxInt64)
)

// Options configure a client.
type Options struct {
	// HTTP sends the requests. The client follows no redirect, and reports it as a failure: a redirect could lead the
	// credential to another origin. Required.
	HTTP       *http.Client
	Choice     Choice
	Credential Credential
	// Header is added to each request: the service parameters of A2A 1.0, section 3.2.6.
	Header http.Header
}

// Choice contains the criteria by which New chooses an interface of a card.
type Choice struct {
	// Transports are the preferred bindings, the best first: JSONRPC or HTTP+JSON.
	Transports []string
	// Version is the version to use, "" for 1.0. An earlier version is used only if Version names it (a2a-cli
	// specification, section 13.2).
	Version string
	// Origins restrict the choice to interfaces whose URL has one of these origins, in the form of client.Origin, nil for
	// no restriction. An empty list allows no interface.
	Origins []string
}

// New returns a client for the interface of the card that options.Choice selects. It does not call the agent. The errors
// of the client are failures, which wrap the errors of package client.
func New(c *Card, options Options) (*client.Client, error) {
	e, err := c.choose(options.Choice)
	if err != nil {
		return nil, err
	}
	if !options.Credential.IsZero() && c.URL != nil && c.URL.Scheme == "https" && e.URL.Scheme != "https" {
		return nil, failure.New(failure.CardInvalid, "the credential was not sent: the card was read over https, and its interface %s has no TLS", e.URL).
			WithHint("http would show the credential to the network: ask the owner of the agent for an https interface, or select another one with --transport")
	}
	if options.Credential.APIKey != "" && apiKeyScheme(c) == nil {
		return nil, failure.New(failure.Usage, "--api-key has no effect: the card declares no API key").WithHint("%s", schemesHint(c))
	}
	var extensions []string
	if slices.ContainsFunc(c.Capabilities.Extensions, func(e card.Extension) bool { return e.URI == inputform.Extension }) {
		extensions = []string{inputform.Extension}
	}
	return client.New(client.Options{
		HTTP:     newStream(&transport{http: options.HTTP, credential: options.Credential, card: c}),
		Endpoint: e, Header: options.Header, Extensions: extensions, RecordJSON: true, AnyID: true,
		Reserve: stream.AtMost(maxMemory),
		Explain: func(ctx context.Context, err error) error { return explain(ctx, err, c, e, options.Credential) },
	}), nil
}

// newStream returns a client that sends each request once, and waits without a limit.
func newStream(by http.RoundTripper) *stream.Client {
	return stream.New(by, stream.Limits{
		Once: true, FirstEvent: unlimited, Idle: unlimited, Turn: unlimited, MaxEvent: maxAnswer, MaxAnswer: math.MaxInt64,
	})
}

// transport sends requests with the credential, and follows no redirect.
type transport struct {
	http       *http.Client
	credential Credential
	card       *Card
}

// RoundTrip implements http.RoundTripper. Its errors are failures.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(ctx)
	t.credential.authenticate(r, t.card)
	direct := *t.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(r)
	if err != nil {
		return nil, ExplainConnection(ctx, err, r.URL)
	}
	if resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest {
		_ = resp.Body.Close()
		at := *r.URL
		at.RawQuery = ""
		return nil, failure.New(failure.Unreachable, "%s redirects to %q, to which the CLI sends no request", &at, resp.Header.Get("Location")).
			WithHint("name the URL of the agent behind the redirect with --url")
	}
	return resp, nil
}

// explain returns the failure for an error of the client.
func explain(ctx context.Context, err error, c *Card, e *client.Endpoint, credential Credential) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if problem, ok := errors.AsType[*client.Error](err); ok {
		return refusal(problem, c, credential)
	}
	if errors.Is(err, client.ErrIncomplete) {
		return failure.New(failure.OfReason(a2a.ReasonInvalidAgentResponse), "the stream of the agent ended without a result").
			WithHint("repeat the message")
	}
	if problem, ok := errors.AsType[*client.DecodeError](err); ok {
		out := failure.Wrap(failure.OfReason(a2a.ReasonInvalidAgentResponse), problem.Err, "the response of the agent is not a valid A2A response")
		out.Cause = err
		return out
	}
	return explainConnection(ctx, err, e.URL)
}

// explainConnection returns the failure for an error of package stream.
func explainConnection(ctx context.Context, err error, u *url.URL) error {
	if cause := client.ConnectionError(err); cause != nil {
		return ExplainConnection(ctx, cause, u)
	}
	if problem, ok := errors.AsType[*backend.TurnError](err); ok {
		return failure.New(failure.OfReason(a2a.ReasonInvalidAgentResponse), "%s", problem.Reason)
	}
	return err
}

// refusal returns the failure for an error of the agent.
func refusal(problem *client.Error, c *Card, credential Credential) error {
	message := problem.Message
	if message == "" && problem.Named {
		message = "the agent answered with an error"
	}
	out := failure.New(failure.OfReason(problem.Reason), "%s", cmp.Or(message, "the agent answered with HTTP status "+http.StatusText(problem.Status)))
	out.A2ACode = cmp.Or(problem.Code, problem.Status)
	out.Cause = problem
	switch problem.Reason {
	case a2a.ReasonTaskNotFound:
		return out.WithHint("you have no such task at the agent; list your tasks with kubectl a2a task list")
	case a2a.ReasonResourceExhausted:
		if strings.Contains(problem.Message, "limits.tokens.") {
			return out.WithHint("wait until then, or ask the owner of the agent to raise the field of spec.limits.tokens")
		}
		return out.WithHint("try again in some seconds")
	case a2a.ReasonUnavailable:
		return out.WithHint("try again in some seconds")
	case a2a.ReasonVersionNotSupported, a2a.ReasonMethodNotFound:
		return out.WithHint("name another version of the card with --a2a-version")
	case a2a.ReasonUnsupportedOperation:
		if problem.Status == 0 { // List of an earlier version
			return out.WithHint("name a task: kubectl a2a task get")
		}
		return out
	case a2a.ReasonUnauthenticated:
		if !credential.IsZero() {
			return out.WithHint("the agent does not accept the credential; %s", schemesHint(c))
		}
		out.Code = failure.CredentialsMissing
		return out.WithHint("%s", schemesHint(c))
	case a2a.ReasonPermissionDenied:
		return out.WithHint("the agent accepts the credential, but no rule admits the caller; see spec.access.authorization of the Agent")
	default:
		return out
	}
}

// choose returns the interface to call.
func (c *Card) choose(choice Choice) (*client.Endpoint, error) {
	wanted := version.V10
	if choice.Version != "" {
		var ok bool
		wanted, ok = version.Parse(choice.Version)
		if !ok || client.DialectOf(wanted, "") == nil {
			return nil, failure.New(failure.Usage, "--a2a-version %s is not supported: use 0.1, 0.2, 0.3 or 1.0", choice.Version)
		}
	}
	preference := &client.Preference{Versions: []version.Version{wanted}, Admit: choice.admits}
	if wanted == version.V02 {
		preference.Versions = []version.Version{version.V03}
	}
	for _, each := range choice.Transports {
		preference.Bindings = append(preference.Bindings, card.Binding(each))
	}
	chosen, d := client.Choose(c.Interfaces, preference)
	if chosen == nil {
		return nil, c.noEndpoint(choice, preference)
	}
	u, err := url.Parse(chosen.URL)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "parse URL of the interface") // impossible, because admits has parsed it
	}
	return client.NewEndpoint(d, u, chosen.Tenant, c.Capabilities.Streaming), nil
}

// admits reports whether an interface has a URL that the CLI may call.
func (o *Choice) admits(i *card.Interface) bool {
	u, err := url.Parse(i.URL)
	return err == nil && u.Host != "" && (o.Origins == nil || slices.Contains(o.Origins, client.Origin(u)))
}

// elsewhere returns the origin of the interface that the client would call without choice.Origins, "" for none.
func (c *Card) elsewhere(choice Choice) string {
	choice.Origins = nil
	e, err := c.choose(choice)
	if err != nil {
		return ""
	}
	return client.Origin(e.URL)
}

// noEndpoint returns the failure for a card without an interface that the CLI can call.
func (c *Card) noEndpoint(choice Choice, wanted *client.Preference) error {
	offers := make([]string, 0, len(c.Interfaces))
	for i := range c.Interfaces {
		offers = append(offers, fmt.Sprintf("%s %s", c.Interfaces[i].ProtocolVersion, c.Interfaces[i].Binding))
	}
	if len(offers) == 0 {
		return failure.New(failure.CardInvalid, "the card names no interface")
	}
	other := *wanted
	other.Versions = []version.Version{version.V10, version.V03, version.V01}
	best, _ := client.Choose(c.Interfaces, &other)
	if best != nil {
		return failure.New(failure.OfReason(a2a.ReasonVersionNotSupported), "the card has no interface of A2A %s; it offers %s", cmp.Or(choice.Version, "1.0"), strings.Join(offers, ", ")).
			WithHint("add --a2a-version %s", best.ProtocolVersion)
	}
	if choice.Origins != nil {
		if elsewhere := c.elsewhere(choice); elsewhere != "" {
			return failure.New(failure.CardInvalid, "the credential was not sent: the card names an interface at %s, and the agent is at %s",
				elsewhere, cmp.Or(strings.Join(choice.Origins, ", "), "no origin, because its card is a file")).
				WithHint("if %s may have your credential, add --credential-origin %s", elsewhere, elsewhere)
		}
	}
	return failure.New(failure.CardInvalid, "the card has no interface that the CLI can call, which are JSON-RPC and HTTP+JSON of 0.1 to 1.0; it offers %s", strings.Join(offers, ", "))
}
