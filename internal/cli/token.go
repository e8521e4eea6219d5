// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

func (a *app) tokenCommand() *cobra.Command {
	var serviceAccount string
	var lifetime time.Duration
	cmd := &cobra.Command{
		Use:   "token AGENT",
		Short: "Print a token that is valid for one agent only",
		Long: `Print a token that is valid for one agent only, for a program that calls the agent itself.

The token identifies the caller as a ServiceAccount of the agent's namespace. Treat the token as a
password until it expires.`,
		Example: `  curl -H "Authorization: Bearer $(kubectl a2a token echo)" ...`,
		Args:    exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	cmd.Flags().StringVar(&serviceAccount, "service-account", "default", "`NAME` of the ServiceAccount, in the agent's namespace.")
	cmd.Flags().DurationVar(&lifetime, "duration", tokenLifetime, "How long the token is valid, at least 10m. The API server may issue a shorter one.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if lifetime < tokenLifetime {
			return failure.New(failure.Usage, "--duration must be at least %s", tokenLifetime)
		}
		// Without this read, a mistake in the name would show only when the token is used.
		agent, err := a.object(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		audience := names.Audience(agent.Name, agent.Namespace)
		token, err := a.cluster.Token(cmd.Context(), agent.Namespace, serviceAccount, audience, lifetime)
		if err != nil {
			return err
		}
		if a.output == outputJSON {
			return a.printJSON(map[string]string{"token": token.Value, "audience": audience, "expires": token.Expires.UTC().Format(time.RFC3339)})
		}
		return a.printText([]byte(token.Value + "\n"))
	}
	return cmd
}
