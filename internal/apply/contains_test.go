// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// manifold uses every kind of field that there is.
func manifold() *appsv1ac.DeploymentApplyConfiguration {
	probe := corev1ac.Probe().WithPeriodSeconds(3).
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/").WithPort(intstr.FromString("web")).WithScheme(corev1.URISchemeHTTP))
	container := corev1ac.Container().WithName("a").WithImage("image").WithArgs("x", "y").WithStdin(true).
		WithReadinessProbe(probe).
		WithResources(corev1ac.ResourceRequirements().WithLimits(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")})).
		WithEnv(
			corev1ac.EnvVar().WithName("ONE").WithValue("1"),
			corev1ac.EnvVar().WithName("KEY").WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(
				corev1ac.SecretKeySelector().WithName("secret").WithKey("key").WithOptional(false)))).
		WithPorts(corev1ac.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("v").WithMountPath("/v").WithReadOnly(true)).
		WithSecurityContext(corev1ac.SecurityContext().WithRunAsUser(1).WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	pod := corev1ac.PodSpec().WithContainers(container).WithTerminationGracePeriodSeconds(30).
		WithAutomountServiceAccountToken(false).
		WithVolumes(
			corev1ac.Volume().WithName("v").WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse("1Gi"))),
			corev1ac.Volume().WithName("w").WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
				corev1ac.VolumeProjection().WithServiceAccountToken(corev1ac.ServiceAccountTokenProjection().WithPath("t").WithExpirationSeconds(9))))).
		WithHostAliases(corev1ac.HostAlias().WithIP("1.2.3.4").WithHostnames("a", "b"))
	return appsv1ac.Deployment("d", "ns").
		WithLabels(map[string]string{"a": "b"}).WithAnnotations(map[string]string{"digest": "x"}).
		WithOwnerReferences(ownerReference(owner)).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(0).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"a": "b"})).
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().WithMaxSurge(intstr.FromInt32(1)).WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(map[string]string{"a": "b"}).WithSpec(pod)))
}

// TestConvergedSeesEveryField changes and removes each value of a Deployment in
// turn: none may differ unseen.
func TestConvergedSeesEveryField(t *testing.T) {
	text, err := json.Marshal(manifold())
	if err != nil {
		t.Fatal(err)
	}
	decode := func(text []byte) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := json.Unmarshal(text, d); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return d
	}
	if !converged(manifold(), decode(text)) {
		t.Fatal("converged() is false for what was desired")
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "kind")
	delete(tree, "apiVersion")
	changed := 0
	tampered := func(path string) {
		changed++
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if converged(manifold(), decode(text)) {
			t.Errorf("converged() is true after %s", path)
		}
	}
	var walk func(path string, parent map[string]any)
	walk = func(path string, parent map[string]any) {
		for name, value := range parent {
			here := path + "." + name
			for i, other := range others(value) {
				parent[name] = other
				tampered(fmt.Sprintf("%s became %v (%d)", here, other, i))
			}
			if !isZero(value) {
				delete(parent, name)
				tampered(here + " was removed")
			}
			parent[name] = value
			switch v := value.(type) {
			case map[string]any:
				walk(here, v)
			case []any:
				for i := range v {
					if element, ok := v[i].(map[string]any); ok {
						walk(fmt.Sprintf("%s[%d]", here, i), element)
					}
				}
			}
		}
	}
	walk("", tree)
	if changed < 100 {
		t.Errorf("%d changes were tried, want more of such an object", changed)
	}
}

// others are values that a field could have instead.
func others(value any) []any {
	switch v := value.(type) {
	case bool:
		return []any{!v}
	case float64:
		return []any{v + 1}
	case string:
		if _, err := resource.ParseQuantity(v); err == nil {
			return []any{"7"}
		}
		return []any{v + "x"}
	case []any:
		return []any{[]any{}, append([]any{}, v[1:]...)}
	}
	return nil
}

// isZero tells of values that an object without the field has as well.
func isZero(value any) bool { return value == false || value == 0.0 }
