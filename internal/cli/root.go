// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin `kubectl a2a`: it lists, finds, calls and inspects agents.
// Names of commands and flags, output and exit statuses are those of the a2a-cli specification
// 0.2, as far as it has them.
//
// Each file has one command. A command parses its flags, gets an agent (agent.go), and writes the
// result (render.go). Its errors are of package failure.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
	"github.com/a2a-operator/a2a-operator/internal/version"
)

// Program is the name of the CLI in texts for users.
const Program = "kubectl a2a"

// app is what the commands share.
type app struct {
	genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags
	cluster *clusteraccess.Cluster
	output  string
	debug   bool
	// interactive is true if the user can be asked.
	interactive bool
	settings    settings
}

// Run runs the command line and returns the exit status. The end of ctx interrupts it.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	a := &app{IOStreams: streams, interactive: isTerminal(streams.In) && isTerminal(streams.ErrOut)}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.command() //nolint:contextcheck // cobra passes the context to the commands
	root.SetArgs(args)
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errInterrupted) })()
	err := root.ExecuteContext(running)
	if err == nil {
		return 0
	}
	if errors.Is(err, errProblems) { // the command has reported them
		return errProblems.Exit()
	}
	problem, ok := errors.AsType[*failure.Error](err)
	if !ok { // cobra checks the command line, and commands return no other errors
		problem = failure.Wrap(failure.Usage, err, "command line").WithHint("see %s --help", Program)
	}
	if a.output == outputJSON {
		text, _ := problem.MarshalJSON() // strings and numbers
		_, _ = fmt.Fprintf(a.Out, "%s\n", terminal.JSON(text))
	} else {
		a.printError(problem)
	}
	return problem.Exit()
}

var errInterrupted = failure.New(failure.Internal, "interrupted")

func (a *app) printError(problem *failure.Error) {
	_, _ = fmt.Fprintf(a.ErrOut, "Error: %s\n", terminal.Line(problem.Message))
	if problem.Hint != "" {
		_, _ = fmt.Fprintf(a.ErrOut, "Hint: %s\n", terminal.Line(problem.Hint))
	}
	_, _ = fmt.Fprintf(a.ErrOut, "Code: %s\n", terminal.Line(string(problem.Code)))
}

// warnf writes a line that is not part of the result.
func (a *app) warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.ErrOut, "%s\n", terminal.Line(fmt.Sprintf(format, args...)))
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
	outputYAML = "yaml"
	outputName = "name"
	outputWide = "wide"
)

// Command returns the whole command, for its reference and its tests.
func Command(streams genericiooptions.IOStreams) *cobra.Command {
	return (&app{IOStreams: streams}).command()
}

func (a *app) command() *cobra.Command {
	a.flags = genericclioptions.NewConfigFlags(true)
	a.flags.CacheDir, a.flags.DisableCompression = nil, nil
	a.cluster = clusteraccess.New(a.flags)
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
				return failure.New(failure.Usage, "unknown command %q", args[0]).WithHint("see %s --help", Program)
			}
			return cmd.Help() //nolint:wrapcheck // it writes to the terminal
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
	root.AddCommand(a.listCommand(), a.cardCommand(), a.sendCommand(), a.chatCommand(), a.taskCommand(), a.tokenCommand(), a.eventsCommand(), a.logsCommand(), a.doctorCommand(), a.uiCommand(), a.importCommand(), a.configCommand(), a.authCommand(), a.conformanceCommand(), a.versionCommand())
	root.SetHelpCommand(helpCommand(root))
	for _, command := range root.Commands() {
		command.DisableFlagsInUseLine = true
	}
	return root
}

// display returns the command as the user writes it.
func display(cmd *cobra.Command) string {
	return strings.Replace(cmd.CommandPath(), "kubectl-a2a", Program, 1)
}

// output adds the flag --output with the values that the command supports, the first one being the
// default.
func (a *app) outputFlag(cmd *cobra.Command, values ...string) {
	cmd.Flags().StringVarP(&a.output, "output", "o", values[0], "Output format: "+strings.Join(values, ", ")+".")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations["outputs"] = strings.Join(values, " ")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// quoted returns an argument for a command that the user copies into a shell.
func quoted(argument string) string {
	if argument != "" && strings.IndexFunc(argument, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:/@%+=,-", r)
	}) < 0 {
		return argument
	}
	return "'" + strings.ReplaceAll(terminal.Line(argument), "'", `'\''`) + "'"
}

// debugf logs a line of --debug. It returns nil without the flag.
func (a *app) debugf() func(format string, args ...any) {
	if !a.debug {
		return nil
	}
	return func(format string, args ...any) {
		_, _ = fmt.Fprintf(a.ErrOut, "%s\n", terminal.Clean(fmt.Sprintf(format, args...)))
	}
}

// exactArgs returns a check of the number of arguments.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		problem := failure.New(failure.Usage, "%s takes no argument", display(cmd))
		if len(names) > 0 {
			problem.Message = display(cmd) + " needs the arguments " + strings.Join(names, " ")
		}
		return problem.WithHint("see %s --help", display(cmd))
	}
}

// group returns a command that has only subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return failure.New(failure.Usage, "unknown command %q of %s", args[0], display(cmd)).WithHint("see %s --help", display(cmd))
		}
		return cmd.Help() //nolint:wrapcheck // it writes to the terminal
	}
	cmd.AddCommand(commands...)
	return cmd
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show how to use a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return failure.New(failure.Usage, "unknown command %q", strings.Join(args, " ")).WithHint("see %s --help", Program)
			}
			return cmd.Help() //nolint:wrapcheck // it writes to the terminal
		},
	}
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

// printJSON writes a value as one document.
func (a *app) printJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return failure.Wrap(failure.Internal, err, "encode the result")
	}
	return a.printText(append(terminal.JSON(text), '\n'))
}

func (a *app) printText(text []byte) error {
	_, err := a.Out.Write(text)
	return broken(err)
}

// broken returns the failure of a write to stdout.
func broken(err error) error {
	if err == nil || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return failure.Wrap(failure.Internal, err, "write the result")
}
