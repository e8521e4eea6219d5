// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// schedule acts as the Deployment controller: it creates a pod of the current template and counts it.
func (p *plane) schedule(ctx context.Context, agent *a2av1alpha1.Agent) error {
	deployment, pods, err := p.workload(ctx, agent)
	if err != nil {
		return err
	}
	template := deployment.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = agent.Namespace, fmt.Sprintf("%s-%d", agent.Name, deployment.Generation)
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet", Name: pod.Name, UID: deployment.UID, Controller: new(true),
	}}
	if err := p.cluster.Create(ctx, pod); err != nil {
		return err
	}
	deployment.Status.ObservedGeneration = deployment.Generation
	deployment.Status.Replicas, deployment.Status.UpdatedReplicas = int32(len(pods))+1, 1
	return p.cluster.Status().Update(ctx, deployment)
}

// serve acts as the kubelet: it makes the newest pod ready.
func (p *plane) serve(ctx context.Context, agent *a2av1alpha1.Agent) error {
	deployment, pods, err := p.workload(ctx, agent)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%d", agent.Name, deployment.Generation)
	for i := range pods {
		if pods[i].Name != name {
			continue
		}
		pods[i].Status.Phase = corev1.PodRunning
		pods[i].Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: a2av1alpha1.PodConditionPrefix + "Registry", Status: corev1.ConditionTrue}, // the report of the sidecar
		}
		return p.cluster.Status().Update(ctx, &pods[i])
	}
	return fmt.Errorf("pod %s does not exist", name)
}

// retire acts as the Deployment controller: it deletes the earlier pods, and counts the newest as available.
func (p *plane) retire(ctx context.Context, agent *a2av1alpha1.Agent) error {
	deployment, pods, err := p.workload(ctx, agent)
	if err != nil {
		return err
	}
	for i := range pods {
		if pods[i].Name == fmt.Sprintf("%s-%d", agent.Name, deployment.Generation) {
			continue
		}
		if err := p.cluster.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 1, 1, 1
	return p.cluster.Status().Update(ctx, deployment)
}

func (p *plane) workload(ctx context.Context, agent *a2av1alpha1.Agent) (*appsv1.Deployment, []corev1.Pod, error) {
	deployment := &appsv1.Deployment{}
	if err := p.cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment); err != nil {
		return nil, nil, err
	}
	pods := &corev1.PodList{}
	err := p.cluster.List(ctx, pods, client.InNamespace(agent.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
	return deployment, pods.Items, err
}
