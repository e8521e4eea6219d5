// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

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
