// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var (
	// insufficient matches a resource that no node has left, in a message of the scheduler.
	insufficient = regexp.MustCompile(`Insufficient ([a-zA-Z0-9./-]*[a-zA-Z0-9])`)
	// exceeded matches the resources of a pod for which a quota has no room.
	exceeded = regexp.MustCompile(`exceeded quota: [^,]+, requested: (\S+), used:`)
)

// exclusive are parts of messages about what only one pod can have, with a name for it.
var exclusive = []struct{ part, what string }{
	{"ReadWriteOncePod", "the PersistentVolumeClaim with the access mode ReadWriteOncePod"},
	{"Multi-Attach error", "the volume, which only one node can attach"},
	{"free ports", "the hostPort"},
	{"anti-affinity", "the node by its anti-affinity"},
}

// heldByFormer returns the cure if a pod of the current spec has no room beside a pod of an earlier spec, which is
// deleted only once the new pod is ready. It returns "" if there is no such pod, or if the message is about something
// else.
func heldByFormer(in Inputs, message string) string {
	var held []string
	add := func(what string) {
		if !slices.Contains(held, what) {
			held = append(held, what)
		}
	}
	for _, found := range insufficient.FindAllStringSubmatch(message, -1) {
		add(found[1])
	}
	for _, found := range exceeded.FindAllStringSubmatch(message, -1) {
		for quantity := range strings.SplitSeq(found[1], ",") {
			name, _, _ := strings.Cut(quantity, "=")
			add(name + " of the quota")
		}
	}
	for _, each := range exclusive {
		if strings.Contains(message, each.part) {
			add(each.what)
		}
	}
	former := formerOnNode(in)
	if former == "" || len(held) == 0 || in.Observed.Agent.Spec.Workload.Strategy.Type == a2av1alpha1.StrategyRecreate {
		return ""
	}
	return fmt.Sprintf("pod %q of the earlier spec holds %s until the new pod is ready: set spec.workload.strategy.type to Recreate, or make room for a second pod",
		former, strings.Join(held, " and "))
}

// formerOnNode returns the name of a pod of an earlier spec that has a node, "" for none.
func formerOnNode(in Inputs) string {
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName != "" && !in.isCurrent(pod) {
			return pod.Name
		}
	}
	return ""
}
