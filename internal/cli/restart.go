// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

func (a *app) restartCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restart AGENT",
		Short: "Replace the pods of an agent",
		Long: `Replace the pods of an agent, as spec.workload.strategy says. Running turns end first, within the grace period.

The command sets the annotation a2a-operator.dev/restarted-at of the Agent, which needs the right to patch the Agent. It does not change
the spec, so a GitOps tool does not undo it.`,
		Example: `  kubectl a2a restart echo`,
		Args:    exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.object(cmd.Context(), args[0])
		switch {
		case err != nil:
			return err
		case agent.Spec.Remote != nil:
			return failure.New(failure.Usage, "Agent %s/%s is remote, and has no pods", agent.Namespace, agent.Name).WithHint("restart the program at spec.remote.url")
		case agent.Spec.Suspend:
			return failure.New(failure.Usage, "Agent %s/%s is suspended, and has no pods", agent.Namespace, agent.Name).WithHint("set spec.suspend to false to start it")
		}
		if err := a.cluster.Restart(cmd.Context(), agent.Namespace, agent.Name, time.Now()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "agent %s/%s restarts\n", agent.Namespace, agent.Name)
		return broken(err)
	}
	return cmd
}
