// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
)

// Options configure a chat.
type Options struct {
	Client *client.Client
	// Name and Description are the name and the description on the card.
	Name, Description string
	// Message is the first message, "" for none. TaskID and ContextID continue a task or a context.
	Message, TaskID, ContextID string
	// Skill is the id of the skill to use, "" for none.
	Skill string
	// PollInterval is the time between two reads of a task if the agent does not stream it. Timeout bounds a turn, 0 for no
	// limit.
	PollInterval, Timeout time.Duration
	// Attach returns a part with the content of a file of the user or, if path is a URL, a part with the URL.
	Attach func(path string) (a2a.Part, error)
	// Save writes a file of the agent, and returns its path.
	Save func(*a2a.Part) (path string, err error)
	// Command returns the command line of the command with this name, such as "task get", for the agent.
	Command func(name string, arguments ...string) string
	// Color allows colors and other styles.
	Color bool
	// Environment contains the environment variables from which the program detects the terminal, as NAME=value.
	Environment []string
}

// Result has the ids with which a later command can continue the chat.
type Result struct {
	// TaskID is the id of the task that waits for the user or continues, ContextID the id of the conversation's context, "" for none.
	TaskID, ContextID string
}
