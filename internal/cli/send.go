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
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// cancelTimeout bounds the cancel of a task after an interrupt.
const cancelTimeout = 10 * time.Second

// following follows a task and shows it, for the commands that do so.
type following struct {
	*app
	agentFlags
	// stream is true to write each event: as a line of JSON, or as text with every state.
	stream bool
	save   string
	// cancel is true to cancel the task after an interrupt without asking the user.
	cancel bool
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

type sendOptions struct {
	following
	partFlags

	async, wait         bool
	taskID, contextID   string
	metadata, skill     string
	acceptedOutputModes []string
}

func (a *app) sendCommand() *cobra.Command {
	o := &sendOptions{following: following{app: a}}
	cmd := &cobra.Command{
		Use:   "send [AGENT | --url URL] [TEXT | -]",
		Short: "Send a message to an agent, and show the answer while the agent writes it",
		Long: `Send a message to an agent, and show the answer while the agent writes it.

The command waits until the task has ended or needs input. It resumes a broken stream. Ctrl-C ends the wait, and offers to
cancel the task. The exit status is 0 if the task has ended or needs input, even if it failed. The field State has the outcome.`,
		Example: `  kubectl a2a send echo "Hello from my terminal"
  kubectl a2a send echo --file report.pdf --text "Summarize this" --save out
  kubectl a2a send echo --task-id 5d1c... "Yes, go on"
  kubectl a2a send --url https://agent.example.com "Hello" -o json`,
		Args: cobra.ArbitraryArgs,
	}
	o.following.addTo(cmd)
	o.addCancel(cmd)
	o.partFlags.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&o.async, "async", false, "Do not wait for the task: write its ids, with which kubectl a2a task watch follows it.")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "Wait until the task has ended or needs input.")
	cmd.Flags().StringVar(&o.taskID, "task-id", "", "`ID` of a task to continue, such as one that needs input. --task is the same.")
	cmd.Flags().StringVar(&o.contextID, "context-id", "", "`ID` of the context of the message, which continues a conversation in a new task.")
	cmd.Flags().StringVar(&o.metadata, "metadata", "", "JSON `OBJECT` with the metadata of the message.")
	cmd.Flags().StringVar(&o.skill, "skill", "", "`ID` of the skill to use, as the card lists it.")
	cmd.Flags().StringArrayVar(&o.acceptedOutputModes, "accept", nil, "Media `TYPE` of the answer that you prefer; may be repeated.")
	cmd.MarkFlagsMutuallyExclusive("async", "stream")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, texts, err := o.take(cmd, args)
		if err != nil {
			return err
		}
		request, err := o.request(texts)
		if err != nil {
			return err
		}
		agent, err := o.connect(cmd.Context(), &o.agentFlags, name)
		if err != nil {
			return err
		}
		defer agent.close()
		if o.async || !o.wait {
			return o.sendAsync(cmd.Context(), agent, request)
		}
		return o.followSend(cmd.Context(), agent, request)
	}
	return cmd
}

// followSend sends a message and shows its task.
func (o *sendOptions) followSend(ctx context.Context, agent *agent, request *a2a.SendRequest) error {
	return o.follow(ctx, agent, func(ctx context.Context, f *a2aclient.Following) error { return f.Send(ctx, request) })
}

// request returns a request with the texts of the arguments and the values of the flags.
func (o *sendOptions) request(texts []string) (*a2a.SendRequest, error) {
	m, err := o.message(texts, o.In)
	if err != nil {
		return nil, err
	}
	m.TaskID, m.ContextID = o.taskID, o.contextID
	metadata := map[string]json.RawMessage{}
	if o.metadata != "" {
		if err := json.Unmarshal([]byte(o.metadata), &metadata); err != nil || metadata == nil {
			return nil, failure.New(failure.Usage, "--metadata is not a JSON object")
		}
	}
	if o.skill != "" {
		metadata[a2a.SkillName], _ = json.Marshal(o.skill) //nolint:errchkjson // a string has a JSON form
	}
	if len(metadata) > 0 {
		m.Metadata, _ = json.Marshal(metadata) //nolint:errchkjson // it was valid JSON
	}
	return &a2a.SendRequest{Message: m, AcceptedOutputModes: o.acceptedOutputModes}, nil
}

// sendAsync sends a message, and writes the first answer without following the task.
func (o *sendOptions) sendAsync(ctx context.Context, agent *agent, request *a2a.SendRequest) error {
	request.ReturnImmediately = true
	ctx, cancel := o.waiting(ctx)
	defer cancel()
	e, err := agent.Send(ctx, request)
	if err != nil {
		return err
	}
	if err := o.printAnswer(e); err != nil || e.Task == nil {
		return err
	}
	if !e.Task.Status.State.Terminal() {
		o.warnf("The task continues. To follow it: %s", agent.commandLine("task watch", e.Task.ID))
	}
	return nil
}

// printAnswer writes the answer to a message as one document.
func (f *following) printAnswer(e *a2aclient.Event) error {
	if f.output == outputJSON {
		return f.printJSON(json.RawMessage(e.StreamResponse()))
	}
	r := f.renderer()
	if err := r.event(e); err != nil {
		return broken(err)
	}
	return broken(r.end())
}

func (f *following) renderer() *renderer {
	r := newRenderer(f.Out)
	r.everyEvent = f.stream
	if f.save != "" {
		r.files = &fileSaver{directory: f.save}
	}
	return r
}

// follow shows a task until it has ended or waits.
func (f *following) follow(ctx context.Context, agent *agent, start func(context.Context, *a2aclient.Following) error) error {
	waiting, cancel := f.waiting(ctx)
	defer cancel()
	r := f.renderer()
	var message *a2aclient.Event // the answer of an agent that makes no task
	follow := &a2aclient.Following{
		Client: agent.Client, PollInterval: max(f.pollInterval, 100*time.Millisecond),
		Resuming: func(cause error) {
			if cause != nil {
				f.warnf("The stream broke and is resumed: %v", cause)
			}
		},
	}
	follow.Observe = func(e *a2aclient.Event) error {
		if e.Message != nil {
			message = e
		}
		switch {
		case f.output == outputText:
			return broken(r.event(e))
		case f.stream:
			return f.printText(append(terminal.JSON(e.StreamResponse()), '\n'))
		default:
			return nil
		}
	}
	if err := start(waiting, follow); err != nil {
		if f.output == outputText {
			_ = r.end()
		}
		return f.unfinished(ctx, agent, follow, err)
	}
	if err := f.finish(ctx, agent, follow, r, message); err != nil {
		return err
	}
	f.advise(agent, follow)
	return nil
}

// finish writes the end of the output. With -o json and without --stream, this is the whole output: one document.
func (f *following) finish(ctx context.Context, agent *agent, follow *a2aclient.Following, r *renderer, message *a2aclient.Event) error {
	switch {
	case f.output == outputText:
		return broken(r.end())
	case f.stream:
		return nil
	case message != nil:
		return f.printJSON(json.RawMessage(message.StreamResponse()))
	}
	e, err := agent.Task(ctx, follow.TaskID(), nil)
	if err != nil {
		return err
	}
	return f.printJSON(json.RawMessage(e.StreamResponse()))
}

// advise writes to stderr what the user can do about a task that has not completed.
func (f *following) advise(agent *agent, follow *a2aclient.Following) {
	switch state := follow.State(); {
	case state == a2a.StateInputRequired:
		f.warnf(`The agent waits for your answer: %s "..."`, agent.commandLine("send", "--task-id", follow.TaskID()))
	case state == a2a.StateAuthRequired:
		f.warnf(`The agent waits for an authorization, which its message describes. Then: %s "..."`, agent.commandLine("send", "--task-id", follow.TaskID()))
	case state.Terminal() && state != a2a.StateCompleted:
		f.warnf("The task ended as %s.", state)
	}
}

// unfinished returns the failure for a task that was not followed to its end. After an interrupt, it cancels the task if
// --cancel is set, or if the user agrees.
func (f *following) unfinished(ctx context.Context, agent *agent, follow *a2aclient.Following, err error) error {
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
		return failure.New(failure.Internal, "interrupted, and the task is still %s", state)
	}
	return failure.New(failure.Internal, "interrupted, and the task was canceled")
}
