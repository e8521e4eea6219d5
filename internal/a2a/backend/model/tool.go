// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Tool is a tool that the model may call. It is immutable.
type Tool struct {
	// Name is how the model calls it, unique among the tools of the agent.
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters a2a.Object
	// Source says for people what runs the tool, such as "MCP server http://grafana-mcp.tools/mcp".
	Source string
	// NeedsApproval is true if a person must approve each call.
	NeedsApproval bool
	// IsRepeatable is true if a call may run twice: it changes nothing, or nothing more.
	IsRepeatable bool
	// RepeatableFor is how long after an interruption a repeatable call may run again. 0 is for ever.
	RepeatableFor time.Duration
	// Toolset runs the calls, and Key is the tool's name there.
	Toolset Toolset
	Key     string
}

// maxToolName is the length of the names that model servers accept.
const maxToolName = 64

// ToolName returns the name of a tool as model servers accept it: one that they refuse would fail every request of the agent. MCP servers
// may name a tool admin/delete, for example.
func ToolName(name string) string {
	valid := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return valid[:min(len(valid), maxToolName)]
}

// size is that of the tool in a request to the model.
func (t *Tool) size() int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// digest identifies the tool as people and the model have seen it, so that an approval does not count for a tool that has changed.
func (t *Tool) digest() string {
	sum := sha256.New()
	for _, text := range []string{t.Source, t.Key, t.Description, string(t.Parameters)} {
		_, _ = sum.Write([]byte(text))
		_, _ = sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Toolset offers tools from one source, such as an MCP server. Its methods are safe for concurrent use.
type Toolset interface {
	// Tools returns the present tools. An error is a *backend.TurnError if the agent cannot work without the
	// tools. With another error, the turn goes on without them, and the model learns the beginning of the error as
	// a part of its instructions: it must not repeat what another party has written.
	Tools(ctx context.Context, t *backend.Turn) ([]*Tool, error)
	// Call runs a call of a tool until it ends or ctx ends. progress may be called meanwhile, from any
	// goroutine. An error is a system failure: the outcome of the call is not known. Everything that the tool
	// answers is a Result.
	Call(ctx context.Context, c *Call, progress func(text string)) (*Result, error)
}

// Canceler is a Toolset whose calls continue elsewhere while the task waits for the client.
type Canceler interface {
	// Canceled ends what a paused call has left, after the client has canceled the task. resume is that of the Pause, and
	// tool is Tool.Key. Canceled does not block.
	Canceled(ctx context.Context, tool string, resume json.RawMessage)
}

// Call is a call of a tool.
type Call struct {
	Turn *backend.Turn
	// ID is unique in the task.
	ID   string
	Tool *Tool
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Resume is Pause.Resume of the former run of this call, and Answer the client's message; both are nil for the first run.
	Resume json.RawMessage
	Answer *a2a.Message
}

// Result is what a tool has answered.
type Result struct {
	// Text is for the model.
	Text string
	// Files are artifacts for the client. The model knows only their names.
	Files []a2a.Part
	// IsError is true if the tool has failed.
	IsError bool
	// Pause is not nil if the tool waits for the client. The call then has no result yet.
	Pause *Pause
}

// Pause is a question of a tool to the client.
type Pause struct {
	// State is input-required or auth-required, and Message the question.
	State   a2a.State
	Message *a2a.Message
	// Resume has what the tool needs to go on.
	Resume json.RawMessage
}
