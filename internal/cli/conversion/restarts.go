// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// maxRestartOn is the maximum number of items of spec.workload.restartOn.
const maxRestartOn = 16

// restarts converts the annotations by which Stakater Reloader restarts the pods of a Deployment.
func (s *Source) restarts(workload *a2av1alpha1.AgentWorkload, annotations map[string]string) {
	const group = "reloader.stakater.com/"
	for _, kind := range []a2av1alpha1.RestartKind{a2av1alpha1.RestartSecret, a2av1alpha1.RestartConfigMap} {
		annotation := strings.ToLower(string(kind)) + "." + group + "reload"
		objects := strings.Split(strings.ReplaceAll(annotations[annotation], " ", ""), ",")
		slices.Sort(objects)
		objects = slices.Compact(objects)
		isName := func(object string) bool { return len(validation.IsDNS1123Subdomain(object)) == 0 }
		if len(objects)+len(workload.RestartOn) > maxRestartOn || !slices.ContainsFunc(objects, isName) {
			s.LeftOut("spec.workload.restartOn has at most 16 names", "list the most important objects there", "metadata", "annotations", annotation)
			continue
		}
		for _, object := range objects {
			if isName(object) {
				workload.RestartOn = append(workload.RestartOn, a2av1alpha1.RestartReference{Kind: kind, Name: object})
			}
		}
		s.Changed("the operator restarts the pods of an Agent by spec.workload.restartOn", "for Secrets, give it the right to get them (rbac.readSecrets of the chart)", "metadata", "annotations", annotation)
	}
	for _, name := range []string{"auto", "search"} {
		s.LeftOut("an Agent names each object after whose change its pods restart", "list the objects in spec.workload.restartOn", "metadata", "annotations", group+name)
	}
}
