// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreignDeployment returns a Deployment of a user with the name of an Agent.
func foreignDeployment(namespace string) client.Object {
	labels := map[string]string{"app": "mine"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "echo"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mine", Image: "mine"}}},
			},
		},
	}
}

// richTemplate fills a template with fields that the API server defaults, reorders or
// normalizes.
func richTemplate(t *corev1.PodTemplateSpec) {
	t.Labels = map[string]string{"team": "search"}
	t.Annotations = map[string]string{"example.com/note": ""}
	pod := &t.Spec
	pod.SecurityContext = &corev1.PodSecurityContext{}
	pod.NodeSelector = map[string]string{"disk": "ssd"}
	pod.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	pod.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", "b"}}}
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{},
	}}
	pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight:     1,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}},
		}},
	}}
	pod.InitContainers = []corev1.Container{{Name: "fetch", Image: "example/fetch"}}
	pod.Volumes = []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("0.5Gi"))}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x", Items: []corev1.KeyToPath{{Key: "a", Path: "b"}}}}},
		{Name: "claim", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")}},
			},
		}}}},
	}
	main := &pod.Containers[0]
	main.Ports = []corev1.ContainerPort{{ContainerPort: 8080}, {ContainerPort: 8080, Protocol: corev1.ProtocolUDP}}
	main.Env = []corev1.EnvVar{
		{Name: "EMPTY"},
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
	}
	main.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}}
	main.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1000Ki")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")},
	}
	main.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web")}}}
	main.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"}, {Name: "claim", MountPath: "/data", SubPath: "x"}}
	main.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{}}
}
