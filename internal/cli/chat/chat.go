// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat implements the conversation with an agent in a terminal. It prints the conversation into the scrollback
// of the terminal. The last rows of the terminal are the input. The package stores only the rows of the conversation
// that are not printed yet.
//
// The conversation (conversation.go) is a state machine without calls: it decides what each event means in each state. The
// model (model.go) receives keys and events and changes its state (update.go), and shows its state (view.go). Its
// methods do not block: calls to the agent run in commands (tea.Cmd). The transcript cleans, wraps and indents the text
// of the agent.
package chat

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Run runs a chat in a terminal until the user leaves or ctx ends. If ctx ends, it returns the cause.
func Run(ctx context.Context, o *Options, in io.Reader, out io.Writer) (Result, error) {
	running, end := context.WithCancel(ctx)
	defer end()
	m := newModel(o, func(do func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg { return do(running) }
	})
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(o.Environment),
		tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, tea.ErrInterrupted):
		err = nil
	case err != nil:
		err = failure.Wrap(failure.Internal, err, "run the terminal")
	}
	return Result{TaskID: m.conversation.openTask(), ContextID: m.conversation.contextID}, err
}
