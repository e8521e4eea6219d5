// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/objects/agentstate"
)

func (a *app) listCommand() *cobra.Command {
	var all bool
	var selector string
	cmd := &cobra.Command{
		Use:     "list [-A] [-l SELECTOR]",
		Aliases: []string{"ls"},
		Short:   "List the Agents of a namespace, with the reason of each that is not ready",
		Example: `  kubectl a2a list
  kubectl a2a list -A -o wide`,
		Args: exactArgs(),
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the Agents of all namespaces.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "List the Agents with matching labels only, such as team=search.")
	a.outputFlag(cmd, outputText, outputWide, outputJSON, outputYAML, outputName)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		namespace, err := a.listed(all)
		if err != nil {
			return err
		}
		list, err := a.cluster.Agents(cmd.Context(), namespace, selector)
		if err != nil {
			return err
		}
		return a.printAgents(list, namespace, time.Now())
	}
	return cmd
}

// printAgents writes the Agents of a namespace, or of all for "".
func (a *app) printAgents(list *a2av1alpha1.AgentList, namespace string, now time.Time) error {
	switch a.output {
	case outputJSON, outputYAML:
		return a.printDocument(list)
	case outputName:
		for i := range list.Items {
			if err := a.printText([]byte("agent.a2a-operator.dev/" + list.Items[i].Name + "\n")); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.Items) == 0 {
		where := "in namespace " + namespace
		if namespace == "" {
			where = "in any namespace"
		}
		a.warnf("No Agents %s.", where)
		return nil
	}
	rows := [][]string{{"NAME", "READY", "REASON", "SKILLS", "AGE"}}
	for i := range list.Items {
		rows = append(rows, agentRow(&list.Items[i], now))
	}
	if a.output == outputWide {
		rows[0] = append(rows[0], "URL", "EXTERNAL", "PODS")
		for i := range list.Items {
			status := &list.Items[i].Status
			rows[i+1] = append(rows[i+1], cmp.Or(status.URL, "-"), cmp.Or(status.ExternalURL, "-"), strconv.Itoa(int(status.Replicas)))
		}
	}
	if namespace == "" {
		rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		for i := range list.Items {
			rows[i+1] = append([]string{list.Items[i].Namespace}, rows[i+1]...)
		}
	}
	return a.printTable(rows)
}

func agentRow(agent *a2av1alpha1.Agent, now time.Time) []string {
	state := agentstate.Of(&agent.Status)
	skills := "-"
	if agent.Status.Skills != nil {
		skills = strconv.Itoa(int(*agent.Status.Skills))
	}
	return []string{agent.Name, string(state.Ready), state.Reason, skills, duration.HumanDuration(now.Sub(agent.CreationTimestamp.Time))}
}

// printTable writes rows in columns.
func (a *app) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = safetext.Line(row[i])
		}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return broken(err)
		}
	}
	return broken(w.Flush())
}
