// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// varied returns a Deployment with fields of every Go kind.
func varied() *appsv1ac.DeploymentApplyConfiguration {
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
		WithOwnerReferences(owner.reference()).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(0).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"a": "b"})).
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().WithMaxSurge(intstr.FromInt32(1)).WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(map[string]string{"a": "b"}).WithSpec(pod)))
}

// TestInSyncComparesEveryField changes and removes each field of a Deployment in turn.
func TestInSyncComparesEveryField(t *testing.T) {
	text, err := json.Marshal(varied())
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
	if !inSync(varied(), decode(text)) {
		t.Fatal("inSync() is false for the desired object")
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "kind")
	delete(tree, "apiVersion")
	changed := 0
	check := func(path string) {
		changed++
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if inSync(varied(), decode(text)) {
			t.Errorf("inSync() is true after %s", path)
		}
	}
	var walk func(path string, parent map[string]any)
	walk = func(path string, parent map[string]any) {
		for name, value := range parent {
			here := path + "." + name
			for i, other := range others(value) {
				parent[name] = other
				check(fmt.Sprintf("%s became %v (%d)", here, other, i))
			}
			if !isZero(value) {
				delete(parent, name)
				check(here + " was removed")
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
		t.Errorf("the test made %d changes, want at least 100", changed)
	}
}

// others returns values for a field that differ from the given value.
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

// isZero reports whether a value is the zero value of a field, so that an object without
// the field is equal.
func isZero(value any) bool { return value == false || value == 0.0 }

func TestInSync(t *testing.T) {
	desired := func() *appsv1ac.DeploymentApplyConfiguration {
		return appsv1ac.Deployment("d", "ns").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(1).WithTemplate(
			corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("a").WithImage("image").
					WithArgs("x", "y").
					WithLivenessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithHTTPHeaders(
						corev1ac.HTTPHeader().WithName("Accept").WithValue("a"), corev1ac.HTTPHeader().WithName("Accept").WithValue("b")))).
					WithEnv(corev1ac.EnvVar().WithName("ONE").WithValue("1")).
					WithPorts(corev1ac.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP))).
				WithVolumes(corev1ac.Volume().WithName("v").WithEmptyDir(corev1ac.EmptyDirVolumeSource())))))
	}
	current := func() *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", Labels: map[string]string{"other": "field"}},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(1)),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyAlways,
					Containers: []corev1.Container{
						{Name: "injected", Image: "other"},
						{
							Name: "a", Image: "image", Args: []string{"x", "y"}, ImagePullPolicy: corev1.PullAlways,
							LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
								HTTPHeaders: []corev1.HTTPHeader{{Name: "Accept", Value: "a"}, {Name: "Accept", Value: "b"}},
							}}},
							Env:   []corev1.EnvVar{{Name: "ZERO", Value: "0"}, {Name: "ONE", Value: "1"}},
							Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP, Name: "web"}},
						},
					},
					Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				}},
			},
		}
	}
	changes := map[string]func(*appsv1.Deployment){
		"replicas":       func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) },
		"image":          func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "evil" },
		"container":      func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Name = "b" },
		"argument":       func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Args[0] = "z" },
		"more arguments": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Args = []string{"x", "y", "z"} },
		"variable":       func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Env[1].Value = "2" },
		"header": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].LivenessProbe.HTTPGet.HTTPHeaders[1].Value = "c"
		},
		"port":                func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Ports[0].ContainerPort = 81 },
		"kind of volume":      func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes[0].EmptyDir = nil },
		"all containers gone": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil },
	}
	if !inSync(desired(), current()) {
		t.Error("inSync() is false because of fields that others set")
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		d := current()
		changes[name](d)
		if inSync(desired(), d) {
			t.Errorf("inSync() is true after a change of the %s", name)
		}
	}
}
