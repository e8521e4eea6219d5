// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"

// CompleteWorkload gives an agent without code that has no workload what the API server makes of an empty one. Whoever reads an Agent calls it,
// so that every Agent of the operator that is not remote has a workload.
func CompleteWorkload(agent *a2av1alpha1.Agent) {
	if agent.Spec.Remote == nil && agent.Spec.Workload == nil {
		agent.Spec.Workload = defaultWorkload()
	}
}

func defaultWorkload() *a2av1alpha1.AgentWorkload {
	return &a2av1alpha1.AgentWorkload{
		Replicas:         new(int32(1)),
		Strategy:         a2av1alpha1.AgentStrategy{Type: a2av1alpha1.StrategyRollingUpdate},
		DisruptionBudget: a2av1alpha1.AgentDisruptionBudget{MaxUnavailable: 1},
		OnFailure:        a2av1alpha1.FailureKeep,
		ProgressDeadline: "5m",
		Backend: a2av1alpha1.AgentBackend{
			Protocol: a2av1alpha1.BackendProtocolEvents, Port: 8080, OnInterruption: a2av1alpha1.InterruptionFail,
			Timeouts: a2av1alpha1.BackendTimeouts{Connect: "5s", FirstEvent: "2m", Idle: "5m", Turn: "1h"},
		},
		Tasks: a2av1alpha1.AgentTasks{Retention: "1h", MaxTasks: 10000, Store: a2av1alpha1.AgentTaskStore{Type: a2av1alpha1.TaskStoreMemory}},
	}
}
