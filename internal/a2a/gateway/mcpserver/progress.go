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
	// progressInterval is the least time between two notifications. Texts in between are
	// joined into one.
	progressInterval = 100 * time.Millisecond
	// maxProgress bounds the text of a notification, in bytes. The last bytes are kept.
	maxProgress = 4 << 10
)

// progress sends the events of a task as progress notifications of a request. It sends none to
// a client that did not ask for them.
type progress struct {
	// send sends one notification, and returns an error if the client does not read.
	send func(count int, text string) error

	mu      sync.Mutex
	pending strings.Builder
	// complete reports whether the last text of pending was a status, which the next text does
	// not continue.
	complete bool
	count    int
	state    a2a.State
	// timer runs for progressInterval after each notification; nil otherwise.
	timer   *time.Timer
	stopped bool
}

func newProgress(ctx context.Context, r *mcp.CallToolRequest) *progress {
	token := r.Params.GetProgressToken()
	return &progress{stopped: token == nil, send: func(count int, text string) error {
		return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(count), Message: text})
	}}
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

// status adds the text of a status, or its state if that is another than before.
func (p *progress) status(s *a2a.Status) {
	text := textOf(s.Message)
	if text == "" && s.State != p.state {
		text = s.State.String()
	}
	if p.state = s.State; text == "" {
		return
	}
	if p.pending.Len() > 0 {
		p.pending.WriteByte('\n')
	}
	p.pending.WriteString(text)
	p.complete = true
}

// output adds a piece of an artifact, which continues the piece before.
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

// flush sends what is pending. p.mu is held.
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

// stop sends no more: the result has everything.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}
