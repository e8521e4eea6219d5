// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// findSearch is `kubectl a2a find`: its flags, and the search of the registry.
type findSearch struct {
	*app
	registryFlags
	allNamespaces, watch, everyPage bool
	// filters are the values of the flags that restrict the search, by the name of the query parameter.
	filters       map[string]*[]string
	ready, remote bool
	limit         int
	pageToken     string
}

func (a *app) findCommand() *cobra.Command {
	f := &findSearch{app: a, filters: map[string]*[]string{}}
	cmd := &cobra.Command{
		Use:   "find [WORD...]",
		Short: "Find agents by words, skills and other properties",
		Long: `Find agents by words, skills and other properties, in the registry of the cluster.

With words, the best match comes first. An agent must match all flags, and all values of a repeated flag. The command lists the agents
that the registry shows to the ServiceAccount of the token: the agents of its namespace, those that it may list, and public ones. With
--as-self, or if you lack a right that the registry needs, it lists the agents that you may list yourself.`,
		Example: `  kubectl a2a find will it rain in paris
  kubectl a2a find -A --skill quote --ready
  kubectl a2a find -A --as-self
  kubectl a2a find -A --tag weather -w`,
	}
	flags := cmd.Flags()
	for _, filter := range []struct{ flag, parameter, usage string }{
		{"skill", "skill", "Find agents that have the skill with this `ID`."},
		{"tag", "tag", "Find agents that have a skill with this `TAG`."},
		{"text", "text", "Find agents whose texts have all of these `WORDS`."},
		{"input-mode", "inputMode", "Find agents that accept this media `TYPE`, such as image/png."},
		{"output-mode", "outputMode", "Find agents that return this media `TYPE`."},
		{"capability", "capability", "Find agents with this `CAPABILITY`: streaming, pushNotifications, extendedCard or the URI of an extension."},
		{"protocol", "protocol", "Find agents that speak this `VERSION` of A2A, such as 1.0."},
		{"binding", "binding", "Find agents with this `BINDING`: JSONRPC, HTTP+JSON, GRPC or a URI."},
		{"provider", "provider", "Find agents of this `ORGANIZATION`."},
	} {
		values := new([]string)
		flags.StringArrayVar(values, filter.flag, nil, filter.usage+" May be repeated.")
		f.filters[filter.parameter] = values
	}
	flags.BoolVar(&f.ready, "ready", false, "Find agents that are ready for calls; with =false, agents that are not.")
	flags.BoolVar(&f.remote, "remote", false, "Find agents that run outside of the cluster; with =false, inside.")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Find agents of all namespaces.")
	flags.BoolVarP(&f.watch, "watch", "w", false, "After the list, print each change. Cannot be used with words, which rank the agents: use --text.")
	flags.IntVar(&f.limit, "limit", 50, "Find at most `N` agents, 1 to 200.")
	flags.StringVar(&f.pageToken, "page-token", "", "`TOKEN` of the page to print, from the output of the previous page.")
	flags.BoolVar(&f.everyPage, "all", false, "Find the agents of all pages.")
	f.addTo(cmd)
	a.outputFlag(cmd, outputText, outputWide, outputJSON, outputYAML, outputName)
	f.completeSearch(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query, err := f.query(cmd, strings.Join(args, " "))
		if err != nil {
			return err
		}
		client, closeConnection, err := a.registry(cmd.Context(), &f.registryFlags, query.Namespace)
		if err != nil {
			return err
		}
		defer closeConnection()
		f.nameCaller(client.Caller)
		if f.watch {
			return f.follow(cmd.Context(), client, query)
		}
		return f.search(cmd.Context(), client, query)
	}
	return cmd
}

// query returns the query that the words and the flags describe.
func (f *findSearch) query(cmd *cobra.Command, words string) (q registryapi.Query, err error) {
	q = registryapi.Query{Words: words, Limit: f.limit, Cursor: f.pageToken, Filters: url.Values{}}
	for parameter, values := range f.filters {
		q.Filters[parameter] = *values
	}
	for name, value := range map[string]bool{"ready": f.ready, "remote": f.remote} {
		if cmd.Flags().Changed(name) {
			q.Filters.Set(name, strconv.FormatBool(value))
		}
	}
	switch {
	case words != "" && f.watch:
		return q, failure.New(failure.Usage, "--watch cannot be used with words, because it has no order").WithHint("use --text, which selects agents and does not rank them")
	case f.watch && (f.output == outputYAML || f.everyPage || f.pageToken != ""):
		return q, failure.New(failure.Usage, "--watch cannot be used with --all, --page-token or -o yaml")
	case f.limit < 1 || f.limit > 200:
		return q, failure.New(failure.Usage, "--limit must be between 1 and 200")
	case f.allNamespaces && *f.flags.Namespace != "":
		return q, failure.New(failure.Usage, "--all-namespaces and --namespace exclude each other")
	case f.asSelf && (f.url != "" || f.token != ""):
		return q, failure.New(failure.Usage, "--as-self cannot be used with --registry or --registry-token, which name the registry and its caller")
	case !f.allNamespaces && (f.url == "" || *f.flags.Namespace != ""):
		q.Namespace, err = f.cluster.Namespace()
	}
	return q, err
}

// nameCaller writes to stderr as whom the command searches all namespaces, because a user may see other agents than the
// ServiceAccount.
func (f *findSearch) nameCaller(caller string) {
	if !f.allNamespaces || f.url != "" || f.token != "" || caller == ownCaller || f.output != outputText && f.output != outputWide {
		return
	}
	f.warnf("Asked as %s, which sees public agents, those of its namespace, and those that it may list. "+
		"--as-self lists all agents that you may list.", caller)
}

// Bounds of the agents that --all collects. The rest is on further pages.
const (
	maxPages = 2_000
	maxBytes = 64 << 20
)

// search writes a page of agents, or all pages.
func (f *findSearch) search(ctx context.Context, client *registryclient.Client, query registryapi.Query) error {
	var found []registryapi.Agent
	size := 0
	for pages := 1; ; pages++ {
		page, err := client.Search(ctx, query)
		if err != nil {
			return err
		}
		found = append(found, page.Agents...)
		for i := range page.Agents {
			size += len(page.Agents[i].JSON)
		}
		if f.everyPage && page.NextCursor != "" && page.NextCursor != query.Cursor && pages < maxPages && size < maxBytes {
			query.Cursor = page.NextCursor
			continue
		}
		page.Agents = found
		err = f.print(page)
		if err == nil && f.everyPage && page.NextCursor != "" {
			f.warnf("These are not all agents: %d of %d. Add --page-token %s for the next ones", len(found), page.Total, quoted(page.NextCursor))
		}
		return err
	}
}

// print writes the agents that were found.
func (f *findSearch) print(page *registryapi.Page) error {
	switch f.output {
	case outputJSON, outputYAML:
		return f.printPage(page)
	case outputName:
		for i := range page.Agents {
			if err := f.printText([]byte(safetext.Line(page.Agents[i].Namespace+"/"+page.Agents[i].Name) + "\n")); err != nil {
				return err
			}
		}
	default:
		if len(page.Agents) == 0 {
			f.warnf("No agents.")
			return nil
		}
		rows := [][]string{f.heading()}
		for i := range page.Agents {
			rows = append(rows, f.row(&page.Agents[i]))
		}
		if err := f.printTable(rows); err != nil {
			return err
		}
	}
	for _, c := range page.Corrections {
		f.warnf("No agent has the word %s. These are the results for %s.", quoted(c.Word), safetext.Line(strings.Join(c.As, ", ")))
	}
	if page.NextCursor != "" && !f.everyPage {
		f.warnf("%d of %d agents. Add --page-token %s for the next page, or --all for all pages", len(page.Agents), page.Total, quoted(page.NextCursor))
	}
	return nil
}

// printPage writes the agents as JSON or YAML, in the form of a response of the registry.
func (f *findSearch) printPage(page *registryapi.Page) error {
	items := make([]json.RawMessage, 0, len(page.Agents))
	for i := range page.Agents {
		items = append(items, page.Agents[i].JSON)
	}
	document := map[string]any{"items": items, "nextCursor": page.NextCursor, "total": page.Total, "revision": page.Revision}
	if len(page.Corrections) > 0 {
		document["corrections"] = page.Corrections
	}
	return f.printDocument(document)
}

// maxDescription bounds a description in the table, in bytes.
const maxDescription = 60

func (f *findSearch) heading() []string {
	if f.output == outputWide {
		return []string{"NAMESPACE", "NAME", "READY", "REASON", "VERSION", "SKILLS", "URL", "EXTERNAL", "DESCRIPTION"}
	}
	return []string{"NAMESPACE", "NAME", "READY", "REASON", "DESCRIPTION"}
}

func (f *findSearch) row(agent *registryapi.Agent) []string {
	ready := "False"
	switch {
	case agent.Ready && agent.Reason == "":
		ready = "True"
	case agent.Ready:
		ready = "Serves"
	}
	row := []string{agent.Namespace, agent.Name, ready, cmp.Or(agent.Reason, "-")}
	if f.output == outputWide {
		ids := make([]string, 0, len(agent.Skills))
		for i := range agent.Skills {
			ids = append(ids, agent.Skills[i].ID)
		}
		skills := cmp.Or(safetext.Clip(strings.Join(ids, ","), maxDescription), "-")
		return append(row, cmp.Or(agent.Version, "-"), skills, cmp.Or(agent.URL, "-"), cmp.Or(agent.ExternalURL, "-"), cmp.Or(agent.Description, "-"))
	}
	return append(row, cmp.Or(safetext.Clip(agent.Description, maxDescription), "-"))
}

// follow writes the agents that match, and then their changes.
func (f *findSearch) follow(ctx context.Context, client *registryclient.Client, query registryapi.Query) error {
	if f.output == outputText || f.output == outputWide {
		if err := f.printText([]byte("CHANGE   " + strings.Join(f.heading(), "   ") + "\n")); err != nil {
			return err
		}
	}
	return client.Follow(ctx, query, f.printChange, func(cause error) {
		f.warnf("The watch broke and is resumed: %v", cause)
	})
}

// printChange writes a change on one line.
func (f *findSearch) printChange(change registryclient.Change) error {
	agent := &change.Agent
	switch f.output {
	case outputJSON:
		line := map[string]any{"type": change.Type, "agent": agent.JSON}
		if change.Type == registryclient.Removed {
			line["agent"] = map[string]string{"namespace": agent.Namespace, "name": agent.Name}
		}
		text, err := json.Marshal(line)
		if err != nil {
			return failure.Wrap(failure.Internal, err, "encode the result")
		}
		return f.printText(append(safetext.JSON(text), '\n'))
	case outputName:
		return f.printText([]byte(string(change.Type) + " " + safetext.Line(agent.Namespace+"/"+agent.Name) + "\n"))
	}
	row := []string{string(change.Type), agent.Namespace, agent.Name}
	if change.Type != registryclient.Removed {
		row = append(row[:1], f.row(agent)...)
	}
	return f.printText([]byte(safetext.Line(strings.Join(row, "   ")) + "\n"))
}
