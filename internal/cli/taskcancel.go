// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// notCancelable is the code of the failure to cancel a task that has ended.
var notCancelable = failure.OfReason(a2a.ReasonTaskNotCancelable)

func (a *app) taskCancelCommand() *cobra.Command {
	f := &following{app: a}
	cmd := &cobra.Command{
		Use:   "cancel [AGENT | --url URL] TASK",
		Short: "Cancel a task",
		Long: `Cancel a task, and show it. If the task is already canceled, the command succeeds. If the task has ended in another state,
the command names the state and fails.`,
		Example: `  kubectl a2a task cancel echo 5d1c...`,
		Args:    cobra.ArbitraryArgs,
	}
	f.addTo(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, id, err := f.takeTask(cmd, args)
		if err != nil {
			return err
		}
		agent, err := a.connect(cmd.Context(), &f.agentFlags, name)
		if err != nil {
			return err
		}
		defer agent.close()
		ctx, cancel := f.waiting(cmd.Context())
		defer cancel()
		e, err := f.cancelTask(ctx, agent, id)
		if err != nil {
			return err
		}
		return f.printTask(e)
	}
	return cmd
}

// cancelTask cancels a task and returns it. The failure for a task that cannot be canceled names the state of the task.
func (f *following) cancelTask(ctx context.Context, agent *agent, id string) (*a2aclient.Event, error) {
	e, err := agent.Cancel(ctx, id)
	refused := err
	if err != nil {
		if failure.Of(err).Code != notCancelable {
			return nil, err
		}
		if e, err = agent.Task(ctx, id, new(0)); err != nil {
			return nil, refused
		}
	}
	switch state := e.Task.Status.State; {
	case state == a2a.StateCanceled && refused != nil:
		f.warnf("The task was canceled before.")
	case state == a2a.StateCanceled:
	case state.Terminal():
		return nil, cancelRefused(refused, "the task has ended as %s and cannot be canceled", state).
			WithHint("to show its output: %s", agent.commandLine("task get", id))
	case refused != nil:
		return nil, cancelRefused(refused, "the agent does not cancel the task, which is %s", state).
			WithHint("to follow it: %s", agent.commandLine("task watch", id))
	default:
		f.warnf("The agent has accepted the request, and the task is still %s. To follow it: %s", state, agent.commandLine("task watch", id))
	}
	return e, nil
}

// cancelRefused returns the failure to cancel a task. reported is the error of the agent, or nil if it answered with the task.
func cancelRefused(reported error, format string, args ...any) *failure.Error {
	out := failure.New(notCancelable, format, args...)
	if reported != nil {
		out.A2ACode = failure.Of(reported).A2ACode
	}
	return out
}
