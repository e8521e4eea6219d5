// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/chat"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

func (a *app) chatCommand() *cobra.Command {
	o := &sendOptions{following: following{app: a}}
	cmd := &cobra.Command{
		Use:   "chat [AGENT | --url URL] [TEXT]",
		Short: "Talk with an agent in the terminal",
		Long: `Talk with an agent in the terminal.

The answer appears while the agent writes it, and your next message continues the conversation. If the agent asks a question,
your next message is the answer. If the agent asks to approve a call, y and n decide. The command resumes a broken stream. Ctrl-C
stops an answer and offers to cancel the task. A second Ctrl-C ends the chat. /help lists the commands, such as /file, /save, /task
and /cancel.

The command stores nothing. To continue a conversation, use --context-id. To continue a task, use --task-id. Without a terminal,
the command sends TEXT, shows the answer as kubectl a2a send does, and ends.`,
		Example: `  kubectl a2a chat echo
  kubectl a2a chat --url https://agent.example.com "Hello"
  kubectl a2a chat echo --context-id 1b1c...`,
	}
	o.agentFlags.addTo(a, cmd)
	o.addWaiting(cmd)
	cmd.Flags().Lookup("timeout").Usage = "How long to wait for an answer, such as 5m; 0 for no limit."
	cmd.Flags().StringVar(&o.taskID, "task-id", "", "`ID` of a task to follow and continue. --task is the same.")
	cmd.Flags().StringVar(&o.contextID, "context-id", "", "`ID` of the context of a conversation to continue.")
	cmd.Flags().StringVar(&o.skill, "skill", "", "`ID` of the skill to use, as the card lists it.")
	cmd.Flags().StringVar(&o.save, "save", ".", "`DIRECTORY` in which /save writes the files of the agent.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, texts, err := o.take(cmd, args)
		if err != nil {
			return err
		}
		if !a.canChat() {
			return o.sendOnce(cmd.Context(), name, texts)
		}
		agent, err := a.connect(cmd.Context(), &o.agentFlags, name)
		if err != nil {
			return err
		}
		defer agent.close()
		return o.chat(cmd.Context(), agent, strings.Join(texts, " "))
	}
	return cmd
}

// canChat reports whether stdin and stdout are a terminal that accepts control sequences.
func (a *app) canChat() bool {
	return isTerminal(a.In) && isTerminal(a.Out) && os.Getenv("TERM") != "dumb"
}

// sendOnce sends the message of the command line, and shows the answer as text.
func (o *sendOptions) sendOnce(ctx context.Context, name string, texts []string) error {
	if len(texts) == 0 {
		return failure.New(failure.Usage, "a chat needs a terminal for input and output").
			WithHint("name a text, which is sent once, or use %s send", Program)
	}
	o.output = outputText
	o.save = ""
	request, err := o.request(texts)
	if err != nil {
		return err
	}
	agent, err := o.connect(ctx, &o.agentFlags, name)
	if err != nil {
		return err
	}
	defer agent.close()
	o.warnOfSkill(agent.card, o.skill)
	return o.followSend(ctx, agent, request)
}

// chat runs the chat, and prints the command that continues it.
func (o *sendOptions) chat(ctx context.Context, agent *agent, text string) error {
	o.warnOfSkill(agent.card, o.skill)
	files := &fileSaver{directory: o.save}
	result, err := chat.Run(ctx, &chat.Options{
		Client: agent.Client, Name: cmp.Or(agent.card.Name, agent.arguments), Description: agent.card.Description,
		Message: text, TaskID: o.taskID, ContextID: o.contextID, Skill: o.skill, PollInterval: o.pollInterval, Timeout: o.timeout,
		Attach: func(path string) (a2a.Part, error) { return (&partFlag{flag: "file", value: path}).read(nil) },
		Save:   files.write, Command: agent.commandLine,
		Color: colorprofile.Env(os.Environ()) > colorprofile.ASCII, Environment: os.Environ(),
	}, o.In, o.Out)
	switch {
	case result.TaskID != "":
		o.warnf("To continue: %s", agent.commandLine("chat", "--task-id", result.TaskID))
	case result.ContextID != "":
		o.warnf("To continue: %s", agent.commandLine("chat", "--context-id", result.ContextID))
	}
	return err
}
