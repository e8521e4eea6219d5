// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/kit/mcprecovery"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// Call implements model.Toolset.
func (s *Server) Call(ctx context.Context, c *model.Call, progress func(string)) (*model.Result, error) {
	if s.callers == nil {
		return s.call(ctx, c, progress)
	}
	if c.Turn == nil || c.Turn.Subject == nil {
		return &model.Result{Text: "The call did not run: " + ErrNoCaller.Error(), IsError: true}, nil
	}
	subject := c.Turn.Subject
	return s.callers.of(subject).call(delegation.With(ctx, subject), c, progress)
}

// call calls a tool in the session of s.
func (s *Server) call(ctx context.Context, c *model.Call, progress func(string)) (result *model.Result, err error) {
	defer mcprecovery.Recover(&err)
	memory := &answerMemory{budget: s.options.Memory}
	if c.Turn != nil {
		memory.principal = c.Turn.AccountingPrincipal
	}
	defer memory.release()
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	session, err := s.connect(ctx)
	if err != nil {
		return &model.Result{Text: err.Error(), IsError: true}, nil // nothing was sent
	}
	params := &mcp.CallToolParams{Name: c.Tool.Key, Arguments: c.Arguments}
	params.SetProgressToken(c.ID)
	if c.Resume != nil {
		var asked resume
		if err := json.Unmarshal(c.Resume, &asked); err != nil {
			return nil, fmt.Errorf("read the questions of an MCP server: %w", err)
		}
		params.RequestState = asked.State
		params.InputResponses = asked.responses(c.Answer, c.ID)
	}
	defer s.follow(c.ID, progress)()
	ctx = context.WithValue(ctx, memoryKey{}, memory)
	answer, err := session.CallTool(ctx, params)
	if errors.Is(err, mcp.ErrSessionMissing) { // the server has restarted, and has not run the call
		s.drop(session)
		if session, err = s.connect(ctx); err != nil {
			return &model.Result{Text: err.Error(), IsError: true}, nil
		}
		answer, err = session.CallTool(ctx, params)
	}
	if didNotRun(err) {
		s.drop(session)
		return &model.Result{Text: "The call did not run: " + err.Error(), IsError: true}, nil
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code != codeRejected {
		return &model.Result{Text: "The MCP server refused the call: " + refused.Message, IsError: true}, nil
	}
	if err != nil {
		if ctx.Err() == nil {
			s.drop(session)
		}
		return nil, fmt.Errorf("call %s of the MCP server %s: %w", c.Tool.Key, s.options.URL, memory.explained(err))
	}
	if !answer.NeedsInput() {
		return resultOf(answer), nil
	}
	pause, err := pauseFor(c, answer)
	if err != nil {
		return &model.Result{Text: err.Error(), IsError: true}, nil
	}
	return &model.Result{Pause: pause}, nil
}

// codeRejected is the code of the MCP library for a request whose connection has failed, which includes a connection that ended while the
// server ran the call. It is no answer of the server.
const codeRejected = -32005

// didNotRun reports whether the error of a call shows that the server has not run it.
func didNotRun(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrNotSent) || errors.Is(err, mcp.ErrSessionMissing)
}

// follow passes the progress of a call on until end is called: the last text, at most once in each progressInterval. The session must not
// wait for that, because it stores what the server sends meanwhile.
func (s *Server) follow(id string, progress func(string)) (end func()) {
	texts := make(chan string, 1)
	over := make(chan struct{})
	s.mu.Lock()
	s.calls[id] = texts
	s.mu.Unlock()
	var following sync.WaitGroup
	following.Go(func() {
		for {
			select {
			case text := <-texts:
				progress(text)
			case <-over:
				return
			}
			select {
			case <-time.After(progressInterval):
			case <-over:
				return
			}
		}
	})
	return func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		close(over)
		following.Wait()
	}
}

// onProgress keeps the progress of a call, unless an earlier one waits.
func (s *Server) onProgress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	s.mu.Lock()
	texts := s.calls[token]
	s.mu.Unlock()
	select {
	case texts <- r.Params.Message:
	default:
	}
}

// resultOf returns the result of a call: the texts for the model, and everything else as files for the client.
func resultOf(answer *mcp.CallToolResult) *model.Result {
	result := &model.Result{IsError: answer.IsError}
	var texts []string
	file := func(p a2a.Part) {
		result.Files = append(result.Files, p)
		texts = append(texts, fmt.Sprintf("(a file for the client: %s %s)", p.MediaType, p.Filename))
	}
	for _, content := range answer.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			file(a2a.Part{Content: a2a.ContentRaw, Raw: c.Data, MediaType: c.MIMEType})
		case *mcp.AudioContent:
			file(a2a.Part{Content: a2a.ContentRaw, Raw: c.Data, MediaType: c.MIMEType})
		case *mcp.ResourceLink:
			texts = append(texts, fmt.Sprintf("%s: %s %s", c.Name, c.URI, c.Description))
		case *mcp.EmbeddedResource:
			switch r := c.Resource; {
			case r == nil:
			case r.Blob != nil:
				file(a2a.Part{Content: a2a.ContentRaw, Raw: r.Blob, MediaType: r.MIMEType, Filename: r.URI})
			default:
				texts = append(texts, r.Text)
			}
		}
	}
	if len(texts) == 0 && answer.StructuredContent != nil {
		if structured, err := plainjson.Marshal(answer.StructuredContent); err == nil {
			texts = append(texts, string(structured))
		}
	}
	result.Text = strings.Join(texts, "\n")
	return result
}
