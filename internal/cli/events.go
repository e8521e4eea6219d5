// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

func (a *app) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "events AGENT",
		Short:   "List the events of an Agent and of its objects and pods, the oldest first",
		Example: `  kubectl a2a events echo`,
		Args:    exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.object(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		list, err := a.cluster.Events(cmd.Context(), agent.Namespace)
		if err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return !concerns(&e, agent.Name) })
		slices.SortStableFunc(list.Items, func(x, y corev1.Event) int { return lastSeen(&x).Compare(lastSeen(&y)) })
		if a.output == outputJSON {
			return a.printJSON(list)
		}
		return a.printEvents(list, agent.Name, time.Now())
	}
	return cmd
}

// concerns reports whether an event is about an Agent, an object that the operator made for it, or one of its pods.
func concerns(e *corev1.Event, agent string) bool {
	switch o := &e.InvolvedObject; o.Kind {
	case a2av1alpha1.AgentKind, "Deployment", "Service", "ServiceAccount", "NetworkPolicy", "HorizontalPodAutoscaler", "PodDisruptionBudget", "HTTPRoute", "GRPCRoute":
		return o.Name == agent
	case "ConfigMap":
		return o.Name == names.ConfigMap(agent)
	case "ReplicaSet":
		return isReplicaSet(o.Name, agent)
	case "Pod":
		owner := o.Name[:max(0, strings.LastIndexByte(o.Name, '-'))]
		return isReplicaSet(owner, agent)
	default:
		return false
	}
}

// isReplicaSet reports whether a ReplicaSet belongs to the Deployment of an Agent: its name is the name of the
// Deployment and a hash.
func isReplicaSet(name, agent string) bool {
	hash, ok := strings.CutPrefix(name, names.Deployment(agent)+"-")
	return ok && hash != "" && !strings.Contains(hash, "-")
}

func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
}

func (a *app) printEvents(list *corev1.EventList, agent string, now time.Time) error {
	if len(list.Items) == 0 {
		a.warnf("No events of Agent %s. The API server keeps events for an hour by default.", agent)
		return nil
	}
	rows := [][]string{{"AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"}}
	for i := range list.Items {
		e := &list.Items[i]
		rows = append(rows, []string{
			duration.HumanDuration(now.Sub(lastSeen(e))), cmp.Or(e.Type, "-"), e.Reason,
			strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name, strings.TrimSpace(e.Message),
		})
	}
	return a.printTable(rows)
}
