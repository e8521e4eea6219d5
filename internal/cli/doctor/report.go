// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out why an agent does not work. Gather reads the facts with the rights
// of the user; the checks are pure, and turn the facts into findings with cause and cure.
//
// A check that lacks a fact makes no finding: the failed read is a finding of its own, which names the missing RBAC
// rule. No finding contains the content of a Secret or a token.
package doctor

import (
	"time"
)

// AgentReport contains the findings about one agent.
type AgentReport struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Level is the worst level of the findings.
	Level    Level     `json:"level"`
	Findings []Finding `json:"findings"`
}

// Report contains the findings about the agents and about the parts of the cluster that all agents share.
type Report struct {
	Time   time.Time     `json:"time"`
	Level  Level         `json:"level"`
	Shared []Finding     `json:"shared"`
	Agents []AgentReport `json:"agents"`
}

// NewReport runs all checks on the facts, and returns their findings.
func NewReport(shared *SharedFacts, agents []*AgentFacts) *Report {
	r := &Report{Time: shared.Now.UTC().Truncate(time.Second), Shared: checkShared(shared), Agents: []AgentReport{}}
	r.Level = Worst(r.Shared)
	for _, f := range agents {
		findings := checkAgent(shared, f)
		a := AgentReport{Namespace: f.Agent.Namespace, Name: f.Agent.Name, Level: Worst(findings), Findings: findings}
		r.Agents = append(r.Agents, a)
		r.Level = worse(r.Level, a.Level)
	}
	return r
}

// checkAgent runs all checks of an agent. It merges findings about conditions and pods that have the same reason.
func checkAgent(shared *SharedFacts, f *AgentFacts) []Finding {
	findings := checkConditions(shared, f)
	if f.Agent.Spec.Remote == nil {
		for _, check := range []func(*SharedFacts, *AgentFacts) []Finding{
			checkDeployment, checkPods, checkSidecars, checkHooks, checkService, checkNetworkPolicies,
		} {
			findings = merge(findings, check(shared, f))
		}
	}
	for _, check := range []func(*SharedFacts, *AgentFacts) []Finding{checkCard, checkToken, checkCall, checkTokenBudgets, checkRegistry, checkRegistryOfPods} {
		findings = merge(findings, check(shared, f))
	}
	return append(findings, unreadFindings(f.Unread)...)
}
