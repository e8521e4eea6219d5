// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin `kubectl a2a`: it lists, finds, calls and inspects agents.
// Names of commands and flags, output and exit statuses follow the a2a-cli specification 0.2
// where it defines them.
//
// A file implements one command or one group of commands. A command parses its flags, connects to an
// agent (agent.go), and writes the result (render.go). It returns errors of package failure.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
)

// Run runs the command line and returns the exit status. When ctx ends, Run interrupts the command.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	a := &app{IOStreams: streams, interactive: isTerminal(streams.In) && isTerminal(streams.ErrOut)}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.command() // cobra passes the context to the commands
	root.SetArgs(args)
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errInterrupted) })()
	err := root.ExecuteContext(running)
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	problem, ok := errors.AsType[*failure.Error](err)
	switch {
	case ctx.Err() != nil && (!ok || problem.Code == failure.Internal || errors.Is(err, context.Canceled)):
		problem = errInterrupted
	case !ok: // an error of cobra, which checks the command line: commands return failures only
		problem = failure.Wrap(failure.Usage, err, "command line").WithHint("see %s --help", Program)
	}
	if a.output == outputJSON {
		text, _ := problem.MarshalJSON() // cannot fail, because the value has only strings and numbers
		_, _ = fmt.Fprintf(a.Out, "%s\n", safetext.JSON(text))
	} else {
		a.printError(problem)
	}
	return problem.Exit()
}

// printError writes an error as text. An interrupted command has failed in nothing: it ends with one line, and what the user can do.
func (a *app) printError(problem *failure.Error) {
	isFailure := problem.Code != failure.Interrupted
	message := problem.Message
	if isFailure {
		message = "Error: " + message
	}
	a.warnf("%s", message)
	if problem.Hint != "" {
		a.warnf("Hint: %s", problem.Hint)
	}
	if isFailure {
		a.warnf("Code: %s", problem.Code)
	}
}

// Command returns the root command with all subcommands, for the reference page and tests.
func Command(streams genericiooptions.IOStreams) *cobra.Command {
	return (&app{IOStreams: streams}).command()
}

func (a *app) command() *cobra.Command {
	a.flags = genericclioptions.NewConfigFlags(true)
	a.flags.CacheDir = nil
	a.flags.DisableCompression = nil
	a.cluster = clusteraccess.New(a.flags)
	a.calling = map[*cobra.Command]*agentFlags{}
	root := &cobra.Command{
		Use:   "kubectl-a2a",
		Short: "List, find, call and inspect A2A agents",
		Long: `List, find, call and inspect A2A agents.

Agents of a cluster are named by their Agent, as NAME or NAMESPACE/NAME. The CLI reaches them through the API server and gets
a token for just that agent. With --url, it calls any A2A agent, without a cluster.

Every flag that is not about the cluster can be set by a variable, such as A2ACLI_BEARER for --bearer, or by the same name in the
file ~/.config/a2a-cli/.env. kubectl a2a config show prints the settings. The flags of kubectl
for the connection to the API server, such as --as and --server, work, too.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: Program},
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           version.Get().String(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	root.AddCommand(a.findCommand())
	root.SetVersionTemplate(Program + " {{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "Print the version and exit.")
	a.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains([]string{"kubeconfig", "context", "namespace"}, f.Name)
	})
	for name, usage := range map[string]string{
		"kubeconfig": "`FILE` of the kubeconfig to use.", "context": "`NAME` of the kubeconfig context to use.",
		"namespace": "`NAMESPACE` of the agent; the one of the context by default.",
	} {
		root.PersistentFlags().Lookup(name).Usage = usage
	}
	root.PersistentFlags().StringVar(&a.settings.file, "config", "", "`FILE` with settings, one A2ACLI_NAME=value a line, in place of ~/.config/a2a-cli/.env.")
	root.PersistentFlags().BoolVar(&a.debug, "debug", false, "Log requests and responses to stderr, without credentials.")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return failure.New(failure.Usage, "%s", err).WithHint("see %s --help", display(cmd))
	})
	root.AddCommand(a.listCommand(), a.cardCommand(), a.sendCommand(), a.approveCommand(), a.rejectCommand(), a.chatCommand(), a.taskCommand(), a.tokenCommand(), a.eventsCommand(), a.listenCommand(), a.logsCommand(), a.restartCommand(), a.historyCommand(), a.rollbackCommand(), a.doctorCommand(), a.uiCommand(), a.importCommand(), a.exportCommand(), a.configCommand(), a.authCommand(), a.conformanceCommand(), a.versionCommand())
	root.SetHelpCommand(helpCommand(root))
	for cmd, flags := range a.calling {
		a.completeCalls(cmd, flags)
	}
	a.completeCluster(root)
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() == "completion" {
			command.AddCommand(a.completionKubectlCommand())
		}
	}
	for _, command := range root.Commands() {
		command.DisableFlagsInUseLine = true
	}
	return root
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show how to use a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmp.Or(cmd, root), strings.Join(rest, " "))
			}
			return cmd.Help()
		},
	}
}

func (a *app) importCommand() *cobra.Command {
	return group("import", "Make Agents from a Deployment, a card or manifests of kagent, and AgentSkills from folders",
		a.importDeploymentCommand(), a.importCardCommand(), a.importCatalogCommand(), a.importKagentCommand(), a.importSkillCommand())
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: exactArgs()}
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		if a.output == outputJSON {
			return a.printJSON(version.Get())
		}
		_, err := fmt.Fprintf(a.Out, "%s %s\n", Program, version.Get())
		return broken(err)
	}
	return cmd
}

// prepare sets flags from environment variables and the settings file, and checks --output.
func (a *app) prepare(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("output"); f != nil && !f.Changed {
		a.output = f.DefValue // the flags of all commands share a.output, which has the default of the flag that was defined last
	}
	values, file, err := a.settings.read()
	if err != nil {
		return err
	}
	a.settings.sources = map[string]string{}
	var problem error
	credentialInFile := false
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			a.settings.sources[f.Name] = "flag --" + f.Name
		}
		name := Variable(f)
		if f.Changed || problem != nil || name == "" {
			return
		}
		value, ok := os.LookupEnv(name)
		source := "variable " + name
		if !ok {
			value, ok = values[name]
			source = "file " + file
		}
		if !ok {
			return
		}
		a.settings.sources[f.Name] = source
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			problem = failure.Wrap(failure.Usage, err, "%s of %s", name, source)
		}
		credentialInFile = credentialInFile || strings.HasPrefix(source, "file ") && isSecret(f)
	})
	if credentialInFile {
		a.warnOfMode(file)
	}
	if problem != nil {
		return problem
	}
	if allowed := cmd.Annotations["outputs"]; allowed != "" && !slices.Contains(strings.Fields(allowed), a.output) {
		wrong := a.output
		a.output = outputText
		return failure.New(failure.Usage, "--output %s is not one of %s", wrong, strings.Join(strings.Fields(allowed), ", "))
	}
	return nil
}
