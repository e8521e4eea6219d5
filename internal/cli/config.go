// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Show the settings", a.configShowCommand())
}

// setting is the value of a flag, and the source of the value.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func (a *app) configShowCommand() *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the settings of calls to agents, and where each comes from",
		Long: `Show the settings of calls to agents, and where each comes from: a flag, a variable, a file, or the default. Credentials are
not shown. The command changes nothing.`,
		Example: `  kubectl a2a config show
  kubectl a2a config show --config agent.env`,
		Args: exactArgs(),
	}
	f.addTo(a, cmd)
	f.addWaiting(cmd)
	cmd.ValidArgsFunction = nil
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var all []setting
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			one := setting{Name: f.Name, Value: f.Value.String(), Source: cmp.Or(a.settings.sources[f.Name], "default")}
			if isSecret(f) && f.Value.String() != f.DefValue {
				one.Value = "[redacted]"
			}
			all = append(all, one)
		})
		if a.output == outputJSON {
			return a.printJSON(map[string][]setting{"settings": all})
		}
		rows := [][]string{{"SETTING", "VALUE", "SOURCE"}}
		for _, each := range all {
			rows = append(rows, []string{each.Name, cmp.Or(each.Value, "-"), each.Source})
		}
		return a.printTable(rows)
	}
	return cmd
}

func (a *app) authCommand() *cobra.Command {
	login := &cobra.Command{
		Use: "login", Short: "Explain how to get a credential: the command line stores none", Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return failure.New(failure.Usage, "%s stores no credentials and has no login", Program).
				WithHint("agents of a cluster get a token by your kubeconfig; for others, set A2ACLI_BEARER to a token of your identity provider")
		},
	}
	return group("auth", "Explain how to get a credential", login)
}
