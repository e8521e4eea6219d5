// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// progressInterval is the minimum time between two notifications. Texts that arrive in
	// between are joined into one notification.
	progressInterval = 100 * time.Millisecond
	// maxProgress is the maximum length of the text of a notification, in bytes. If a text
	// is longer, only its end is sent.
	maxProgress = 4 << 10
	// silentInterval is the longest time without a notification: clients give up after 30 s or
	// more without progress.
	silentInterval = 20 * time.Second
	// maxProgressToken is the maximum length of the token of a request that each of its notifications repeats, in bytes.
	maxProgressToken = 256
)

// isProgressToken reports whether a request may have a progress token; nil for none.
func isProgressToken(token any) bool {
	switch token := token.(type) {
	case nil, float64:
		return true
	case string:
		return len(token) <= maxProgressToken
	default:
		return false
	}
}

// progress sends the events of a task as progress notifications of an MCP request. It sends
// none if the client did not request progress.
type progress struct {
	// send sends one notification. It returns an error if the notification cannot be sent.
	send func(count int, text string) error

	mu      sync.Mutex
	pending strings.Builder
	// complete is true if pending ends with the text of a status. The next text then begins a
	// new line.
	complete bool
	count    int
	state    a2a.State
	// timer runs for progressInterval after each notification, and is nil otherwise. silent runs for
	// silentInterval after each notification, and from the beginning of the call.
	timer, silent *time.Timer
	stopped       bool
}

func newProgress(ctx context.Context, r *mcp.CallToolRequest) *progress {
	token := r.Params.GetProgressToken()
	p := &progress{stopped: token == nil, send: func(count int, text string) error {
		return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(count), Message: text})
	}}
	p.start()
	return p
}

// start makes a silent agent be reported.
func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.silent = time.AfterFunc(silentInterval, p.reportSilence)
	}
}

// reportSilence sends a notification although the agent has sent nothing.
func (p *progress) reportSilence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		p.pending.WriteString("waiting for the agent")
		p.complete = true
		p.flush()
	}
}

// event adds one event of the task.
func (p *progress) event(e *a2a.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	switch {
	case e.Task != nil:
		p.status(&e.Task.Status)
	case e.Status != nil:
		p.status(&e.Status.Status)
	case e.Artifact != nil:
		for i := range e.Artifact.Artifact.Parts {
			p.output(e.Artifact.Artifact.Parts[i].Text)
		}
	}
	if text := p.pending.String(); len(text) > 2*maxProgress {
		p.pending.Reset()
		p.pending.WriteString(text[len(text)-maxProgress-1:])
	}
	if p.timer == nil {
		p.flush()
	}
}

// status adds the text of a status. For a status without a text, it adds the state if the
// state has changed. p.mu must be held.
func (p *progress) status(s *a2a.Status) {
	text := textOf(s.Message)
	if text == "" && s.State != p.state {
		text = s.State.String()
	}
	p.state = s.State
	if text == "" {
		return
	}
	if p.pending.Len() > 0 {
		p.pending.WriteByte('\n')
	}
	p.pending.WriteString(text)
	p.complete = true
}

// output adds a piece of an artifact to the preceding piece. p.mu must be held.
func (p *progress) output(text string) {
	if text == "" {
		return
	}
	if p.complete && p.pending.Len() > 0 {
		p.pending.WriteByte('\n')
	}
	p.pending.WriteString(text)
	p.complete = false
}

// flush sends the pending text. p.mu must be held.
func (p *progress) flush() {
	p.timer = nil
	text := p.pending.String()
	if p.stopped || text == "" {
		return
	}
	p.pending.Reset()
	if len(text) > maxProgress {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxProgress:], "")
	}
	p.count++
	if p.silent != nil {
		p.silent.Reset(silentInterval)
	}
	if p.send(p.count, text) != nil {
		p.stopped = true
		return
	}
	p.timer = time.AfterFunc(progressInterval, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flush()
	})
}

// stop discards the pending text and ends the notifications. The result of the call contains
// the whole text.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, timer := range []*time.Timer{p.timer, p.silent} {
		if timer != nil {
			timer.Stop()
		}
	}
	p.timer = nil
}
