// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/cli"
)

// cliFile is the page with all commands of kubectl a2a.
const cliFile = "docs/reference/cli.md"

const cliIntroduction = `# Commands of kubectl a2a

This page lists all commands and flags of ` + "`kubectl a2a`" + `. ` + "`make generate`" + ` writes it from the program. [How to use the
CLI](../how-to/cli.md) has tasks with examples, the rights that you need, and the [exit statuses](../how-to/cli.md#scripts).

A flag with a variable has the value of the variable if the command line does not have the flag. Prefer variables for credentials: other
users of a machine see its command lines.

## Flags of all commands

`

// renderCLI returns the page with all commands.
func renderCLI() string {
	root := cli.Command(genericiooptions.NewTestIOStreamsDiscard())
	root.InitDefaultCompletionCmd()
	var out strings.Builder
	out.WriteString(cliIntroduction)
	out.WriteString(flagTable(root.PersistentFlags(), func(*pflag.Flag) string { return "" }))
	out.WriteString("\nThe other flags of kubectl for the connection to the API server, such as `--as` and `--server`, are the same here.\n")
	renderCommands(&out, root)
	return out.String()
}

// renderCommands writes the subcommands of a command, sorted by name.
func renderCommands(out *strings.Builder, parent *cobra.Command) {
	commands := slices.Clone(parent.Commands())
	slices.SortFunc(commands, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, command := range commands {
		if command.Hidden || command.Name() == "help" {
			continue
		}
		switch {
		case command.Name() == "completion":
			renderCompletion(out, command)
		case command.HasAvailableSubCommands():
			renderCommands(out, command)
		default:
			renderCommand(out, command)
		}
	}
}

// renderCompletion writes one section for the command completion and its subcommands, because cobra wrote their texts.
func renderCompletion(out *strings.Builder, command *cobra.Command) {
	var shells []string
	for _, shell := range command.Commands() {
		shells = append(shells, shell.Name())
	}
	slices.Sort(shells)
	fmt.Fprintf(out, "\n## %s completion\n\nPrint the script with which a shell completes commands, flags, agents, skills and tasks of `kubectl-a2a`. `--help` of a shell describes how to load the script. `kubectl` lets the completion of kubectl complete `kubectl a2a`.\n\n", cli.Program)
	code(out, cli.Program+" completion "+strings.Join(shells, "|"))
}

// renderCommand writes the section of a command.
func renderCommand(out *strings.Builder, command *cobra.Command) {
	path := strings.Replace(command.CommandPath(), "kubectl-a2a", cli.Program, 1)
	fmt.Fprintf(out, "\n## %s\n\n%s\n\n", path, paragraphs(cmp.Or(command.Long, command.Short)))
	code(out, strings.Replace(command.UseLine(), "kubectl-a2a", cli.Program, 1))
	if len(command.Aliases) > 0 {
		fmt.Fprintf(out, "Another name: `%s`.\n\n", strings.Join(command.Aliases, "`, `"))
	}
	if command.Example != "" {
		out.WriteString("Examples:\n\n")
		code(out, command.Example)
	}
	if table := flagTable(command.LocalNonPersistentFlags(), cli.Variable); table != "" {
		out.WriteString(table)
	}
}

// code writes a code block.
func code(out *strings.Builder, text string) {
	out.WriteString("<!-- no-run: the arguments are placeholders -->\n```sh\n")
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	out.WriteString("```\n\n")
}

// paragraphs returns a text for people as Markdown.
func paragraphs(text string) string {
	return strings.NewReplacer("<", "&lt;", "_", `\_`, "*", `\*`).Replace(strings.TrimSpace(text))
}

// quoted returns a text as code, "" for "".
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// flagTable returns a table of flags, "" for none. variable returns the variable that sets a flag, "" for none.
func flagTable(flags *pflag.FlagSet, variable func(*pflag.Flag) string) string {
	t := table{header: []string{"flag", "default", "variable", "description"}}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		placeholder, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if placeholder != "" {
			name += " " + placeholder
		}
		value := f.DefValue
		if slices.Contains([]string{"[]", "0", "0s", "false"}, value) {
			value = ""
		}
		t.rows = append(t.rows, []string{name + "`", quoted(value), quoted(variable(f)), cell(usage)})
	})
	if len(t.rows) == 0 {
		return ""
	}
	return t.markdown()
}
