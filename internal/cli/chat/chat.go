// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the conversation with an agent in a terminal. The conversation is printed into the
// terminal, with its scrollback, and the last rows are the input. The program keeps no more of the
// conversation than the rows that are not printed yet.
//
// The model (model.go) gets keys and events and changes its state (update.go), and shows it (view.go).
// It neither calls nor waits: calls run in commands of the program. Text of the agent is cleaned,
// wrapped and indented in the transcript.
package chat

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Run runs a chat in a terminal until the user leaves, or ctx ends. It then returns the cause.
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
	return Result{TaskID: m.taskID, ContextID: m.contextID}, err //nolint:wrapcheck // it is a failure
}
