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
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
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

// TestInSyncRefusesAdditionsToAtomicFields adds entries, as another client may, to fields that
// server-side apply replaces as a whole: a Service with another label in its selector has no
// endpoints.
func TestInSyncRefusesAdditionsToAtomicFields(t *testing.T) {
	labels := map[string]string{"agent": "echo"}
	more := map[string]string{"agent": "echo", "more": "x"}
	selector := func() *metav1ac.LabelSelectorApplyConfiguration {
		return metav1ac.LabelSelector().WithMatchLabels(labels)
	}
	tcp := networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(8641))
	for name, test := range map[string]struct {
		desired runtime.ApplyConfiguration
		current client.Object
		edit    func(client.Object)
	}{
		"selector of a Service": {
			corev1ac.Service("echo", "team").WithSpec(corev1ac.ServiceSpec().WithSelector(labels)),
			&corev1.Service{Spec: corev1.ServiceSpec{Selector: labels}},
			func(o client.Object) { o.(*corev1.Service).Spec.Selector = more },
		},
		"labels of a pod selector": {
			networkingv1ac.NetworkPolicy("echo", "team").WithSpec(networkingv1ac.NetworkPolicySpec().WithPodSelector(selector())),
			&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: labels}}},
			func(o client.Object) { o.(*networkingv1.NetworkPolicy).Spec.PodSelector.MatchLabels = more },
		},
		"expressions of a selector": {
			policyv1ac.PodDisruptionBudget("echo", "team").WithSpec(policyv1ac.PodDisruptionBudgetSpec().WithSelector(selector())),
			&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
			func(o client.Object) {
				o.(*policyv1.PodDisruptionBudget).Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "more", Operator: metav1.LabelSelectorOpExists}}
			},
		},
		"ports of a policy": {
			networkingv1ac.NetworkPolicy("echo", "team").WithSpec(networkingv1ac.NetworkPolicySpec().
				WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithPorts(tcp))),
			&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(8641))}},
			}}}},
			func(o client.Object) {
				ingress := &o.(*networkingv1.NetworkPolicy).Spec.Ingress[0]
				ingress.Ports = append(ingress.Ports, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(8080))})
			},
		},
		"parents of a route": {
			gatewayv1ac.HTTPRoute("echo", "team").WithSpec(gatewayv1ac.HTTPRouteSpec().WithParentRefs(gatewayv1ac.ParentReference().WithName("inside"))),
			&gatewayv1.HTTPRoute{Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "inside"}}}}},
			func(o client.Object) {
				spec := &o.(*gatewayv1.HTTPRoute).Spec
				spec.ParentRefs = append(spec.ParentRefs, gatewayv1.ParentReference{Name: "outside"})
			},
		},
		"backends of a route": {
			gatewayv1ac.HTTPRoute("echo", "team").WithSpec(gatewayv1ac.HTTPRouteSpec().
				WithRules(gatewayv1ac.HTTPRouteRule().WithBackendRefs(gatewayv1ac.HTTPBackendRef().WithName("echo")))),
			&gatewayv1.HTTPRoute{Spec: gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{backend("echo")}}}}},
			func(o client.Object) {
				rule := &o.(*gatewayv1.HTTPRoute).Spec.Rules[0]
				rule.BackendRefs = append(rule.BackendRefs, backend("other"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.current.SetName("echo")
			test.current.SetNamespace("team")
			if !inSync(test.desired, test.current) {
				t.Fatal("inSync() is false for the desired object")
			}
			test.edit(test.current)
			if inSync(test.desired, test.current) {
				t.Error("inSync() is true after the addition")
			}
		})
	}
}

func backend(name gatewayv1.ObjectName) gatewayv1.HTTPBackendRef {
	return gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: name}}}
}
