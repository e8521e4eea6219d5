// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
)

// checkShared runs the checks of the parts of the cluster that all agents share.
func checkShared(s *SharedFacts) []Finding {
	var findings []Finding
	for _, check := range []func(*SharedFacts) []Finding{checkManager, checkCRDs, checkDNS, checkDNSDomain, checkClock} {
		findings = append(findings, check(s)...)
	}
	return append(findings, unreadFindings(s.Unread)...)
}

// checkManager finds a manager that does not run, and images of different versions.
func checkManager(s *SharedFacts) []Finding {
	const check = "manager"
	if isUnread(s.Unread, partManager) {
		return nil
	}
	d := s.Manager
	if d == nil {
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"there is no Deployment with the labels " + managerSelector},
			Cause: "The operator is not installed in this cluster, or its Deployment was deleted. Agents keep running, and nothing reconciles them.",
			Cure:  "Install the operator with its Helm chart.", Command: "helm list -A",
		}}
	}
	object := "-n " + d.Namespace + " " + d.Name
	switch {
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"the Deployment " + d.Namespace + "/" + d.Name + " has 0 replicas"},
			Cause: "Nothing reconciles the Agents, and the registry is down.", Cure: "Scale the Deployment.",
			Command: "kubectl scale deployment " + object + " --replicas 1",
		}}
	case d.Status.ReadyReplicas == 0:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"no pod of the Deployment " + d.Namespace + "/" + d.Name + " is ready"},
			Cause: "Nothing reconciles the Agents, and the registry is down.", Cure: "Read the log and the events of the manager's pods.",
			Command: "kubectl describe pods -n " + d.Namespace + " -l " + managerSelector,
		}}
	}
	manager := imageOf(&d.Spec.Template.Spec, "manager")
	sidecar := sidecarImageFlag(d)
	if a, b := versionOf(manager), versionOf(sidecar); a != "" && b != "" && a != b {
		return []Finding{{
			Level: LevelWarning, Check: check, Seen: []string{fmt.Sprintf("the manager is %s, and --sidecar-image is %s", manager, sidecar)},
			Cause:   "The manager and the sidecars are of different versions, so a sidecar may reject a configuration.",
			Cure:    "Set image.tag and sidecar.image.tag of the chart to the same version, or leave both empty.",
			Command: "kubectl get deployment " + object + " -o yaml",
		}}
	}
	return okay(check, fmt.Sprintf("%s, %d of %s ready", orNone(manager), d.Status.ReadyReplicas, podCount(int(d.Status.Replicas))))
}

// versionTag matches a tag that is a version, such as v0.1.0 or 0.1.0-rc.1. A tag may also be a digest of the
// image or the name of a branch, which says nothing about the version.
var versionTag = regexp.MustCompile(`:v?(\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.+-]*)?)(?:@|$)`)

// versionOf returns the version in the tag of an image, "" for none.
func versionOf(image string) string {
	match := versionTag.FindStringSubmatch(image)
	if match == nil {
		return ""
	}
	return match[1]
}

// checkDNS finds a cluster DNS without ready endpoints. It checks only the Service kube-dns.
func checkDNS(s *SharedFacts) []Finding {
	if s.DNSServices == 0 || s.DNSReady > 0 || isUnread(s.Unread, partDNS) {
		return nil
	}
	return []Finding{{
		Level: LevelProblem, Check: "cluster DNS", Seen: []string{"Service kube-dns in namespace kube-system has no ready endpoint"},
		Cause: "No pod can resolve the name of an agent.", Cure: "Let the pods of the cluster's DNS become ready.",
		Command: "kubectl describe pods -n kube-system -l k8s-app=kube-dns",
	}}
}
