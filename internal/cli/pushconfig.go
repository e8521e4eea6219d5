// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

func (a *app) pushConfigCommand() *cobra.Command {
	return group("push-config", "Register webhooks that get the events of a task",
		a.pushCreateCommand(), a.pushGetCommand(), a.pushListCommand(), a.pushDeleteCommand())
}

// pushCommand adds the flags of commands for push configurations to cmd, and makes cmd call run. cmd requires one
// argument after the agent for each of the names: the id of the task and, for some commands, the id of the
// configuration. These arguments are the args of run.
func (a *app) pushCommand(cmd *cobra.Command, names []string, run func(ctx context.Context, agent *agent, args []string) error) *cobra.Command {
	f := &agentFlags{}
	f.addTo(a, cmd)
	cmd.RunE = a.connecting(f, exactArgs(names...), func(ctx context.Context, agent *agent, args []string) error {
		if err := agent.checkPush(); err != nil {
			return err
		}
		return run(ctx, agent, args)
	})
	return cmd
}

// checkPush returns the failure for an agent without push configurations.
func (a *agent) checkPush() error {
	switch {
	case a.Endpoint().Version != version.V10:
		return failure.New(failure.OfReason(a2a.ReasonUnsupportedOperation), "the CLI supports push configurations of A2A 1.0 only, and the interface of the agent has version %s", a.Endpoint().Version)
	case !a.card.Capabilities.PushNotifications:
		return failure.New(failure.OfReason(a2a.ReasonPushNotSupported), "the agent does not support push notifications: its card does not set capabilities.pushNotifications")
	default:
		return nil
	}
}

func (a *app) pushCreateCommand() *cobra.Command {
	config := &a2a.PushConfig{}
	cmd := &cobra.Command{
		Use:     "create [AGENT | --url URL] TASK --webhook URL",
		Short:   "Register a webhook that gets the events of a task",
		Example: `  kubectl a2a task push-config create echo 5d1c... --webhook https://hooks.example.com/a2a`,
	}
	cmd.Flags().StringVar(&config.URL, "webhook", "", "`URL` to which the agent posts the events.")
	cmd.Flags().StringVar(&config.ID, "config-id", "", "`ID` of the configuration; the agent chooses one by default.")
	cmd.Flags().StringVar(&config.Token, "webhook-token", "", "`TOKEN` that the agent sends with each notification, so that the receiver can recognize the agent. Prefer A2ACLI_WEBHOOK_TOKEN.")
	cmd.Flags().StringVar(&config.Scheme, "webhook-scheme", "", "`SCHEME` of the Authorization header of the notifications, such as Bearer.")
	cmd.Flags().StringVar(&config.Credentials, "webhook-credentials", "", "`CREDENTIALS` of --webhook-scheme. Prefer A2ACLI_WEBHOOK_CREDENTIALS.")
	a.outputFlag(cmd, outputText, outputJSON)
	return a.pushCommand(cmd, []string{"TASK"}, func(ctx context.Context, agent *agent, args []string) error {
		if u, err := url.Parse(config.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return failure.New(failure.Usage, "--webhook %q is not an http or https URL", config.URL)
		}
		if config.Credentials != "" && config.Scheme == "" {
			return failure.New(failure.Usage, "--webhook-credentials needs --webhook-scheme")
		}
		config.TaskID = args[0]
		created, err := agent.CreatePushConfig(ctx, config)
		if err != nil {
			return err
		}
		return a.printPush(created)
	})
}

func (a *app) pushGetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "get [AGENT | --url URL] TASK ID", Short: "Show a webhook of a task"}
	a.outputFlag(cmd, outputText, outputJSON)
	return a.pushCommand(cmd, []string{"TASK", "ID"}, func(ctx context.Context, agent *agent, args []string) error {
		config, err := agent.GetPushConfig(ctx, &a2a.PushRequest{TaskID: args[0], ID: args[1]})
		if err != nil {
			return err
		}
		return a.printPush(config)
	})
}

func (a *app) pushListCommand() *cobra.Command {
	var pageToken string
	cmd := &cobra.Command{Use: "list [AGENT | --url URL] TASK", Short: "List the webhooks of a task"}
	cmd.Flags().StringVar(&pageToken, "page-token", "", "`TOKEN` of the page to print, from the output of the previous page.")
	a.outputFlag(cmd, outputText, outputJSON)
	return a.pushCommand(cmd, []string{"TASK"}, func(ctx context.Context, agent *agent, args []string) error {
		page, err := agent.ListPushConfigs(ctx, &a2a.ListPushRequest{TaskID: args[0], PageToken: pageToken})
		switch {
		case err != nil:
			return err
		case a.output == outputJSON:
			return a.printJSON(json.RawMessage(page.JSON))
		case len(page.Configs) == 0:
			a.warnf("No push configurations.")
			return nil
		}
		rows := [][]string{{"ID", "URL", "AUTHENTICATION"}}
		for _, each := range page.Configs {
			rows = append(rows, []string{each.ID, each.URL, each.Authentication.Scheme})
		}
		if page.NextPageToken != "" {
			a.warnf("There are more: add --page-token %s", quoted(page.NextPageToken))
		}
		return a.printTable(rows)
	})
}

func (a *app) pushDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "delete [AGENT | --url URL] TASK ID", Short: "Remove a webhook of a task"}
	a.outputFlag(cmd, outputText, outputJSON)
	return a.pushCommand(cmd, []string{"TASK", "ID"}, func(ctx context.Context, agent *agent, args []string) error {
		if err := agent.DeletePushConfig(ctx, &a2a.PushRequest{TaskID: args[0], ID: args[1]}); err != nil {
			return err
		}
		if a.output == outputJSON {
			return a.printText([]byte("{}\n"))
		}
		w := terminal.NewWriter(a.Out)
		w.Field("Deleted", args[1])
		return broken(w.Err())
	})
}

// printPush writes a push configuration. The text format contains no secrets.
func (a *app) printPush(c *client.PushConfig) error {
	if a.output == outputJSON {
		return a.printJSON(json.RawMessage(c.JSON))
	}
	w := terminal.NewWriter(a.Out)
	w.Field(labelTask, c.TaskID)
	w.Field("Push config", c.ID)
	w.Field("URL", c.URL)
	if c.Authentication.Scheme != "" {
		w.Field("Authentication", c.Authentication.Scheme)
	}
	return broken(w.Err())
}
