// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

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
