// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

func (a *app) rollbackCommand() *cobra.Command {
	var to int64
	var isCleared, force bool
	cmd := &cobra.Command{
		Use:   "rollback AGENT [--to REVISION | --clear]",
		Short: "Go back to an earlier revision of an Agent, or to its spec",
		Long: `Go back to an earlier revision of an Agent, or with --clear to its spec.

Without --to, the last good revision runs, or the one before it if the agent runs the last good one. The command sets
spec.workload.revision. While it is set, edits of the template, the backend and the card have no effect; access, limits and the number of
pods always come from the spec. A tool that applies the manifest from a repository does not change the field.`,
		Example: `  kubectl a2a rollback echo
  kubectl a2a rollback echo --to 3
  kubectl a2a rollback echo --clear`,
		Args: exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	cmd.Flags().Int64Var(&to, "to", 0, "Run this `REVISION`, of kubectl a2a history.")
	cmd.Flags().BoolVar(&isCleared, "clear", false, "Run the spec again.")
	cmd.Flags().BoolVar(&force, "force", false, "Go back although a Secret or ConfigMap of the revision is missing.")
	cmd.MarkFlagsMutuallyExclusive("to", "clear")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.object(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if agent.Spec.Remote != nil {
			return failure.New(failure.Usage, "Agent %s is a remote agent, which has no revisions", a.arguments(agent))
		}
		if isCleared {
			if err := a.cluster.SetRevision(cmd.Context(), agent, 0); err != nil {
				return err
			}
			return a.printText([]byte("Agent " + agent.Namespace + "/" + agent.Name + " runs its spec.\n"))
		}
		if cmd.Flags().Changed("to") && to < 1 {
			return failure.New(failure.Usage, "--to is %d, must be the number of a revision", to).WithHint("see kubectl a2a history %s", a.arguments(agent))
		}
		revision, err := a.revisionToRun(cmd.Context(), agent, to)
		if err != nil {
			return err
		}
		if err := a.checkReferences(cmd.Context(), agent, revision, force); err != nil {
			return err
		}
		if err := a.cluster.SetRevision(cmd.Context(), agent, revision.Number); err != nil {
			return err
		}
		images := strings.Join(append(slices.Clip(revision.Images), revision.SidecarImage), ", ")
		return a.printText([]byte(safetext.Line(fmt.Sprintf("Agent %s/%s goes back to revision %d (%s). kubectl a2a rollback %s --clear runs the spec again.",
			agent.Namespace, agent.Name, revision.Number, images, a.arguments(agent))) + "\n"))
	}
	return cmd
}

// revisionToRun returns the revision with a number or, for 0, the newest one that is older than what the agent runs.
func (a *app) revisionToRun(ctx context.Context, agent *a2av1alpha1.Agent, number int64) (*keptRevision, error) {
	stored, err := a.cluster.Revisions(ctx, agent)
	if err != nil {
		return nil, err
	}
	below, err := a.runningRevision(ctx, agent)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(stored, func(r appsv1.ControllerRevision) bool {
		if number > 0 {
			return r.Revision == number
		}
		return below == 0 || r.Revision < below
	})
	if i >= 0 {
		found := onlyRevision(agent.Status.Revisions, stored, stored[i].Revision)
		if found == nil {
			return nil, failure.New(failure.Usage, "Agent %s has several revisions %d", a.arguments(agent), stored[i].Revision).
				WithHint("delete the ControllerRevisions that the operator did not write: kubectl get controllerrevisions -n %s -l %s=%s", agent.Namespace, a2av1alpha1.LabelAgent, agent.Name)
		}
		return readRevision(agent, found)
	}
	hint := "see kubectl a2a history " + a.arguments(agent)
	if number > 0 {
		return nil, failure.New(failure.Usage, "Agent %s has no revision %d", a.arguments(agent), number).WithHint("%s", hint)
	}
	return nil, failure.New(failure.Usage, "Agent %s has no earlier revision", a.arguments(agent)).WithHint("%s", hint)
}

// onlyRevision returns the stored revision with a number. If somebody else has created another one, it returns the one that the status
// names, or nil if it names none.
func onlyRevision(status *a2av1alpha1.AgentRevisions, stored []appsv1.ControllerRevision, number int64) *appsv1.ControllerRevision {
	digest := func(r *appsv1.ControllerRevision) string { return r.Annotations[a2av1alpha1.AnnotationRevisionDigest] }
	var found *appsv1.ControllerRevision
	for i := range stored {
		each := &stored[i]
		switch {
		case each.Revision != number:
		case status != nil && status.LastGood == number && digest(each) == status.LastGoodDigest:
			return each
		case found == nil:
			found = each
		case digest(each) != digest(found) && (status == nil || status.LastGood != number):
			return nil
		default:
		}
	}
	return found
}

// runningRevision returns the number of the revision that the agent runs, 0 if it runs a spec that was not ready yet.
func (a *app) runningRevision(ctx context.Context, agent *a2av1alpha1.Agent) (int64, error) {
	status := agent.Status.Revisions
	switch {
	case status == nil:
		return 0, nil
	case agent.Spec.Workload != nil && agent.Spec.Workload.Revision > 0:
		return agent.Spec.Workload.Revision, nil
	case status.Running > 0:
		return status.Running, nil
	}
	text, err := a.cluster.Deployment(ctx, agent.Namespace, names.Deployment(agent.Name))
	if err != nil {
		return 0, err
	}
	var deployment appsv1.Deployment
	if err := json.Unmarshal(text, &deployment); err != nil {
		return 0, failure.Wrap(failure.Internal, err, "read Deployment %s", agent.Name)
	}
	if deployment.Spec.Template.Annotations[a2av1alpha1.AnnotationTemplateDigest] != status.LastGoodTemplate {
		return 0, nil
	}
	return status.LastGood, nil
}

// checkReferences returns an error if a Secret or ConfigMap that the pods of a revision need does not exist. With force, it
// only warns.
func (a *app) checkReferences(ctx context.Context, agent *a2av1alpha1.Agent, revision *keptRevision, force bool) error {
	secrets, configMaps := references(&revision.spec)
	secrets, configMaps, err := a.cluster.Missing(ctx, agent.Namespace, secrets, configMaps)
	if err != nil {
		return err
	}
	var gone []string
	for _, name := range secrets {
		gone = append(gone, "Secret "+name)
	}
	for _, name := range configMaps {
		gone = append(gone, "ConfigMap "+name)
	}
	if len(gone) == 0 {
		return nil
	}
	problem := failure.New(failure.Usage, "revision %d needs %s, which does not exist in namespace %s", revision.Number, strings.Join(gone, " and "), agent.Namespace)
	if force {
		a.warnf("Warning: %s.", problem.Message)
		return nil
	}
	return problem.WithHint("create it again, go back to another revision with --to, or use --force: the new pods then wait for it, and ready pods stay")
}

// references returns the Secrets and ConfigMaps that the pods of an Agent need, sorted.
func references(spec *a2av1alpha1.AgentSpec) (secrets, configMaps []string) {
	n := needs{secrets: map[string]bool{}, configMaps: map[string]bool{}}
	workload := spec.Workload
	pod := &workload.Template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			n.environment(&containers[i])
		}
	}
	for i := range pod.Volumes {
		n.volume(&pod.Volumes[i])
	}
	if spec.Model != nil {
		n.model(spec.Model)
	}
	if redis := workload.Tasks.Store.Redis; redis != nil && redis.PasswordSecretRef != nil {
		add(n.secrets, redis.PasswordSecretRef.Name, nil)
	}
	return slices.Sorted(maps.Keys(n.secrets)), slices.Sorted(maps.Keys(n.configMaps))
}

// needs are the names of the objects that pods need.
type needs struct{ secrets, configMaps map[string]bool }

// model adds what the sidecar reads for a model.
func (n *needs) model(m *a2av1alpha1.AgentModel) {
	if m.APIKeySecretRef != nil {
		add(n.secrets, m.APIKeySecretRef.Name, nil)
	}
	if m.InstructionsFrom != nil {
		add(n.configMaps, m.InstructionsFrom.Name, nil)
	}
	for i := range m.Fallbacks {
		if key := m.Fallbacks[i].APIKeySecretRef; key != nil {
			add(n.secrets, key.Name, nil)
		}
	}
	for i := range m.Tools {
		if mcp := m.Tools[i].MCP; mcp != nil {
			for _, h := range mcp.HeadersFrom {
				add(n.secrets, h.SecretRef.Name, nil)
			}
		}
	}
}

func add(to map[string]bool, name string, optional *bool) {
	if name != "" && (optional == nil || !*optional) {
		to[name] = true
	}
}

func (n *needs) environment(container *corev1.Container) {
	for _, from := range container.EnvFrom {
		if from.SecretRef != nil {
			add(n.secrets, from.SecretRef.Name, from.SecretRef.Optional)
		}
		if from.ConfigMapRef != nil {
			add(n.configMaps, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
	}
	for _, env := range container.Env {
		from := env.ValueFrom
		if from != nil && from.SecretKeyRef != nil {
			add(n.secrets, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		}
		if from != nil && from.ConfigMapKeyRef != nil {
			add(n.configMaps, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		}
	}
}

func (n *needs) volume(volume *corev1.Volume) {
	if volume.Secret != nil {
		add(n.secrets, volume.Secret.SecretName, volume.Secret.Optional)
	}
	if volume.ConfigMap != nil {
		add(n.configMaps, volume.ConfigMap.Name, volume.ConfigMap.Optional)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			add(n.secrets, source.Secret.Name, source.Secret.Optional)
		}
		if source.ConfigMap != nil {
			add(n.configMaps, source.ConfigMap.Name, source.ConfigMap.Optional)
		}
	}
}
