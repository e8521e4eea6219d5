// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// keptRevision is a kept revision of an Agent.
type keptRevision struct {
	Number  int64       `json:"revision"`
	Created metav1.Time `json:"created"`
	// Version is the version on the card.
	Version string `json:"version"`
	// Images are the images of the containers of the template, and SidecarImage is that of the sidecar.
	Images       []string `json:"images"`
	SidecarImage string   `json:"sidecarImage"`
	// Running is true if the revision runs in place of the spec, and LastGood if the agent was ready with it last.
	Running  bool `json:"running"`
	LastGood bool `json:"lastGood"`

	spec a2av1alpha1.AgentSpec
}

// readRevision returns a kept revision.
func readRevision(agent *a2av1alpha1.Agent, stored *appsv1.ControllerRevision) (*keptRevision, error) {
	var content struct {
		SidecarImage string                `json:"sidecarImage"`
		Spec         a2av1alpha1.AgentSpec `json:"spec"`
	}
	if err := json.Unmarshal(stored.Data.Raw, &content); err != nil || content.Spec.Workload == nil {
		return nil, failure.New(failure.Internal, "ControllerRevision %s/%s is not one of the operator", stored.Namespace, stored.Name).
			WithHint("delete it: kubectl delete controllerrevision -n %s %s", stored.Namespace, stored.Name)
	}
	revision := &keptRevision{
		Number: stored.Revision, Created: stored.CreationTimestamp, Version: content.Spec.Version, SidecarImage: content.SidecarImage, spec: content.Spec,
	}
	if status := agent.Status.Revisions; status != nil {
		revision.Running = status.Running == stored.Revision
		revision.LastGood = status.LastGood == stored.Revision
	}
	for _, containers := range [][]corev1.Container{content.Spec.Workload.Template.Spec.Containers, content.Spec.Workload.Template.Spec.InitContainers} {
		for i := range containers {
			revision.Images = append(revision.Images, containers[i].Image)
		}
	}
	return revision, nil
}

// state returns what is special about a revision.
func (r *keptRevision) state() string {
	var states []string
	if r.Running {
		states = append(states, "runs in place of the spec")
	}
	if r.LastGood {
		states = append(states, "last good")
	}
	return cmp.Or(strings.Join(states, ", "), "-")
}

func (a *app) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history AGENT",
		Short: "List the revisions of an Agent to which you can go back",
		Long: `List the revisions of an Agent to which you can go back, the newest first.

The operator keeps the last ten revisions with which the agent was ready: its pod template, backend, task store, card and sidecar.`,
		Example: `  kubectl a2a history echo`,
		Args:    exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	a.outputFlag(cmd, outputText, outputJSON, outputYAML)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.object(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		stored, err := a.cluster.Revisions(cmd.Context(), agent)
		if err != nil {
			return err
		}
		revisions := make([]*keptRevision, len(stored))
		for i := range stored {
			if revisions[i], err = readRevision(agent, &stored[i]); err != nil {
				return err
			}
		}
		return a.printHistory(agent, revisions, time.Now())
	}
	return cmd
}

func (a *app) printHistory(agent *a2av1alpha1.Agent, revisions []*keptRevision, now time.Time) error {
	if a.output != outputText {
		return a.printDocument(revisions)
	}
	if len(revisions) == 0 {
		a.warnf("No revision of Agent %s is kept: it has not been ready yet.", a.arguments(agent))
		return nil
	}
	rows := [][]string{{"REVISION", "AGE", "VERSION", "IMAGES", "STATE"}}
	for _, r := range revisions {
		rows = append(rows, []string{
			strconv.FormatInt(r.Number, 10), duration.HumanDuration(now.Sub(r.Created.Time)), r.Version, cmp.Or(strings.Join(r.Images, ","), "-"), r.state(),
		})
	}
	return a.printTable(rows)
}
