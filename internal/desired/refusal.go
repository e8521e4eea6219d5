// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"regexp"
	"strconv"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var (
	initContainerField = regexp.MustCompile(`\bspec\.template\.spec\.initContainers\[(\d+)\]`)
	envField           = regexp.MustCompile(`\bspec\.template\.spec\.containers\[0\]\.env\[(\d+)\]`)
	containerField     = regexp.MustCompile(`\bspec\.template\.spec\.containers\[0\]`)
	metadataField      = regexp.MustCompile(`\bspec\.template\.(?:metadata\.)?(labels|annotations)\b`)
	podField           = regexp.MustCompile(`\bspec\.template\.spec\.`)
	egressField        = regexp.MustCompile(`\bspec\.egress\[`)
)

// TemplateFields replaces the names of Deployment fields in a message of the API server
// with the names of the Agent fields from which they were rendered. It marks fields that
// the operator added.
func TemplateFields(agent *a2av1alpha1.Agent, platform Platform, message string) string {
	if agent.Spec.Workload == nil {
		return message
	}
	const own = "the operator's "
	behind := func(first int, list string) func(string) string {
		return func(field string) string {
			n, err := strconv.Atoi(field[strings.LastIndex(field, "[")+1 : len(field)-1])
			if err != nil || n < first {
				return own + strings.TrimPrefix(field, "spec.template.")
			}
			return "spec.workload.template.spec." + list + "[" + strconv.Itoa(n-first) + "]"
		}
	}
	if containers := agent.Spec.Workload.Template.Spec.Containers; len(containers) == 0 {
		// The sidecar is the only container.
		message = containerField.ReplaceAllString(message, own+"spec.containers[0]")
	} else {
		// The sidecar is the first init container. The operator's variables precede the
		// container's own variables.
		message = initContainerField.ReplaceAllStringFunc(message, behind(1, "initContainers"))
		message = envField.ReplaceAllStringFunc(message, behind(len(agentEnv(agent, platform, containers[0].Env)), "containers[0].env"))
	}
	message = metadataField.ReplaceAllString(message, "spec.workload.template.metadata.$1")
	return podField.ReplaceAllString(message, templateField+".")
}

// EgressFields replaces the names of NetworkPolicy fields in a message with the names of
// the Agent fields, like TemplateFields.
func EgressFields(message string) string {
	return egressField.ReplaceAllString(message, "spec.networkPolicy.egress[")
}
