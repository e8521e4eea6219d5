// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// backendProtocol returns the protocol of the agent.
func backendProtocol(agent *a2av1alpha1.Agent) sidecarconfig.Protocol {
	if agent.Spec.Model != nil {
		return sidecarconfig.ProtocolChatCompletions
	}
	return sidecarconfig.Protocol(cmp.Or(agent.Spec.Workload.Backend.Protocol, a2av1alpha1.BackendProtocolEvents))
}

// backendURL returns the URL to which the sidecar posts a turn.
func backendURL(agent *a2av1alpha1.Agent) string {
	if url := externalModelServer(agent); url != "" {
		return url
	}
	backend := agent.Spec.Workload.Backend
	return "http://127.0.0.1:" + strconv.Itoa(int(backend.Port)) + cmp.Or(backend.Path, a2aPath(backend.A2A), defaultPaths[backendProtocol(agent)])
}

// a2aPath returns the path of the container's A2A endpoint, or "" if the spec does not set
// it. The sidecar then reads the path from the card of the container.
func a2aPath(a2a *a2av1alpha1.AgentA2A) string {
	if a2a == nil {
		return ""
	}
	return a2a.Path
}

// defaultPaths are the default paths to which the sidecar posts turns. An agent that speaks
// A2A has no default path, because the sidecar reads the path from the agent's card.
var defaultPaths = map[sidecarconfig.Protocol]string{
	sidecarconfig.ProtocolEvents:          "/",
	sidecarconfig.ProtocolChatCompletions: "/v1/chat/completions",
}

// externalModelServer returns the URL of the model server that the sidecar calls instead
// of the agent's container, or "" for an Agent with a container.
func externalModelServer(agent *a2av1alpha1.Agent) string {
	if model := agent.Spec.Model; model != nil {
		return model.URL
	}
	return ""
}

// modelProblems returns a problem for each URL of a server of spec.model that leads to the pod of the sidecar, or that the sidecar would
// refuse. The CEL rules of the fields reject the usual spellings of loopback, but not all, such as "localhost." and "[::ffff:127.0.0.1]".
func modelProblems(agent *a2av1alpha1.Agent) []state.Problem {
	model := agent.Spec.Model
	if model == nil {
		return nil
	}
	var problems []state.Problem
	check := func(field, url, instead string) {
		if url == "" {
			return
		}
		server := sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: url}
		_, err := hosturl.Parse(url)
		switch {
		case !server.External():
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidModelServerURL,
				"%s is %q, which is a loopback address, that is, the pod of the sidecar; set the address of a server outside of the pod, or %s", field, url, instead))
		case err != nil:
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidModelServerURL, "%s is %q, it %v; correct it", field, url, err))
		}
	}
	check("spec.model.url", model.URL, "remove url and add the model server to spec.workload.template")
	for i := range model.Fallbacks {
		check(fmt.Sprintf("spec.model.fallbacks[%d].url", i), model.Fallbacks[i].URL, "remove it")
	}
	for i := range model.Tools {
		if mcp := model.Tools[i].MCP; mcp != nil {
			check(fmt.Sprintf("spec.model.tools[%d].mcp.url", i), mcp.URL, "set port for an MCP server in a container of the pod")
		}
	}
	return problems
}

// urlProblems returns a problem for each other URL of a server in the spec that the sidecar or the operator
// would refuse when it uses the URL.
func urlProblems(agent *a2av1alpha1.Agent, platform Platform) []state.Problem {
	var problems []state.Problem
	check := func(field, url string) {
		if _, err := hosturl.Parse(url); url != "" && err != nil {
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidURL, "%s is %q, it %v; correct it", field, url, err))
		}
	}
	checkKeys := func(field, url string) {
		check(field, url)
		if domain, other := otherDomain(url, platform); other {
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidURL,
				"%s is %q, but the DNS domain of the cluster is %s and not %s: plain http is only for Services of the cluster; correct the domain, or leave it out",
				field, url, platform.ClusterDomain, domain))
		}
	}
	spec := &agent.Spec
	for i := range spec.Access.Authentication {
		if jwt := spec.Access.Authentication[i].JWT; jwt != nil {
			checkKeys(fmt.Sprintf("spec.access.authentication[%d].jwt.issuer", i), jwt.Issuer)
			checkKeys(fmt.Sprintf("spec.access.authentication[%d].jwt.jwksURL", i), jwt.JWKSURL)
		}
	}
	if spec.CardSigning != nil {
		check("spec.cardSigning.jwksURL", spec.CardSigning.JWKSURL)
	}
	if spec.Exposure != nil {
		check("spec.exposure.url", spec.Exposure.URL)
	}
	if spec.Remote != nil {
		check("spec.remote.url", spec.Remote.URL)
	}
	return problems
}

// otherDomain returns the domain after .svc in the host of an http URL, and true if it is not the domain of the cluster.
func otherDomain(address string, platform Platform) (string, bool) {
	u, err := hosturl.Parse(address)
	if err != nil || u.Scheme != "http" {
		return "", false
	}
	host, _ := hosturl.Normal(u.Hostname())
	_, domain, found := strings.Cut(host, ".svc.")
	return domain, found && domain != platform.ClusterDomain
}
