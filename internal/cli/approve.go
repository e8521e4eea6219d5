// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// decideOptions are the flags of the commands approve and reject.
type decideOptions struct {
	following
	// approves is the decision about each call that is not in others.
	approves bool
	others   []string
	reason   string
	// owner is the principal whose task it is, "" for the caller's own.
	owner string
	// yes is true to decide without a question.
	yes bool
}

func (a *app) approveCommand() *cobra.Command {
	return a.decideCommand(true, &cobra.Command{
		Use:   "approve [AGENT | --url URL] TASK",
		Short: "Approve the calls for which a task waits",
		Long: `Approve the calls for which a task waits.

The command shows the agent, the tool, the server and all arguments of each call, and asks before it decides. Then it shows the task until it
has ended or needs input. It decides only about the calls that it has shown.`,
		Example: `  kubectl a2a approve deployer 5d1c...
  kubectl a2a approve deployer 5d1c... --reject call-2 --reason "not today"`,
	})
}

func (a *app) rejectCommand() *cobra.Command {
	return a.decideCommand(false, &cobra.Command{
		Use:   "reject [AGENT | --url URL] TASK",
		Short: "Reject the calls for which a task waits",
		Long: `Reject the calls for which a task waits.

The command shows the agent, the tool, the server and all arguments of each call, and asks before it decides. Then it shows the task until it
has ended or needs input.`,
		Example: `  kubectl a2a reject deployer 5d1c... --reason "not today"`,
	})
}

func (a *app) decideCommand(approves bool, cmd *cobra.Command) *cobra.Command {
	o := &decideOptions{following: following{app: a}, approves: approves}
	o.addTo(cmd)
	o.addCancel(cmd)
	o.addExitStatus(cmd)
	if approves {
		cmd.Flags().StringArrayVar(&o.others, "reject", nil, "`ID` of a call to reject; may be repeated. All others are approved.")
	} else {
		cmd.Flags().StringArrayVar(&o.others, "approve", nil, "`ID` of a call to approve; may be repeated. All others are rejected.")
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "`TEXT` that tells the agent why calls are rejected.")
	cmd.Flags().StringVar(&o.owner, "owner", "", "`PRINCIPAL` that owns the task, if a rule of the agent lets you decide about its tasks. The request names it.")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Decide without a question.")
	check := func(cmd *cobra.Command, rest []string) error {
		if approves && o.reason != "" && len(o.others) == 0 {
			return failure.New(failure.Usage, "--reason needs --reject")
		}
		if !o.yes && !o.interactive {
			return failure.New(failure.Usage, "%s cannot ask you without a terminal", display(cmd)).WithHint("show the calls with %s task get, and add --yes to decide", Program)
		}
		if o.owner != "" {
			o.parameters = append(o.parameters, "A2A-Task-Owner:"+o.owner)
		}
		return oneTask(cmd, rest)
	}
	cmd.RunE = a.connecting(&o.agentFlags, check, func(ctx context.Context, agent *agent, args []string) error {
		return o.decide(ctx, agent, args[0])
	})
	return cmd
}

// decide shows the calls for which a task waits, asks the user, sends the decisions and follows the task.
func (o *decideOptions) decide(ctx context.Context, agent *agent, taskID string) error {
	e, err := agent.Get(ctx, &a2a.GetRequest{TaskID: taskID, HistoryLength: new(0)})
	if err != nil {
		return err
	}
	form, err := callsOf(agent, e.Task)
	if err != nil {
		return err
	}
	message := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: taskID}
	decisions := o.decisions(form)
	if err := form.Decide(message, decisions); err != nil {
		return failure.Wrap(failure.Usage, err, "nothing was sent")
	}
	if err := o.confirm(form, decisions); err != nil {
		return err
	}
	o.continues = func(task *a2a.Task) error {
		now, err := callsOf(agent, task)
		if err == nil && now.Digest() != form.Digest() {
			err = failure.New(failure.Usage, "the task asks for something else now, and nothing was sent")
		}
		return err
	}
	if o.owner != "" {
		return o.decideForOwner(ctx, agent, message)
	}
	return o.follow(ctx, agent, func(ctx context.Context, f *client.Following) error {
		f.NeedsEarlier = true
		return f.Send(ctx, &a2a.SendRequest{Message: message})
	})
}

// decideForOwner sends decisions about a task of another caller. An approver cannot follow the task.
func (o *decideOptions) decideForOwner(ctx context.Context, agent *agent, message *a2a.Message) error {
	ctx, cancel := o.waiting(ctx)
	defer cancel()
	now, err := agent.Get(ctx, &a2a.GetRequest{TaskID: message.TaskID, HistoryLength: new(0)})
	if err == nil {
		err = o.continues(now.Task)
	}
	if err != nil {
		return err
	}
	e, err := agent.Send(ctx, &a2a.SendRequest{Message: message, ReturnImmediately: true})
	if err != nil {
		return err
	}
	return o.printAnswer(o.renderer(), e)
}

// callsOf returns the form of a task that waits for decisions.
func callsOf(agent *agent, task *a2a.Task) (*inputform.Form, error) {
	form := answer.FormOf(&task.Status)
	if form == nil || len(form.Calls) == 0 {
		return nil, failure.New(failure.Usage, "the task is %s, and waits for no decision about a call", task.Status.State).
			WithHint("show it with %s", agent.commandLine("task get", task.ID))
	}
	return form, nil
}

func (o *decideOptions) decisions(form *inputform.Form) []inputform.Decision {
	var all []inputform.Decision
	decide := func(id string, approved bool) {
		d := inputform.Decision{ID: id, Approved: approved}
		if !approved {
			d.Reason = o.reason
		}
		all = append(all, d)
	}
	for i := range form.Calls {
		if id := form.Calls[i].ID; !slices.Contains(o.others, id) {
			decide(id, o.approves)
		}
	}
	for _, id := range o.others {
		decide(id, !o.approves)
	}
	return all
}

// confirm shows the calls with the decisions, and asks the user. If the output is JSON, both are on stderr.
func (o *decideOptions) confirm(form *inputform.Form, decisions []inputform.Decision) error {
	out := o.Out
	if o.output == outputJSON {
		out = o.ErrOut
	}
	w := terminal.NewWriter(out)
	approved := 0
	for _, d := range decisions {
		at := slices.IndexFunc(form.Calls, func(c inputform.Call) bool { return c.ID == d.ID })
		label := "Reject "
		if d.Approved {
			label = "Approve "
			approved++
		}
		w.Block(label+d.ID, answer.DescribeCall(form, &form.Calls[at]))
		w.Close()
	}
	if err := w.Err(); err != nil || o.yes {
		return broken(err)
	}
	o.warnf("Approve %d and reject %d of the calls? [y/N]", approved, len(decisions)-approved)
	line, _ := bufio.NewReader(o.In).ReadString('\n')
	if text := strings.ToLower(strings.TrimSpace(line)); text != "y" && text != "yes" {
		return failure.New(failure.Internal, "nothing was decided, and the task waits")
	}
	return nil
}
