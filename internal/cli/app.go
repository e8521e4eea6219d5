// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Program is the name of the CLI in texts for users.
const Program = "kubectl a2a"

// app contains the flags, the streams and the connection to the cluster that all commands share.
type app struct {
	genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags
	cluster *clusteraccess.Cluster
	output  string
	debug   bool
	// interactive is true if a command can ask the user a question.
	interactive bool
	settings    settings
	// calling has the flags of each command that calls an agent.
	calling map[*cobra.Command]*agentFlags
}

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
	outputYAML = "yaml"
	outputName = "name"
	outputWide = "wide"
)

// statusError is the exit status of a command that has already written its result.
type statusError int

// Error implements error.
func (s statusError) Error() string { return "exit status " + strconv.Itoa(int(s)) }

var errInterrupted = failure.New(failure.Interrupted, "Interrupted")

// outputFlag adds the flag --output with the values that the command supports. The first value is the default.
func (a *app) outputFlag(cmd *cobra.Command, values ...string) {
	cmd.Flags().StringVarP(&a.output, "output", "o", values[0], "Output format: "+strings.Join(values, ", ")+".")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations["outputs"] = strings.Join(values, " ")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// warnf writes a line to stderr.
func (a *app) warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.ErrOut, "%s\n", safetext.Line(fmt.Sprintf(format, args...)))
}

// debugf returns the function that writes debug lines. It returns nil without --debug.
func (a *app) debugf() func(format string, args ...any) {
	if !a.debug {
		return nil
	}
	return func(format string, args ...any) {
		_, _ = fmt.Fprintf(a.ErrOut, "%s\n", safetext.Clean(fmt.Sprintf(format, args...)))
	}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// display returns the command as the user writes it.
func display(cmd *cobra.Command) string {
	return strings.Replace(cmd.CommandPath(), "kubectl-a2a", Program, 1)
}

// quoted returns an argument with the quotes that a shell needs.
func quoted(argument string) string {
	if argument != "" && strings.IndexFunc(argument, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:/@%+=,-", r)
	}) < 0 {
		return argument
	}
	return "'" + strings.ReplaceAll(safetext.Line(argument), "'", `'\''`) + "'"
}

// exactArgs returns a check that a command has exactly one argument for each of the names.
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
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	cmd.AddCommand(commands...)
	return cmd
}

// printJSON writes a value to stdout as one JSON document.
func (a *app) printJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return failure.Wrap(failure.Internal, err, "encode the result")
	}
	return a.printText(append(safetext.JSON(text), '\n'))
}

// printDocument writes a value to stdout as one document, in JSON or, with -o yaml, in YAML.
func (a *app) printDocument(value any) error {
	if a.output == outputJSON {
		return a.printJSON(value)
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return failure.Wrap(failure.Internal, err, "encode the result")
	}
	return a.printText([]byte(safetext.Clean(string(text))))
}

func (a *app) printText(text []byte) error {
	_, err := a.Out.Write(text)
	return broken(err)
}

// broken returns the failure for an error of a write to stdout. It returns nil if err is nil, or if stdout is an
// io.Pipe that is closed.
func broken(err error) error {
	if err == nil || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return failure.Wrap(failure.Internal, err, "write the result")
}
