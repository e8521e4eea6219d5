// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

func (a *app) taskCommand() *cobra.Command {
	return group("task", "List, read, follow, cancel and save tasks of an agent",
		a.taskListCommand(), a.taskGetCommand(), a.taskWatchCommand(), a.taskCancelCommand(), a.taskDownloadCommand(), a.pushConfigCommand())
}

func (a *app) taskGetCommand() *cobra.Command {
	f := &following{app: a}
	var history int
	var wait bool
	cmd := &cobra.Command{
		Use:     "get [AGENT | --url URL] TASK",
		Short:   "Show the state and the output of a task",
		Example: `  kubectl a2a task get echo 5d1c... --history 10`,
	}
	f.addTo(cmd)
	cmd.Flags().IntVar(&history, "history", 0, "Show the last `N` messages of the task.")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until the task has ended or needs input.")
	check := func(cmd *cobra.Command, rest []string) error {
		if err := oneTask(cmd, rest); err != nil {
			return err
		}
		if history < 0 {
			return failure.New(failure.Usage, "--history must not be negative")
		}
		return nil
	}
	cmd.RunE = a.connecting(&f.agentFlags, check, func(ctx context.Context, agent *agent, args []string) error {
		ctx, cancel := f.waiting(ctx)
		defer cancel()
		e, err := agent.Get(ctx, &a2a.GetRequest{TaskID: args[0], HistoryLength: &history})
		first := max(f.pollInterval, 100*time.Millisecond)
		for pause := first; err == nil && wait && !e.Task.Status.State.Terminal() && !e.Task.Status.State.Interrupted(); pause = client.NextPoll(pause, first) {
			if err = a2aclient.Sleep(ctx, pause); err == nil {
				e, err = agent.Get(ctx, &a2a.GetRequest{TaskID: args[0], HistoryLength: &history})
			}
		}
		if err != nil {
			return err
		}
		if f.output == outputJSON && f.stream {
			return a.printText(append(safetext.JSON(e.TaskJSON()), '\n'))
		}
		return f.printTask(e)
	})
	return cmd
}

func (a *app) taskWatchCommand() *cobra.Command {
	f := &following{app: a}
	var after string
	cmd := &cobra.Command{
		Use:     "watch [AGENT | --url URL] TASK",
		Aliases: []string{"subscribe"},
		Short:   "Follow a task until it has ended or needs input",
		Example: `  kubectl a2a task watch echo 5d1c...`,
	}
	f.addTo(cmd)
	f.addCancel(cmd)
	f.addExitStatus(cmd)
	cmd.Flags().StringVar(&after, "last-event-id", "", "`ID` of the last event that you received. The output begins with the next event, if the agent still has it.")
	cmd.RunE = a.connecting(&f.agentFlags, oneTask, func(ctx context.Context, agent *agent, args []string) error {
		return f.follow(ctx, agent, func(ctx context.Context, following *client.Following) error {
			return following.Task(ctx, args[0], after)
		})
	})
	return cmd
}

// listedStates are the values of --status.
var listedStates = []a2a.State{
	a2a.StateSubmitted, a2a.StateWorking, a2a.StateInputRequired, a2a.StateAuthRequired,
	a2a.StateCompleted, a2a.StateFailed, a2a.StateCanceled, a2a.StateRejected,
}

// parseState accepts input-required, INPUT_REQUIRED and TASK_STATE_INPUT_REQUIRED.
func parseState(text string) (a2a.State, error) {
	if text == "" {
		return a2a.StateUnknown, nil
	}
	short := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(text, "TASK_STATE_")), "_", "-")
	all := make([]string, 0, len(listedStates))
	for _, s := range listedStates {
		if s.String() == short {
			return s, nil
		}
		all = append(all, s.String())
	}
	return a2a.StateUnknown, failure.New(failure.Usage, "--status %s is not one of %s", text, strings.Join(all, ", "))
}

func (a *app) taskListCommand() *cobra.Command {
	f := &following{app: a}
	var status string
	var all bool
	request := &a2a.ListRequest{}
	cmd := &cobra.Command{
		Use:     "list [AGENT | --url URL]",
		Short:   "List your tasks of an agent, the last changed first",
		Example: `  kubectl a2a task list echo --status working`,
	}
	f.agentFlags.addTo(a, cmd)
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.Flags().BoolVar(&f.stream, "stream", false, "With -o json, write one task a line.")
	cmd.Flags().StringVar(&status, "status", "", "List the tasks in this `STATE` only, such as working or input-required.")
	cmd.Flags().StringVar(&request.ContextID, "context-id", "", "List the tasks of the context with this `ID` only.")
	cmd.Flags().IntVar(&request.PageSize, "limit", 50, "List at most `N` tasks, 1 to 100.")
	cmd.Flags().StringVar(&request.PageToken, "page-token", "", "`TOKEN` of the page to print, from the output of the previous page.")
	cmd.Flags().BoolVar(&all, "all", false, "List all pages.")
	states := make([]string, 0, len(listedStates))
	for _, s := range listedStates {
		states = append(states, s.String())
	}
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	check := func(cmd *cobra.Command, rest []string) (err error) {
		if err := onlyAgent(cmd, rest); err != nil {
			return err
		}
		if request.State, err = parseState(status); err != nil {
			return err
		}
		if request.PageSize < 1 || request.PageSize > 100 {
			return failure.New(failure.Usage, "--limit must be between 1 and 100")
		}
		if all && a.output == outputJSON && !f.stream {
			return failure.New(failure.Usage, "--all needs --stream with -o json: each page is a document of its own")
		}
		return nil
	}
	cmd.RunE = a.connecting(&f.agentFlags, check, func(ctx context.Context, agent *agent, _ []string) error {
		request.HistoryLength = new(0)
		return f.listTasks(ctx, agent, request, all)
	})
	return cmd
}

// listTasks writes a page of tasks, or all pages. If there are more pages, it writes the token of the next page to stderr.
func (f *following) listTasks(ctx context.Context, agent *agent, request *a2a.ListRequest, all bool) error {
	rows := [][]string{{"TASK", "STATE", "CHANGED", "CONTEXT"}}
	for {
		page, err := agent.List(ctx, request)
		if err != nil {
			return err
		}
		switch {
		case f.output == outputText:
			rows = slices.Concat(rows, taskRows(page.Tasks))
		case !f.stream:
			return f.printJSON(json.RawMessage(page.JSON))
		default:
			if err := f.printLines(page.Tasks); err != nil {
				return err
			}
		}
		more := all && page.NextPageToken != "" && page.NextPageToken != request.PageToken
		request.PageToken = page.NextPageToken
		if !more {
			break
		}
	}
	if f.output == outputText && len(rows) == 1 {
		f.warnf("No tasks.")
		return nil
	}
	if f.output == outputText {
		if err := f.printTable(rows); err != nil {
			return err
		}
	}
	if request.PageToken != "" {
		f.warnf("There are more tasks: add --page-token %s", quoted(request.PageToken))
	}
	return nil
}

// printLines writes each task as JSON on one line.
func (f *following) printLines(tasks []*client.Event) error {
	for _, e := range tasks {
		if err := f.printText(append(safetext.JSON(e.JSON), '\n')); err != nil {
			return err
		}
	}
	return nil
}

func taskRows(tasks []*client.Event) [][]string {
	rows := make([][]string, 0, len(tasks))
	for _, e := range tasks {
		changed := "-"
		if t := e.Task.Status.Time; !t.IsZero() {
			changed = t.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{e.Task.ID, e.Task.Status.State.String(), changed, e.Task.ContextID})
	}
	return rows
}

func (a *app) taskCancelCommand() *cobra.Command {
	f := &following{app: a}
	cmd := &cobra.Command{
		Use:   "cancel [AGENT | --url URL] TASK",
		Short: "Cancel a task",
		Long: `Cancel a task, and show it. If the task is already canceled, the command succeeds. If the task has ended in another state,
the command names the state and fails.`,
		Example: `  kubectl a2a task cancel echo 5d1c...`,
	}
	f.addTo(cmd)
	cmd.RunE = a.connecting(&f.agentFlags, oneTask, func(ctx context.Context, agent *agent, args []string) error {
		ctx, cancel := f.waiting(ctx)
		defer cancel()
		e, err := f.cancelTask(ctx, agent, args[0])
		if err != nil {
			return err
		}
		return f.printTask(e)
	})
	return cmd
}
