// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// cancelTimeout bounds the cancel of a task after an interrupt.
const cancelTimeout = 10 * time.Second

// following contains the flags of the commands that follow a task, and shows the task.
type following struct {
	*app
	agentFlags
	// stream is true to write each event: as a line of JSON, or as text with every state.
	stream bool
	save   string
	// cancel is true to cancel the task after an interrupt without asking the user.
	cancel bool
	// continues is called with the task before a message continues it, and may refuse the message. It may be nil.
	continues func(*a2a.Task) error
	// exitStatus is true to report the outcome of the task by the exit status.
	exitStatus bool
}

// addTo adds the flags.
func (f *following) addTo(cmd *cobra.Command) {
	f.agentFlags.addTo(f.app, cmd)
	f.addWaiting(cmd)
	cmd.Flags().BoolVar(&f.stream, "stream", false, "Write every event as it arrives; with -o json, one JSON object a line.")
	cmd.Flags().StringVar(&f.save, "save", "", "Save the files that the agent sends in this `DIRECTORY`.")
	f.outputFlag(cmd, outputText, outputJSON)
}

// addCancel adds the flag of the commands that can cancel the task when they are interrupted.
func (f *following) addCancel(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.cancel, "cancel-on-interrupt", false, "Cancel the task after Ctrl-C without a question.")
}

// addExitStatus adds the flag of the commands that can report the outcome of the task by the exit status.
func (f *following) addExitStatus(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.exitStatus, "exit-status", false,
		"Exit with a status for a task that has not completed: 10 if it failed, 11 if it was rejected, 12 if it was canceled, 13 if it waits for you.")
}

// outcome returns the exit status for the state of a task, nil for 0.
func (f *following) outcome(state a2a.State) error {
	if !f.exitStatus {
		return nil
	}
	switch state {
	case a2a.StateFailed:
		return statusError(10)
	case a2a.StateRejected:
		return statusError(11)
	case a2a.StateCanceled:
		return statusError(12)
	case a2a.StateInputRequired, a2a.StateAuthRequired:
		return statusError(13)
	default:
		return nil
	}
}

// printAnswer writes the answer to a message as one document.
func (f *following) printAnswer(r *renderer, e *client.Event) error {
	if f.output == outputJSON {
		return f.printJSON(json.RawMessage(e.StreamResponse()))
	}
	return printEvent(r, e, nil)
}

// printEvent writes an event as text, and then the messages of a history.
func printEvent(r *renderer, e *client.Event, history []*a2a.Message) error {
	if err := r.event(e); err != nil {
		return broken(err)
	}
	r.history(history)
	return broken(r.end())
}

func (f *following) renderer() *renderer {
	r := &renderer{w: terminal.NewWriter(f.Out), everyEvent: f.stream}
	if f.save != "" {
		r.files = &fileSaver{directory: f.save}
	}
	return r
}

// follow shows a task until it has ended or waits. start sends the message or subscribes to the task, and returns when the
// task has ended or waits.
func (f *following) follow(ctx context.Context, agent *agent, start func(context.Context, *client.Following) error) error {
	waiting, cancel := f.waiting(ctx)
	defer cancel()
	progress := f.startProgress()
	r := f.renderer()
	var message *client.Event // the answer of an agent that answers with a message and not with a task
	var asked *inputform.Form
	follow := &client.Following{
		Client: agent.Client, PollInterval: max(f.pollInterval, 100*time.Millisecond),
		Resuming: func(cause error) { f.warnf("The stream broke and is resumed: %v", cause) },
	}
	follow.Earlier = func(e *client.Event) error {
		if f.continues != nil {
			if err := f.continues(e.Task); err != nil {
				return err
			}
		}
		return f.skipEarlier(r, e)
	}
	answered := false
	follow.Observe = func(e *client.Event) error {
		answered = true
		asked = formOf(e, asked)
		if e.Message != nil {
			message = e
		}
		switch {
		case f.output == outputText:
			return broken(r.event(e))
		case f.stream:
			return f.printText(append(safetext.JSON(e.StreamResponse()), '\n'))
		default:
			return nil
		}
	}
	follow.Observe = progress.observing(follow)
	err := start(waiting, follow)
	progress.stop()
	if err != nil && !answered && client.IsRefused(err) {
		return refused(agent, r, err)
	}
	if err != nil {
		if f.output == outputText {
			_ = r.end()
		}
		return f.unfinished(ctx, agent, follow, err)
	}
	if err := f.finish(ctx, agent, follow, r, message); err != nil {
		return err
	}
	f.advise(agent, follow, asked)
	return f.outcome(follow.State())
}

// refused returns the failure for a request that the agent refused. If the task has ended, the hint names the command that
// continues the conversation.
func refused(agent *agent, r *renderer, err error) error {
	problem := failure.Of(err)
	if problem.Hint != "" || !r.answer.State().Terminal() || r.answer.ContextID() == "" {
		return err
	}
	out := *problem
	return out.WithHint(`the task is %s; to continue the conversation in a new task: %s "..."`,
		r.answer.State(), agent.commandLine("send", "--context-id", r.answer.ContextID()))
}

// skipEarlier notes what the user has seen before, so that the text shows only what is new.
func (f *following) skipEarlier(r *renderer, e *client.Event) error {
	if f.output != outputText {
		return nil
	}
	return broken(r.skip(e))
}

// finish writes the end of the output. With -o json and without --stream, this is the whole output: one document.
func (f *following) finish(ctx context.Context, agent *agent, follow *client.Following, r *renderer, message *client.Event) error {
	switch {
	case f.output == outputText:
		return broken(r.end())
	case f.stream:
		return nil
	case message != nil:
		return f.printJSON(json.RawMessage(message.StreamResponse()))
	}
	e, err := agent.Get(ctx, &a2a.GetRequest{TaskID: follow.TaskID()})
	if err != nil {
		return err
	}
	return f.printJSON(json.RawMessage(e.StreamResponse()))
}

// advise writes to stderr what the user can do about a task that has not completed. asked is its form, nil for none.
func (f *following) advise(agent *agent, follow *client.Following, asked *inputform.Form) {
	switch state := follow.State(); {
	case state == a2a.StateInputRequired && asked != nil:
		f.adviseForm(agent, follow.TaskID(), asked)
	case state == a2a.StateInputRequired:
		f.warnf(`The agent waits for your answer: %s "..."`, agent.commandLine("send", "--task-id", follow.TaskID()))
	case state == a2a.StateAuthRequired:
		f.warnf(`The agent waits for an authorization, which its message describes. Then: %s "..."`, agent.commandLine("send", "--task-id", follow.TaskID()))
	case state.Terminal() && state != a2a.StateCompleted:
		f.warnf("The task ended as %s.", state)
	}
}

// unfinished returns the failure for a task that was not followed to its end. After an interrupt, it cancels the task if
// --cancel-on-interrupt is set, or if the user agrees.
func (f *following) unfinished(ctx context.Context, agent *agent, follow *client.Following, err error) error {
	id := follow.TaskID()
	if id == "" {
		return err
	}
	problem := failure.Of(err)
	interrupted := errors.Is(context.Cause(ctx), errInterrupted)
	if interrupted && f.cancel {
		return f.cancelInterrupted(ctx, agent, id)
	}
	if interrupted && f.interactive && f.output == outputText {
		f.warnf("")
		f.warnf("Cancel the task %s, too? [y/N]", id)
		answer, _ := bufio.NewReader(f.In).ReadString('\n')
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			return f.cancelInterrupted(ctx, agent, id)
		}
	}
	if problem.Hint != "" && problem.Code != failure.Timeout {
		return problem
	}
	out := *problem
	return out.WithHint("the task continues; to follow it: %s, to end it: %s", agent.commandLine("task watch", id), agent.commandLine("task cancel", id))
}

func (f *following) cancelInterrupted(ctx context.Context, agent *agent, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	e, err := f.cancelTask(ctx, agent, id)
	if err != nil {
		return err
	}
	f.warnf("The task is %s.", e.Task.Status.State)
	if state := e.Task.Status.State; state != a2a.StateCanceled {
		return failure.New(failure.Interrupted, "Interrupted, and the task is still %s", state)
	}
	return failure.New(failure.Interrupted, "Interrupted, and the task was canceled")
}

// printTask writes a task as one document.
func (f *following) printTask(e *client.Event) error {
	if f.output == outputJSON {
		return f.printJSON(json.RawMessage(e.TaskJSON()))
	}
	return printEvent(f.renderer(), e, e.Task.History)
}

// notCancelable is the code of the failure to cancel a task that has ended.
var notCancelable = failure.OfReason(a2a.ReasonTaskNotCancelable)

// cancelTask cancels a task and returns it. The failure for a task that cannot be canceled names the state of the task.
func (f *following) cancelTask(ctx context.Context, agent *agent, id string) (*client.Event, error) {
	e, err := agent.Cancel(ctx, &a2a.CancelRequest{TaskID: id})
	refused := err
	if err != nil {
		if failure.Of(err).Code != notCancelable {
			return nil, err
		}
		if e, err = agent.Get(ctx, &a2a.GetRequest{TaskID: id, HistoryLength: new(0)}); err != nil {
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
