// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// sidecarResources is the field with the resources of the sidecar.
const sidecarResources = "spec.workload.sidecar.resources"

var (
	// missingAccount, missingRuntimeClass and missingPriorityClass match the API server's messages about a
	// pod that names an object which does not exist.
	missingAccount       = regexp.MustCompile(`serviceaccount "([^"]+)" not found`)
	missingRuntimeClass  = regexp.MustCompile(`RuntimeClass "([^"]+)" not found`)
	missingPriorityClass = regexp.MustCompile(`no PriorityClass with name (\S+) was found`)
	// unlimited matches the part of a quota's message with a resource that containers must specify.
	unlimited = regexp.MustCompile(`(requests|limits)\.([a-z./-]+) for: ([a-z0-9,-]+)`)
	// outOfRange matches the part of a LimitRange's message with a bound that a container violates.
	outOfRange = regexp.MustCompile(`(minimum|maximum) ([a-z./-]+) usage per Container is (\S+?), but (?:no )?(request|limit)(?: is (\S+?)|)[,.\]\s]`)
	// outOfRatio matches the part of a LimitRange's message with a ratio that a container violates.
	outOfRatio = regexp.MustCompile(`([a-z./-]+) max limit to request ratio per Container`)
)

// rejectionAction returns the action for a pod of a Deployment that the API server rejects.
func rejectionAction(in Inputs, d *appsv1.Deployment, message string) string {
	agent := in.Observed.Agent
	for _, missing := range []struct {
		pattern     *regexp.Regexp
		kind, field string
	}{
		{missingAccount, "ServiceAccount", "serviceAccountName"},
		{missingRuntimeClass, "RuntimeClass", "runtimeClassName"},
		{missingPriorityClass, "PriorityClass", "priorityClassName"},
	} {
		if found := missing.pattern.FindStringSubmatch(message); found != nil {
			return fmt.Sprintf("; create %s %q, or correct %s.%s", missing.kind, strings.TrimSuffix(found[1], "."), template, missing.field)
		}
	}
	var actions []string
	add := func(action string) {
		if !slices.Contains(actions, action) {
			actions = append(actions, action)
		}
	}
	for _, part := range unlimited.FindAllStringSubmatch(message, -1) {
		for container := range strings.SplitSeq(part[3], ",") {
			add("set " + resourceField(agent, container, part[1], part[2]))
		}
	}
	// The pattern needs a character after the last figure.
	for _, part := range outOfRange.FindAllStringSubmatch(message+"\n", -1) {
		kind := part[4] + "s"
		verb := "lower "
		if part[1] == "minimum" {
			verb = "raise "
		}
		if part[5] == "" {
			verb = "set "
		}
		for _, container := range containersWith(d, kind, corev1.ResourceName(part[2]), part[5]) {
			add(verb + resourceField(agent, container, kind, part[2]))
		}
	}
	for _, part := range outOfRatio.FindAllStringSubmatch(message, -1) {
		add(fmt.Sprintf("set limits.%s and requests.%s of %s and of the containers in %s closer to each other", part[1], part[1], sidecarResources, template))
	}
	if strings.Contains(message, "runAsUser") || strings.Contains(message, "runAsGroup") {
		add("remove runAsUser and runAsGroup from " + template + ", and ask the administrator of the operator to remove sidecar.runAsUser of the chart, so that the cluster chooses the user")
	}
	if cure := heldByFormer(in, message); cure != "" {
		add(cure)
	}
	if len(actions) == 0 {
		return "; correct spec.workload.template, or ask the administrator of the namespace about its quotas and policies"
	}
	return "; " + strings.Join(actions, ", ")
}

// resourceField returns the field of an Agent with a request or limit of a container.
func resourceField(agent *a2av1alpha1.Agent, container, kind, resource string) string {
	if container == a2av1alpha1.ContainerSidecar {
		return sidecarResources + "." + kind + "." + resource
	}
	pod := &agent.Spec.Workload.Template.Spec
	named := func(c corev1.Container) bool { return c.Name == container }
	if i := slices.IndexFunc(pod.Containers, named); i >= 0 {
		return fmt.Sprintf("%s.containers[%d].resources.%s.%s", template, i, kind, resource)
	}
	if i := slices.IndexFunc(pod.InitContainers, named); i >= 0 {
		return fmt.Sprintf("%s.initContainers[%d].resources.%s.%s", template, i, kind, resource)
	}
	return fmt.Sprintf("resources.%s.%s of container %q in the %s", kind, resource, container, injector)
}

// containersWith returns the containers of a Deployment with a request or limit, as a quantity, or "" for
// those without it. If there is none, because a default or a policy sets the value, it returns the sidecar.
func containersWith(d *appsv1.Deployment, kind string, name corev1.ResourceName, quantity string) []string {
	var found []string
	for _, c := range slices.Concat(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers) {
		list := c.Resources.Requests
		if kind == "limits" {
			list = c.Resources.Limits
		}
		has := ""
		if value, set := list[name]; set {
			has = value.String()
		}
		if has == quantity {
			found = append(found, c.Name)
		}
	}
	if len(found) == 0 {
		return []string{a2av1alpha1.ContainerSidecar}
	}
	return found
}
