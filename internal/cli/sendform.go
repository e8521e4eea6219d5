// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// formFlags are the flags that answer the form of a task that waits.
type formFlags struct {
	approved, rejected []string
	reason             string
	answers            []string
}

func (f *formFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.approved, "approve", nil, "`ID` of a call that the task of --task-id may make; may be repeated. Each call that the task asks about needs --approve or --reject.")
	flags.StringArrayVar(&f.rejected, "reject", nil, "`ID` of a call that the task may not make; may be repeated.")
	flags.StringVar(&f.reason, "reason", "", "`TEXT` that tells the agent why the calls of --reject are rejected.")
	flags.StringArrayVar(&f.answers, "answer", nil, "Answer to a question of the task, as `TEXT` or as the number of a choice; once for each question, in their order.")
	cmd.MarkFlagsMutuallyExclusive("approve", "answer")
	cmd.MarkFlagsMutuallyExclusive("reject", "answer")
}

// isSet reports whether the flags answer a form.
func (f *formFlags) isSet() bool { return len(f.approved)+len(f.rejected)+len(f.answers) > 0 }

// check checks the flags. content is true if the message has other content.
func (f *formFlags) check(taskID string, content bool) error {
	switch {
	case f.reason != "" && len(f.rejected) == 0:
		return failure.New(failure.Usage, "--reason needs --reject")
	case !f.isSet():
		return nil
	case taskID == "":
		return failure.New(failure.Usage, "--approve, --reject and --answer need --task-id, which names the task that asks")
	case content:
		return failure.New(failure.Usage, "--approve, --reject and --answer are the whole message, and exclude a text, --file and --data")
	}
	return nil
}

// fill writes the answer of the flags into a message that continues the task. If the task asks for decisions, fill refuses
// a message without them: a text decides nothing.
func (f *formFlags) fill(agent *agent, task *a2a.Task, m *a2a.Message) error {
	form := answer.FormOf(&task.Status)
	switch {
	case form == nil && f.isSet():
		return failure.New(failure.Usage, "the task is %s, and asks for nothing that --approve, --reject or --answer can answer", task.Status.State).
			WithHint("show it with %s", agent.commandLine("task get", task.ID))
	case form == nil:
		return nil
	case !f.isSet() && len(form.Questions) == 1 && len(m.Parts) == 1 && m.Parts[0].PlainText():
		text := m.Parts[0].Text
		m.Parts = nil
		return f.refused(agent, task, form, form.Answer(m, []string{text}))
	case !f.isSet() && len(form.Calls) > 0:
		return failure.New(failure.Usage, "the task asks for a decision about a call, which a text cannot make").
			WithHint("%s", formHint(agent, task.ID, form))
	case !f.isSet():
		return failure.New(failure.Usage, "the task asks %d questions", len(form.Questions)).WithHint("%s", formHint(agent, task.ID, form))
	case len(f.answers) > 0 && len(form.Questions) > 0:
		return f.refused(agent, task, form, form.Answer(m, f.answers))
	case len(f.answers) > 0 || len(form.Calls) == 0:
		return failure.New(failure.Usage, "the task does not ask for that").WithHint("%s", formHint(agent, task.ID, form))
	}
	return f.refused(agent, task, form, form.Decide(m, f.decisions()))
}

func (f *formFlags) decisions() []inputform.Decision {
	var all []inputform.Decision
	for _, id := range f.approved {
		all = append(all, inputform.Decision{ID: id, Approved: true})
	}
	for _, id := range f.rejected {
		all = append(all, inputform.Decision{ID: id, Reason: f.reason})
	}
	return all
}

// refused returns the failure for an error of the form, nil for none.
func (*formFlags) refused(agent *agent, task *a2a.Task, form *inputform.Form, err error) error {
	if err == nil {
		return nil
	}
	return failure.Wrap(failure.Usage, err, "nothing was sent").WithHint("%s", formHint(agent, task.ID, form))
}

// formHint names the commands that answer a form.
func formHint(agent *agent, taskID string, form *inputform.Form) string {
	if len(form.Questions) > 0 {
		return "to answer: " + answerCommand(agent, taskID, form)
	}
	return "to approve: " + agent.commandLine("approve", taskID) + ", to reject: " + agent.commandLine("reject", taskID)
}

func answerCommand(agent *agent, taskID string, form *inputform.Form) string {
	return agent.commandLine("send", "--task-id", taskID) + strings.Repeat(` --answer "..."`, len(form.Questions))
}

// adviseForm writes to stderr the commands that answer a form.
func (f *following) adviseForm(agent *agent, taskID string, form *inputform.Form) {
	if len(form.Questions) > 0 {
		f.warnf("The agent waits for your answer: %s", answerCommand(agent, taskID, form))
		return
	}
	f.warnf("The agent waits for your decision. To approve: %s", agent.commandLine("approve", taskID))
	f.warnf("To reject: %s", agent.commandLine("reject", taskID))
}

// formOf returns the form of an event's status. It returns former if the event has no status.
func formOf(e *client.Event, former *inputform.Form) *inputform.Form {
	switch {
	case e.Task != nil:
		return answer.FormOf(&e.Task.Status)
	case e.Status != nil:
		return answer.FormOf(&e.Status.Status)
	}
	return former
}
