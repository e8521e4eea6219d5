// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// progressAfter is how long the agent is silent before the progress appears, and the time between two updates of it.
const progressAfter = time.Second

// eraseLine moves the cursor to the start of its line, and erases the line.
const eraseLine = "\r\x1b[2K"

// progress shows on a terminal that a command waits for an agent that is silent: a line that it erases before the command
// writes something. A nil *progress shows nothing.
type progress struct {
	app   *app
	began time.Time
	// out and errOut are the streams of the app without the progress.
	out, errOut io.Writer
	width       int
	end         chan struct{}
	ended       sync.WaitGroup

	mu    sync.Mutex
	state a2a.State
	// last is the time of the last output. inLine is true if the output has not ended its line, and shown is true if the
	// terminal shows the progress.
	last          time.Time
	inLine, shown bool
}

// startProgress begins to show the progress, until stop. It returns nil if stderr is no terminal.
func (a *app) startProgress() *progress {
	if !isTerminal(a.ErrOut) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	now := time.Now()
	p := &progress{app: a, began: now, last: now, out: a.Out, errOut: a.ErrOut, width: 80, end: make(chan struct{})}
	if columns, _, err := term.GetSize(int(a.ErrOut.(*os.File).Fd())); err == nil && columns > 0 {
		p.width = columns
	}
	if isTerminal(a.Out) {
		a.Out = progressWriter{p, a.Out}
	}
	a.ErrOut = progressWriter{p, a.ErrOut}
	p.ended.Go(p.run)
	return p
}

// stop erases the progress, and restores the streams of the app.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.end)
	p.ended.Wait()
	p.erase()
	p.app.Out = p.out
	p.app.ErrOut = p.errOut
}

// observing returns follow.Observe, which also tells p the state of the task.
func (p *progress) observing(follow *client.Following) func(*client.Event) error {
	observe := follow.Observe
	if p == nil {
		return observe
	}
	return func(e *client.Event) error {
		p.mu.Lock()
		p.state = follow.State()
		p.mu.Unlock()
		return observe(e)
	}
}

func (p *progress) run() {
	ticker := time.NewTicker(progressAfter)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			p.show(now)
		case <-p.end:
			return
		}
	}
}

// show writes the progress. A line that the output has not ended stays as it is: its text shows that the agent answers.
func (p *progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inLine || now.Sub(p.last) < progressAfter {
		return
	}
	text := "waiting for the agent"
	if p.state != a2a.StateUnknown {
		text = p.state.String()
	}
	text = fmt.Sprintf("%s, %d s", text, int(now.Sub(p.began).Seconds()))
	_, _ = io.WriteString(p.errOut, eraseLine+safetext.Clip(text, max(p.width-2, 1)))
	p.shown = true
}

// erase removes the progress from the terminal. Callers must hold no lock.
func (p *progress) erase() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eraseLocked()
}

func (p *progress) eraseLocked() {
	if p.shown {
		_, _ = io.WriteString(p.errOut, eraseLine)
		p.shown = false
	}
}

// progressWriter writes to a stream of the terminal after it has erased the progress.
type progressWriter struct {
	p  *progress
	to io.Writer
}

// Write implements io.Writer.
func (w progressWriter) Write(text []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.eraseLocked()
	w.p.last = time.Now()
	w.p.inLine = !bytes.HasSuffix(text, []byte("\n"))
	return w.to.Write(text)
}
