// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// suggestedDistance is the largest number of edits between a word and a suggestion for it.
const suggestedDistance = 2

// unknownCommand returns the failure for a word that names no command of parent.
func unknownCommand(parent *cobra.Command, word string) error {
	problem := failure.New(failure.Usage, "unknown command %q", word)
	if parent.HasParent() {
		problem.Message += " of " + display(parent)
	}
	if similar := nearest(parent, word); len(similar) > 0 {
		return problem.WithHint("did you mean %s %s? %[1]s --help lists the commands", display(parent), strings.Join(similar, " or "))
	}
	return problem.WithHint("%s --help lists the commands", display(parent))
}

// similarTo returns the names that resemble word, by the rules for commands.
func similarTo(word string, names []string) []string {
	parent := &cobra.Command{}
	for _, name := range names {
		parent.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return nearest(parent, word)
}

// nearest returns the names of the commands of parent that resemble word with the fewest edits.
func nearest(parent *cobra.Command, word string) []string {
	for parent.SuggestionsMinimumDistance = 1; parent.SuggestionsMinimumDistance <= suggestedDistance; parent.SuggestionsMinimumDistance++ {
		if similar := parent.SuggestionsFor(word); len(similar) > 0 {
			return similar
		}
	}
	return nil
}

// withSimilarAgents adds a hint to the failure for an Agent that does not exist: the Agents of the namespace with similar
// names.
func (a *app) withSimilarAgents(ctx context.Context, err error, namespace, name string) error {
	problem := failure.Of(err)
	if problem.Code != failure.CardNotFound {
		return err
	}
	list, listErr := a.cluster.Agents(ctx, namespace, "")
	if listErr != nil {
		return err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if similar := similarTo(name, names); len(similar) > 0 {
		return problem.WithHint("did you mean %s? %s list lists the Agents", strings.Join(similar, " or "), Program)
	}
	return err
}

// warnOfSkill writes a line to stderr if the card lists skills, and the one with this id is not among them. The message is
// sent, because an agent may have more skills than its card.
func (a *app) warnOfSkill(card *a2aclient.Card, id string) {
	ids := make([]string, 0, len(card.Skills))
	for i := range card.Skills {
		ids = append(ids, card.Skills[i].ID)
	}
	if id == "" || len(ids) == 0 || slices.Contains(ids, id) {
		return
	}
	if similar := similarTo(id, ids); len(similar) > 0 {
		a.warnf("The card lists no skill %s. Did you mean %s?", id, strings.Join(similar, " or "))
		return
	}
	a.warnf("The card lists no skill %s. %s card get lists the skills.", id, Program)
}
