// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestWhatTheOwnPodHoldsIsNamed has messages of the scheduler, the kubelet and the API server about a new pod without
// room.
func TestWhatTheOwnPodHoldsIsNamed(t *testing.T) {
	old := func(change func(*corev1.Pod)) func(*Inputs) {
		p := former(pod("echo-1", true, runningSince(now)))
		p.Spec.NodeName = "node-1"
		change(&p)
		return onlyPod(p)
	}
	serves := old(func(*corev1.Pod) {})
	for message, what := range map[string]string{
		"0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.": "nvidia.com/gpu",
		"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.":                                                                          "cpu and memory",
		`pods "echo-x" is forbidden: exceeded quota: team, requested: pods=1,requests.nvidia.com/gpu=1, used: pods=1, limited: pods=1`:                 "pods of the quota and requests.nvidia.com/gpu of the quota",
		`FailedAttachVolume: Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) echo-1`:                                            "the volume, which only one node can attach",
		"0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.":                     "the PersistentVolumeClaim with the access mode ReadWriteOncePod",
		"0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.":                                                                             "",
	} {
		in := healthy(serves, currentTemplate)
		got := heldByFormer(in, message)
		if what == "" && got != "" || what != "" && (!strings.Contains(got, `pod "echo-1" of the earlier spec holds `) || !strings.Contains(got, what+" until the new pod is ready")) {
			t.Errorf("%s: %q", message, got)
		}
		if what == "" {
			continue
		}
		for name, other := range map[string]func(*Inputs){
			"Recreate":                  func(in *Inputs) { in.Observed.Agent.Spec.Workload.Strategy.Type = a2av1alpha1.StrategyRecreate },
			"an old pod that ends":      old(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }),
			"an old pod without a node": old(func(p *corev1.Pod) { p.Spec.NodeName = "" }),
			"no old pod":                func(in *Inputs) { in.Observed.Pods = nil },
		} {
			if got := heldByFormer(healthy(serves, currentTemplate, other), message); got != "" {
				t.Errorf("%s, %s: %q", message, name, got)
			}
		}
	}
}
