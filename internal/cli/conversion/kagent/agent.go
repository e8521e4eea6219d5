// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// agent converts an Agent of kagent.
func (c *conversions) agent(from *agent, source *conversion.Source) {
	k := &conversionOf{conversions: c, Source: source, from: from, to: conversion.NewAgent(from.Namespace, conversion.AgentName(from.Name))}
	k.to.Spec.Workload = &a2av1alpha1.AgentWorkload{}
	if because, do, path := k.workload(); because != "" {
		k.Check(because, do, path...)
		k.LeftOut("the import creates no Agent from this object", "see the note above", "spec")
		return
	}
	k.card()
	k.Metadata()
	if k.to.Name != from.Name {
		k.Check("the name of an Agent is a label of at most 52 characters, and the import changed it to "+k.to.Name, "let callers use this name", "metadata", "name")
	} else {
		k.Check("the Deployment, the Service and the ServiceAccount of kagent have the names that the operator uses", "delete the object of kagent before you apply this Agent: kubectl delete "+strings.ToLower(from.Kind)+"s.kagent.dev "+from.Name, "metadata", "name")
	}
	k.surroundings()
	k.Close()
	c.result.Agents = append(c.result.Agents, k.to)
}

// workload converts the part of the spec that spec.type selects. If it cannot, it returns the reason, the advice and the
// path of the field.
func (k *conversionOf) workload() (because, do string, path []any) {
	spec := &k.from.Spec
	switch {
	case spec.Type == typeBYO && spec.BYO != nil && spec.BYO.Deployment != nil && spec.BYO.Deployment.Image != "":
		k.LeftOut("spec.type is BYO", conversion.NothingToDo, "spec", "declarative")
		k.byo(spec.BYO.Deployment)
	case spec.Type == typeBYO:
		return "the container has no image", "set it", []any{"spec", "byo", "deployment", "image"}
	case (spec.Type == typeDeclarative || spec.Type == "") && spec.Declarative != nil:
		k.LeftOut("spec.type is Declarative", conversion.NothingToDo, "spec", "byo")
		return k.declarative(spec.Declarative)
	default:
		return "it must be BYO or Declarative, with the settings in the field of that name", "correct it", []any{"spec", "type"}
	}
	return "", "", nil
}

// card converts the texts of the card.
func (k *conversionOf) card() {
	from, to := &k.from.Spec, &k.to.Spec
	k.Drop("spec", "type")
	to.Description = k.Description(from.Description, k.from.Name+" of kagent.", "spec", "description")
	if conversion.IsWebURL(from.IconURL) {
		to.IconURL = from.IconURL
		k.Drop("spec", "iconUrl")
	}
	if conversion.IsWebURL(from.DocumentationURL) {
		to.DocumentationURL = from.DocumentationURL
		k.Drop("spec", "documentationUrl")
	}
	if p := from.Provider; p != nil && p.Organization != "" && conversion.IsWebURL(p.URL) {
		to.Provider = &a2av1alpha1.AgentProvider{Organization: conversion.Clip(p.Organization, 256), URL: p.URL}
		k.Converted(to.Provider, "spec", "provider")
	}
	to.Version = conversion.Clip(from.Version, 64)
	k.Converted(to.Version, "spec", "version")
	const form = "an Agent has absolute http and https URLs and texts within the limits of " +
		"https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/api-reference.md"
	for _, name := range []string{"iconUrl", "documentationUrl", "provider", "version"} {
		k.LeftOut(form, "correct it, and set it in the Agent", "spec", name)
	}
}

// surroundings reports the fields outside of spec.byo and spec.declarative that an Agent of the operator does not have.
func (k *conversionOf) surroundings() {
	from := &k.from.Spec
	k.LeftOut("the operator loads no files into the pod", "copy the skills into the image, or mount a volume with them", "spec", "skills")
	k.LeftOut("a NetworkPolicy filters by address, not by domain", "set spec.networkPolicy.egress, or let an egress gateway check domains", "spec", "sandbox")
	k.LeftOut("the operator runs agents in Deployments only", "set runtimeClassName in the template for a sandboxed container", "spec", "platform")
	k.LeftOut("the operator runs agents in Deployments only", "set runtimeClassName in the template for a sandboxed container", "spec", "substrate")
	if a := from.AllowedNamespaces; a == nil || (a.From == "" || a.From == "Same") && a.Selector == nil {
		k.Drop("spec", "allowedNamespaces") // the default of kagent and of the operator
	}
	k.LeftOut("an Agent admits the callers of its own namespace, and others by rules", "set spec.access.authorization", "spec", "allowedNamespaces")
}

// byo converts a container that speaks A2A.
func (k *conversionOf) byo(d *byoDeployment) {
	path := []any{"spec", "byo", "deployment"}
	field := func(names ...any) []any { return append(append([]any{}, path...), names...) }
	c := corev1.Container{
		Name: "agent", Image: d.Image, Args: d.Args, Env: d.Env, EnvFrom: d.EnvFrom, ImagePullPolicy: d.ImagePullPolicy,
		VolumeMounts: d.VolumeMounts, SecurityContext: d.SecurityContext,
	}
	if d.Cmd != nil && *d.Cmd != "" {
		c.Command = []string{*d.Cmd}
	}
	k.Drop(field("cmd")...)
	if d.WorkingDir != nil {
		c.WorkingDir = *d.WorkingDir
	}
	if d.Resources != nil {
		c.Resources = *d.Resources
	} else {
		k.Check("kagent requests 100m CPU and 384Mi memory, with limits of 2 CPUs and 1Gi, if the manifest has no resources", "set resources in the Agent", field("resources")...)
	}
	k.Check("kagent sets KAGENT_URL, KAGENT_NAME and KAGENT_NAMESPACE. An image with the SDK of kagent does not start without them, and keeps its tasks and sessions at KAGENT_URL (/api/tasks, /api/sessions), which the sidecar does not serve",
		"build the image with the A2A server of its framework and without the SDK of kagent, or keep the controller of kagent and set the three variables", field("image")...)
	k.Converted(c, path...)
	pod := &k.to.Spec.Workload.Template.Spec
	pod.Containers = append([]corev1.Container{c}, d.ExtraContainers...)
	for i := range d.ExtraContainers {
		k.Container(&pod.Containers[i+1], field("extraContainers", i)...)
	}
	k.Converted(pod.Containers[1:], field("extraContainers")...)
	k.Volumes(d.Volumes, field("volumes")...)
	pod.Volumes = d.Volumes
	k.Converted(d.Volumes, field("volumes")...)
	k.pod(&d.sharedDeployment, path)
	k.to.Spec.Workload.Backend = a2av1alpha1.AgentBackend{Protocol: a2av1alpha1.BackendProtocolA2A, Port: port}
}
