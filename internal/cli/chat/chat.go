// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the conversation with an agent in a terminal. The conversation is printed into the
// terminal, with its scrollback, and the last rows are the input. The program keeps no more of the
// conversation than the rows that are not printed yet.
//
// The model (model.go) gets keys and events and changes its state; it neither calls nor waits. Calls
// run in commands of the program. Text of the agent is cleaned, wrapped and indented in the
// transcript.
package chat

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Options configure a chat.
type Options struct {
	Client *a2aclient.Client
	// Name and Description are those of the card.
	Name, Description string
	// Message is the first message, "" for none. TaskID and ContextID continue a task or a context.
	Message, TaskID, ContextID string
	// Skill is the id of the skill to use, "" for none.
	Skill string
	// PollInterval is the time between two reads of a task that cannot be streamed. Timeout bounds
	// a turn, 0 for no limit.
	PollInterval, Timeout time.Duration
	// Attach reads a file of the user, or returns a part with the URL.
	Attach func(path string) (a2a.Part, error)
	// Save writes a file of the agent, and returns its path.
	Save func(*a2a.Part) (path string, err error)
	// Command returns the command line that does the same for the agent, for example "task get".
	Command func(name string, arguments ...string) string
	// Color allows colors and other styles.
	Color bool
	// Environment is the environment of the terminal.
	Environment []string
}

// Result is what a chat can be continued with.
type Result struct {
	// TaskID is the task that waits for the user, "" for none.
	TaskID, ContextID string
}

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
