// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// resourceRead is the name of reads of resources in metrics.
const resourceRead = "read_resource"

const (
	// maxBlob bounds the bytes of a file in one piece, so that its base64 has at most maxOutput bytes.
	maxBlob = maxOutput / 4 * 3
	// metaNext and metaBytes are members of _meta of a piece: the URI of the next piece, and the size of the whole content.
	metaNext  = "a2a-operator.dev/next"
	metaBytes = "a2a-operator.dev/bytes"
)

// addResources adds the resources: the parts of the output of tasks, and the entries and cards of agents.
func (t *tools) addResources(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "output", Title: "Output of an agent", URITemplate: "a2a://{namespace}/{name}/{+path}",
		Description: "A part of the output of a task, with the uri that a result of " + ToolCall + " names, or the entry or card of an agent. A long content is " +
			"cut: _meta has the uri of the next piece.",
	}, t.readResource)
}

func (t *tools) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	ctx, end, ok := t.begin(ctx, r.Session.ID(), r.Extra.Header)
	if !ok {
		t.observe(resourceRead, OutcomeFailed)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tooManyCalls}
	}
	defer end()
	piece, err := t.read(ctx, r)
	problem, isProblem := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		t.observe(resourceRead, OutcomeSucceeded)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{piece}}, nil
	case ctx.Err() != nil:
		t.observe(resourceRead, OutcomeCanceled)
		return nil, context.Cause(ctx)
	case isProblem && (problem.Reason == a2a.ReasonTaskNotFound || problem.Reason == a2a.ReasonPermissionDenied || problem.Reason == a2a.ReasonInvalidParams):
		t.observe(resourceRead, OutcomeFailed)
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	default:
		t.observe(resourceRead, OutcomeFailed)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: t.explain(ctx, resourceRead, err)}
	}
}

// errNoResource is the error for a URI that names nothing.
var errNoResource error = &a2a.Error{Reason: a2a.ReasonTaskNotFound}

// read returns the piece that a URI names.
func (t *tools) read(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ResourceContents, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, "a2a://"), "?")
	offset := 0
	if query != "" {
		text, found := strings.CutPrefix(query, "offset=")
		n, err := strconv.Atoi(text)
		if !found || err != nil || n < 0 {
			return nil, errNoResource
		}
		offset = n
	}
	namespace, rest, _ := strings.Cut(path, "/")
	name, rest, _ := strings.Cut(rest, "/")
	agent, ok := directory.ParseAgent(namespace + "/" + name)
	if !ok {
		return nil, errNoResource
	}
	origin := originOf(r.Extra.Header)
	switch rest {
	case "entry":
		entry, err := t.registry.Entry(ctx, origin, agent)
		return textPiece(r.Params.URI, "application/json", string(entry), offset, err)
	case "card":
		card, err := t.registry.Card(ctx, origin, agent, "1.0")
		return textPiece(r.Params.URI, "application/json", string(card), offset, err)
	}
	rest, isTask := strings.CutPrefix(rest, "tasks/")
	escaped, rest, _ := strings.Cut(rest, "/")
	id, err := url.PathUnescape(escaped)
	if !isTask || err != nil || id == "" {
		return nil, errNoResource
	}
	reservation := &limit.Reservation{}
	defer reservation.Release()
	task, err := t.agents.Read(ctx, &agentclient.Call{
		URL: origin + "/agents/" + agent.String() + "/", Header: forwarded(r.Extra.Header, r.Params.Meta), TaskID: id, Reservation: reservation,
	})
	if err != nil {
		return nil, err
	}
	p := partAt(task, rest)
	switch {
	case p == nil:
		return nil, errNoResource
	case p.Content == a2a.ContentText:
		return textPiece(r.Params.URI, cmp.Or(p.MediaType, "text/plain"), p.Text, offset, nil)
	case p.Content == a2a.ContentData:
		return textPiece(r.Params.URI, "application/json", string(p.Data), offset, nil)
	case p.Content == a2a.ContentURL:
		return textPiece(r.Params.URI, "text/uri-list", p.URL, offset, nil)
	default:
		return blobPiece(r.Params.URI, cmp.Or(p.MediaType, "application/octet-stream"), p.Raw, offset)
	}
}

// textPiece returns the piece of a text that begins at an offset in bytes.
func textPiece(uri, mediaType, text string, offset int, err error) (*mcp.ResourceContents, error) {
	if err != nil {
		return nil, err
	}
	if offset > len(text) || offset < len(text) && !utf8.RuneStart(text[offset]) {
		return nil, errNoResource
	}
	var space output
	piece := space.cut(text[offset:])
	return &mcp.ResourceContents{URI: uri, MIMEType: mediaType, Text: piece, Meta: metaOf(uri, offset+len(piece), len(text))}, nil
}

// blobPiece returns the piece of a file that begins at an offset in bytes.
func blobPiece(uri, mediaType string, raw []byte, offset int) (*mcp.ResourceContents, error) {
	if offset > len(raw) {
		return nil, errNoResource
	}
	piece := raw[offset:min(len(raw), offset+maxBlob)]
	return &mcp.ResourceContents{URI: uri, MIMEType: mediaType, Blob: piece, Meta: metaOf(uri, offset+len(piece), len(raw))}, nil
}

// metaOf returns the _meta of a piece that ends at an offset.
func metaOf(uri string, end, size int) mcp.Meta {
	meta := mcp.Meta{metaBytes: size}
	if end < size {
		base, _, _ := strings.Cut(uri, "?")
		meta[metaNext] = base + "?offset=" + strconv.Itoa(end)
	}
	return meta
}
