// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	_ "embed"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// completionTimeout bounds the time that a user waits for the words after a Tab.
const completionTimeout = 5 * time.Second

// The program that kubectl runs to complete the words after "kubectl a2a". The archives of a release contain it, too.
var (
	//go:embed completion/kubectl_complete-a2a
	completionProgram []byte
	//go:embed completion/kubectl_complete-a2a.cmd
	completionProgramWindows []byte
)

// completionFunc returns the words that complete an argument or the value of a flag.
type completionFunc = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completing returns a completionFunc without files. It applies the settings as for a run of the command, and returns no word
// if words fails.
func (a *app) completing(words func(ctx context.Context, args []string, toComplete string) ([]string, error)) completionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if err := a.prepare(cmd); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		all, err := words(ctx, args, toComplete)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, cobra.ShellCompDirectiveError
		}
		lines := make([]string, 0, len(all))
		for _, each := range all {
			if line := completionLine(each); line != "" {
				lines = append(lines, line)
			}
		}
		return lines, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionLine returns a word, and its description after a tab. Strangers choose words, such as tags, and the scripts of some shells expand
// them as if the user had written them. So it returns "" for a word with a character that a shell may read as more than itself, and
// leaves such characters out of a description.
func completionLine(text string) string {
	word, description, ok := strings.Cut(text, "\t")
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !isPlain(r) }) {
		return ""
	}
	if !ok {
		return word
	}
	return word + "\t" + strings.Map(func(r rune) rune {
		if !isPlain(r) {
			return -1
		}
		return r
	}, safetext.Line(description))
}

// isPlain reports whether each shell reads a character as itself, also within quotes.
func isPlain(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ._:/@+=,%-", r)
}

// completeAgents completes the name of an Agent, as NAME or NAMESPACE/NAME.
func (a *app) completeAgents(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return a.completing(func(ctx context.Context, args []string, toComplete string) ([]string, error) {
		if len(args) > 0 {
			return nil, nil
		}
		return a.agentNames(ctx, toComplete)
	})(cmd, args, toComplete)
}

func (a *app) agentNames(ctx context.Context, toComplete string) ([]string, error) {
	namespace, _, qualified := strings.Cut(toComplete, "/")
	if !qualified {
		var err error
		if namespace, err = a.cluster.Namespace(); err != nil {
			return nil, err
		}
	}
	list, err := a.cluster.Agents(ctx, namespace, "")
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(list.Items))
	for i := range list.Items {
		name := list.Items[i].Name
		if qualified {
			name = namespace + "/" + name
		}
		all = append(all, name)
	}
	return all, nil
}

// completeCalls completes the arguments and flags of cmd, which calls the agent of f: the agent, the id of a task after it,
// and the values of flags that come from the card or the tasks of the agent. All flags of cmd must be defined.
func (a *app) completeCalls(cmd *cobra.Command, f *agentFlags) {
	takesTask := strings.Contains(cmd.Use, " TASK")
	cmd.ValidArgsFunction = a.completing(func(ctx context.Context, args []string, toComplete string) ([]string, error) {
		position := len(args)
		if f.reference != "" {
			position++
		}
		switch {
		case position == 0:
			return a.agentNames(ctx, toComplete)
		case position == 1 && takesTask:
			return a.taskIDs(ctx, f, args)
		}
		return nil, nil
	})
	for name, words := range map[string]func(context.Context, *agentFlags, []string) ([]string, error){
		"skill": a.skillIDs, "task-id": a.taskIDs, "context-id": a.contextIDs,
	} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, a.completing(func(ctx context.Context, args []string, _ string) ([]string, error) {
			return words(ctx, f, args)
		}))
	}
}

// agentArgument returns the name of the agent in args, "" if --url names it. It returns false if args has no agent.
func (f *agentFlags) agentArgument(args []string) (name string, ok bool) {
	switch {
	case f.reference != "":
		return "", true
	case len(args) == 0:
		return "", false
	}
	return args[0], true
}

// skillIDs returns the skills on the card of the agent, with their names.
func (a *app) skillIDs(ctx context.Context, f *agentFlags, args []string) ([]string, error) {
	name, ok := f.agentArgument(args)
	if !ok {
		return nil, nil
	}
	agent, err := a.find(ctx, f, name, false)
	if err != nil {
		return nil, err
	}
	defer agent.close()
	all := make([]string, 0, len(agent.card.Skills))
	for i := range agent.card.Skills {
		all = append(all, agent.card.Skills[i].ID+"\t"+agent.card.Skills[i].Name)
	}
	return all, nil
}

// taskIDs returns the last changed tasks of the caller, with their states.
func (a *app) taskIDs(ctx context.Context, f *agentFlags, args []string) ([]string, error) {
	return a.listed50(ctx, f, args, func(t *a2a.Task) string { return t.ID + "\t" + t.Status.State.String() })
}

// contextIDs returns the contexts of the last changed tasks of the caller.
func (a *app) contextIDs(ctx context.Context, f *agentFlags, args []string) ([]string, error) {
	return a.listed50(ctx, f, args, func(t *a2a.Task) string { return t.ContextID })
}

// listed50 returns the word of each of the last changed tasks, once.
func (a *app) listed50(ctx context.Context, f *agentFlags, args []string, word func(*a2a.Task) string) ([]string, error) {
	name, ok := f.agentArgument(args)
	if !ok {
		return nil, nil
	}
	agent, err := a.connect(ctx, f, name)
	if err != nil {
		return nil, err
	}
	defer agent.close()
	page, err := agent.List(ctx, &a2a.ListRequest{PageSize: 50, HistoryLength: new(0)})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range page.Tasks {
		if w := word(e.Task); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all, nil
}

// completeSearch completes the values of the flags of find by what the agents in the registry have.
func (f *findSearch) completeSearch(cmd *cobra.Command) {
	for name, values := range map[string]func(*registryapi.Agent) []string{
		"skill": func(agent *registryapi.Agent) []string {
			return ofSkills(agent, func(s *registryapi.Skill) []string { return []string{s.ID} })
		},
		"tag": func(agent *registryapi.Agent) []string {
			return ofSkills(agent, func(s *registryapi.Skill) []string { return s.Tags })
		},
		"input-mode":  func(agent *registryapi.Agent) []string { return agent.InputModes },
		"output-mode": func(agent *registryapi.Agent) []string { return agent.OutputModes },
		"provider":    func(agent *registryapi.Agent) []string { return []string{agent.Provider.Organization} },
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, f.completing(func(ctx context.Context, _ []string, _ string) ([]string, error) {
			return f.valuesOf(ctx, cmd, values)
		}))
	}
	for name, values := range map[string][]string{
		"capability": {"streaming", "pushNotifications", "extendedCard"}, "protocol": {"0.1", "0.2", "0.3", "1.0"}, "binding": {"JSONRPC", "HTTP+JSON", "GRPC"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func ofSkills(agent *registryapi.Agent, values func(*registryapi.Skill) []string) []string {
	var all []string
	for i := range agent.Skills {
		all = append(all, values(&agent.Skills[i])...)
	}
	return all
}

// valuesOf returns what the agents of the namespace have, sorted. It reads one page of agents.
func (f *findSearch) valuesOf(ctx context.Context, cmd *cobra.Command, values func(*registryapi.Agent) []string) ([]string, error) {
	query, err := f.query(cmd, "")
	if err != nil {
		return nil, err
	}
	query.Filters = nil
	query.Limit = 200
	client, closeConnection, err := f.registry(ctx, &f.registryFlags, query.Namespace)
	if err != nil {
		return nil, err
	}
	defer closeConnection()
	page, err := client.Search(ctx, query)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for i := range page.Agents {
		for _, each := range values(&page.Agents[i]) {
			all[each] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all)), nil
}

// completeCluster completes the flags about the cluster.
func (a *app) completeCluster(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", a.completing(func(ctx context.Context, _ []string, _ string) ([]string, error) {
		return a.cluster.Namespaces(ctx)
	}))
	_ = root.RegisterFlagCompletionFunc("context", a.completing(func(context.Context, []string, string) ([]string, error) {
		config, err := a.flags.ToRawKubeConfigLoader().RawConfig()
		return slices.Sorted(maps.Keys(config.Contexts)), err
	}))
}

// completionKubectlCommand returns the command that installs the program which kubectl runs for completion.
func (a *app) completionKubectlCommand() *cobra.Command {
	var directory string
	cmd := &cobra.Command{
		Use:   "kubectl",
		Short: "Let the completion of kubectl complete kubectl a2a",
		Long: `Let the completion of kubectl complete kubectl a2a.

For the words after kubectl a2a, kubectl runs the program kubectl_complete-a2a. The command writes this program to the directory
in which your PATH has kubectl-a2a. The completion of kubectl must be loaded in your shell: kubectl completion --help describes that.`,
		Example: `  kubectl a2a completion kubectl`,
		Args:    exactArgs(),
	}
	cmd.Flags().StringVar(&directory, "directory", "", "`DIRECTORY` of your PATH for the program; the one of kubectl-a2a by default.")
	cmd.RunE = func(*cobra.Command, []string) error {
		if directory == "" {
			program, err := exec.LookPath("kubectl-a2a")
			if err != nil {
				return failure.Wrap(failure.Usage, err, "find kubectl-a2a").WithHint("name a directory of your PATH with --directory")
			}
			directory = filepath.Dir(program)
		}
		name := "kubectl_complete-a2a"
		content := completionProgram
		if runtime.GOOS == "windows" {
			name = name + ".cmd"
			content = completionProgramWindows
		}
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, content, 0o755); err != nil { //nolint:gosec // every user of the directory may run it
			return failure.Wrap(failure.Internal, err, "write %s", name).WithHint("name another directory of your PATH with --directory")
		}
		return a.printText([]byte("Wrote " + safetext.Line(path) + "\n"))
	}
	return cmd
}
