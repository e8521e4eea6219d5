// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// errChecksFailed is returned after the table is written, so that the command ends with status 1.
var errChecksFailed = failure.New(failure.Internal, "the agent failed at least one check of A2A")

// check is a check of an agent, and its result.
type check struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	// Detail is the reason why the check failed, "" if it passed.
	Detail string `json:"detail,omitempty"`
}

func (a *app) conformanceCommand() *cobra.Command {
	f := &agentFlags{}
	var text string
	cmd := &cobra.Command{
		Use:   "conformance [AGENT | --url URL]",
		Short: "Check how an agent answers the requests of A2A",
		Long: `Check how an agent answers the requests of A2A: its card, and its errors for tasks that do not exist. With --message, the
command also sends a message, and reads the task that the agent creates for it. This short check does not replace the A2A TCK.`,
		Example: `  kubectl a2a conformance echo
  kubectl a2a conformance --url https://agent.example.com --message "Hello" -o json`,
	}
	f.addTo(a, cmd)
	f.addWaiting(cmd)
	cmd.Flags().StringVar(&text, "message", "", "`TEXT` of a message to send, which the agent works on.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = a.connecting(f, onlyAgent, func(ctx context.Context, agent *agent, _ []string) error {
		ctx, cancel := f.waiting(ctx)
		defer cancel()
		checks, err := runChecks(ctx, agent, f, text)
		if err != nil {
			return err
		}
		return a.printChecks(checks)
	})
	return cmd
}

// runChecks checks an agent. If text is not "", it also sends text as a message. It returns an error only if the agent
// refuses the credential, or if the connection fails before the message is sent.
func runChecks(ctx context.Context, agent *agent, f *agentFlags, text string) ([]check, error) {
	checks := []check{newCheck("the card follows its schema", strings.Join(cardProblems(agent.card.JSON), "; "))}
	missing := uuid.NewString()
	operations := []struct {
		name string
		call func() error
	}{
		{"reading a task that does not exist fails with TaskNotFoundError", func() error { _, err := agent.Get(ctx, &a2a.GetRequest{TaskID: missing}); return err }},
		{"canceling a task that does not exist fails with TaskNotFoundError", func() error { _, err := agent.Cancel(ctx, &a2a.CancelRequest{TaskID: missing}); return err }},
	}
	for _, each := range operations {
		err := each.call()
		if err != nil && !client.IsRefused(err) {
			return nil, err
		}
		if err == nil {
			checks = append(checks, newCheck(each.name, "the agent has such a task"))
			continue
		}
		problem := failure.Of(err)
		switch {
		case problem.Exit() == failure.New(failure.AuthFailed, "").Exit():
			return nil, err
		case problem.Code != failure.OfReason(a2a.ReasonTaskNotFound):
			checks = append(checks, newCheck(each.name, "the error is "+string(problem.Code)+": "+problem.Message))
		default:
			checks = append(checks, newCheck(each.name, ""))
		}
	}
	if text == "" {
		return checks, nil
	}
	return append(checks, checkMessage(ctx, agent, f, text)...), nil
}

// checkMessage sends a message, follows its task until it ends or waits, and reads the task.
func checkMessage(ctx context.Context, agent *agent, f *agentFlags, text string) []check {
	follow := &client.Following{Client: agent.Client, PollInterval: f.pollInterval, Observe: func(*client.Event) error { return nil }}
	message := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, Parts: []a2a.Part{{Content: a2a.ContentText, Text: text}}}
	const sends, reads = "a message is answered by a message, or by a task that ends or waits", "the task can be read, with the same state"
	if err := follow.Send(ctx, &a2a.SendRequest{Message: message}); err != nil {
		return []check{newCheck(sends, failure.Of(err).Message)}
	}
	checks := []check{newCheck(sends, "")}
	if follow.TaskID() == "" || follow.State() == a2a.StateUnknown {
		return checks
	}
	switch e, err := agent.Get(ctx, &a2a.GetRequest{TaskID: follow.TaskID()}); {
	case err != nil:
		return append(checks, newCheck(reads, failure.Of(err).Message))
	case e.Task.Status.State != follow.State():
		return append(checks, newCheck(reads, "the state was "+follow.State().String()+" and is "+e.Task.Status.State.String()))
	}
	return append(checks, newCheck(reads, ""))
}

func newCheck(name, detail string) check {
	return check{Name: name, Passed: detail == "", Detail: detail}
}

// printChecks writes the checks. It returns a failure if a check did not pass.
func (a *app) printChecks(checks []check) error {
	failed := false
	rows := [][]string{{"RESULT", "CHECK", "DETAIL"}}
	for _, each := range checks {
		result := "pass"
		if !each.Passed {
			result = "fail"
			failed = true
		}
		rows = append(rows, []string{result, each.Name, each.Detail})
	}
	if a.output == outputJSON {
		if err := a.printJSON(map[string]any{"checks": checks, "passed": !failed}); err != nil || !failed {
			return err
		}
		return errProblems // prints nothing more, because the JSON document contains the failures
	}
	if err := a.printTable(rows); err != nil {
		return err
	}
	if failed {
		return errChecksFailed
	}
	return nil
}
