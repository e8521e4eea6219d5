// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// renderManager renders the chart, and returns the manager's Deployment.
func renderManager(t *testing.T, values string) *appsv1.Deployment {
	t.Helper()
	return typed[*appsv1.Deployment](t, render(t, values)["Deployment a2a-operator-manager"])
}

// Without a version, a fieldRef of the chart and the default that the API server sets conflict for other appliers.
func TestFieldReferencesNameTheirVersion(t *testing.T) {
	found := 0
	for _, variable := range renderManager(t, "").Spec.Template.Spec.Containers[0].Env {
		if variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
			continue
		}
		found++
		if variable.ValueFrom.FieldRef.APIVersion != "v1" {
			t.Errorf("%s: the fieldRef has the version %q, want v1", variable.Name, variable.ValueFrom.FieldRef.APIVersion)
		}
	}
	if found == 0 {
		t.Error("no variable has a fieldRef")
	}
}

func TestExtensionsOfTheManager(t *testing.T) {
	plain := renderManager(t, "")
	for name, test := range map[string]struct {
		values string
		change func(*appsv1.Deployment)
	}{
		"arguments come last": {
			"extraArgs: [--max-concurrent-reconciles=8, '--log-level=debug']",
			func(d *appsv1.Deployment) {
				args := &d.Spec.Template.Spec.Containers[0].Args
				*args = append(*args, "--max-concurrent-reconciles=8", "--log-level=debug")
			},
		},
		"environment variables beside that of the chart": {
			"extraEnv: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]",
			func(d *appsv1.Deployment) {
				env := &d.Spec.Template.Spec.Containers[0].Env
				*env = append(*env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy:3128"},
					corev1.EnvVar{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}})
			},
		},
		"a label of the pods": {
			"podLabels: {team: a}", func(d *appsv1.Deployment) { d.Spec.Template.Labels["team"] = "a" },
		},
		"an annotation of the pods": {
			"podAnnotations: {a: b}", func(d *appsv1.Deployment) { d.Spec.Template.Annotations["a"] = "b" },
		},
		"an annotation of the Deployment": {
			"deploymentAnnotations: {reloader: 'true'}", func(d *appsv1.Deployment) { d.Annotations = map[string]string{"reloader": "true"} },
		},
		"a priority class": {
			"priorityClassName: high", func(d *appsv1.Deployment) { d.Spec.Template.Spec.PriorityClassName = "high" },
		},
		"a node selector": {
			"nodeSelector: {disk: ssd}", func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
		},
		"a toleration": {
			"tolerations: [{key: a, operator: Exists, effect: NoSchedule}]",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
			},
		},
		"an affinity": {
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
						{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}},
					}},
				}}
			},
		},
		"a topology spread constraint": {
			"topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
					{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
				}
			},
		},
		"variables in place of those of the chart": {
			"extraEnv: [{name: HOST_IPS, value: 10.0.0.1}]",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Env[1] = corev1.EnvVar{Name: "HOST_IPS", Value: "10.0.0.1"}
			},
		},
		"an update strategy": {
			"strategy: {type: Recreate}", func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
		},
		"a history": {
			"revisionHistoryLimit: 3", func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(3)) },
		},
		"a longer end": {
			"terminationGracePeriodSeconds: 60", func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(60)) },
		},
		"times of the probes": {
			"livenessProbe: {timeoutSeconds: 5, initialDelaySeconds: 0, periodSeconds: 7}\nreadinessProbe: {periodSeconds: 9, failureThreshold: 4}",
			func(d *appsv1.Deployment) {
				container := &d.Spec.Template.Spec.Containers[0]
				container.LivenessProbe.TimeoutSeconds = 5
				container.LivenessProbe.InitialDelaySeconds = 0
				container.LivenessProbe.PeriodSeconds = 7
				container.ReadinessProbe.PeriodSeconds = 9
				container.ReadinessProbe.FailureThreshold = 4
			},
		},
		"a runtime class": {
			"runtimeClassName: gvisor", func(d *appsv1.Deployment) { d.Spec.Template.Spec.RuntimeClassName = new("gvisor") },
		},
		"name servers": {
			"dnsPolicy: None\ndnsConfig: {nameservers: [10.0.0.53]}",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.DNSPolicy = corev1.DNSNone
				d.Spec.Template.Spec.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"10.0.0.53"}}
			},
		},
		"a volume": {
			"extraVolumes: [{name: ca, configMap: {name: company-ca}}]\nextraVolumeMounts: [{name: ca, mountPath: /etc/ssl/company, readOnly: true}]",
			func(d *appsv1.Deployment) {
				pod := &d.Spec.Template.Spec
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "ca", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "company-ca"}},
				}})
				pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "ca", MountPath: "/etc/ssl/company", ReadOnly: true})
			},
		},
		"a ServiceAccount that exists": {
			"serviceAccount: {create: false, name: operators}", func(d *appsv1.Deployment) { d.Spec.Template.Spec.ServiceAccountName = "operators" },
		},
		"labels of all objects": {
			"commonLabels: {cost-center: '42'}",
			func(d *appsv1.Deployment) {
				d.Labels["cost-center"] = "42"
				d.Spec.Template.Labels["cost-center"] = "42"
			},
		},
		"a pull secret": {
			"imagePullSecrets: [{name: pull}]",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
			},
		},
		"a field of the container's security context, which keeps the others": {
			"securityContext: {runAsUser: 1000}", func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(1000))
			},
		},
		"a field less in the pod's security context": {
			"podSecurityContext: {seccompProfile: null, fsGroup: 7}",
			func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.SecurityContext.SeccompProfile = nil
				d.Spec.Template.Spec.SecurityContext.FSGroup = new(int64(7))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := plain.DeepCopy()
			test.change(want)
			if diff := cmp.Diff(want, renderManager(t, test.values)); diff != "" {
				t.Errorf("Deployment with %s (-want +got):\n%s", test.values, diff)
			}
		})
	}
}

func TestLabelsOfTheChartWinOverPodLabels(t *testing.T) {
	got := renderManager(t, "podLabels: {app.kubernetes.io/component: other}").Spec.Template.Labels
	equal(t, "label of the pods", got["app.kubernetes.io/component"], "manager")
}

func TestExtraObjectsAreInstalled(t *testing.T) {
	got := render(t, `
extraObjects:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: 'notes-of-{{ .Release.Name }}'}
    data: {manager: '{{ include "a2a-operator.fullname" . }}-manager'}
  - apiVersion: v1
    kind: Secret
    metadata: {name: pull, namespace: team-a}
`)
	notes := typed[*corev1.ConfigMap](t, got["ConfigMap notes-of-a2a-operator"])
	equal(t, "data", notes.Data["manager"], "a2a-operator-manager")
	if got["Secret team-a/pull"] == nil {
		t.Error("the second object is not rendered")
	}
}

// TestCommonValuesReachAllObjects sets values that every object of the chart follows.
func TestCommonValuesReachAllObjects(t *testing.T) {
	defaults := render(t, "replicas: 3\nmetrics: {serviceMonitor: {enabled: true}}\nmonitoring: {rules: {enabled: true}, dashboards: {enabled: true}}")
	got := render(t, "replicas: 3\nmetrics: {serviceMonitor: {enabled: true}}\nmonitoring: {rules: {enabled: true}, dashboards: {enabled: true}}\n"+
		"namespaceOverride: agents\ncommonLabels: {cost-center: '42'}\nserviceAccount: {name: operators}\n"+
		"podDisruptionBudget: {maxUnavailable: 50%}\n"+
		"registry: {service: {type: LoadBalancer, loadBalancerClass: internal, annotations: {a: b}}}")
	equal(t, "objects", len(got), len(defaults))
	for key, object := range got {
		equal(t, key+": label", object.GetLabels()["cost-center"], "42")
		if object.GetNamespace() != "" {
			equal(t, key+": namespace", object.GetNamespace(), "agents")
		}
		subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
		for _, subject := range subjects {
			fields, _ := subject.(map[string]any)
			equal(t, key+": subject", fmt.Sprint(fields["namespace"], "/", fields["name"]), "agents/operators")
		}
	}
	service := typed[*corev1.Service](t, got["Service agents/a2a-operator-registry"])
	equal(t, "class of the load balancer", *service.Spec.LoadBalancerClass, "internal")
	budget := typed[*policyv1.PodDisruptionBudget](t, got["PodDisruptionBudget agents/a2a-operator-manager"])
	equal(t, "budget", budget.Spec.MaxUnavailable.String(), "50%")
	spread := typed[*appsv1.Deployment](t, got["Deployment agents/a2a-operator-manager"]).Spec.Template.Spec.TopologySpreadConstraints
	equal(t, "spread", len(spread), 2)
	equal(t, "topology", spread[0].TopologyKey, "kubernetes.io/hostname")
}

// TestPodDisruptionBudget checks when the chart creates a PodDisruptionBudget.
func TestPodDisruptionBudget(t *testing.T) {
	for values, want := range map[string]bool{
		"replicas: 1": false, "replicas: 2": true,
		"{replicas: 1, podDisruptionBudget: {enabled: true}}": true, "{replicas: 2, podDisruptionBudget: {enabled: false}}": false,
	} {
		equal(t, values, render(t, values)["PodDisruptionBudget a2a-operator-manager"] != nil, want)
	}
}

// A name override renames all objects except the CRDs. The Service of the registry keeps the
// label by which `kubectl a2a` finds it.
func TestNameOverridesRenameAllObjects(t *testing.T) {
	defaults := render(t, "")
	for values, prefix := range map[string]string{
		"fullnameOverride: agents": "agents",
		"nameOverride: agents":     "a2a-operator-agents",
	} {
		got := render(t, values)
		equal(t, "objects with "+values, len(got), len(defaults))
		for key, object := range got {
			if object.GetKind() != "CustomResourceDefinition" && !strings.HasPrefix(object.GetName(), prefix+"-") {
				t.Errorf("with %s: %s, want the prefix %s", values, key, prefix)
			}
		}
		deployment := typed[*appsv1.Deployment](t, got["Deployment "+prefix+"-manager"])
		selects(t, got, deployment)
		hasArgs(t, deployment, "--registry-url=http://"+prefix+"-registry.$(POD_NAMESPACE).svc")
		equal(t, "service account", deployment.Spec.Template.Spec.ServiceAccountName, prefix+"-manager")
		equal(t, "label", got["Service "+prefix+"-registry"].GetLabels()["app.kubernetes.io/name"], "a2a-operator")
	}
}

func TestMalformedExtensionsAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"extraArgs: [log-level=debug]":                              "extraArgs",
		"extraArgs: --log-level=debug":                              "extraArgs",
		"extraEnv: [{name: A, value: a}, {name: A, value: b}]":      "A twice",
		"commonLabels: {app.kubernetes.io/name: a}":                 "commonLabels",
		"serviceAccount: {create: false}":                           "serviceAccount.name is required",
		"namespaceOverride: Agents":                                 "namespaceOverride",
		"livenessProbe: {httpGet: {path: /}}":                       "httpGet",
		"dnsConfig: {servers: [10.0.0.1]}":                          "servers",
		"strategy: {type: Rolling}":                                 "strategy",
		"podDisruptionBudget: {maxUnavailable: most}":               "maxUnavailable",
		"extraEnv: [{value: a}]":                                    "name",
		"extraEnv: [{name: POD_NAMESPACE, value: a}]":               "extraEnv",
		"extraEnv: {A: b}":                                          "extraEnv",
		"extraObjects: [{kind: ConfigMap}]":                         "apiVersion",
		"extraObjects: ['kind: ConfigMap']":                         "extraObjects",
		"podLabels: {a: true}":                                      "podLabels",
		"podAnnotations: [a]":                                       "podAnnotations",
		"deploymentAnnotations: {a: 1}":                             "deploymentAnnotations",
		"fullnameOverride: Agents":                                  "fullnameOverride",
		"fullnameOverride: " + strings.Repeat("a", 41):              "fullnameOverride",
		"nameOverride: agents-":                                     "nameOverride",
		"egress: {proxy: {url: 'socks5://proxy.example'}}":          "egress",
		"egress: {proxy: {noProxy: ['a,b']}}":                       "egress",
		"egress: {proxy: {noProxy: [a.example]}}":                   "need egress.proxy.url",
		"securityContext: {runAsUser: root}":                        "runAsUser",
		"securityContext: {fsGroup: 1}":                             "fsGroup",
		"podSecurityContext: {runAsNonRoot: 'yes'}":                 "runAsNonRoot",
		"podSecurityContext: {seccompProfile: {type: Default}}":     "seccompProfile",
		"affinity: {hostAffinity: {}}":                              "hostAffinity",
		"priorityClassName: High":                                   "priorityClassName",
		"nodeSelector: {disk: 1}":                                   "nodeSelector",
		"tolerations: [{key: a, effect: Never}]":                    "effect",
		"tolerations: {key: a}":                                     "tolerations",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a}]": "whenUnsatisfiable",
		"imagePullSecrets: [pull]":                                  "imagePullSecrets",
	} {
		t.Run(values, func(t *testing.T) {
			if _, err := helm(t, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("helm template error = %v, want it to name %s", err, want)
			}
		})
	}
}

func TestDefaultsOfSecurityContextsMeetTheRestrictedStandard(t *testing.T) {
	deployment := renderManager(t, "extraEnv: [{name: A, value: b}]")
	restricted(t, deployment.Spec.Template.Spec)
	names := []string{}
	for _, variable := range manager(deployment).Env {
		names = append(names, variable.Name)
	}
	equal(t, "environment", slices.Equal(names, []string{"POD_NAMESPACE", "HOST_IPS", "A"}), true)
}
