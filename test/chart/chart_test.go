// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// always lists the objects of every release.
var always = []string{
	"ClusterRole a2a-operator-editor",
	"ClusterRole a2a-operator-manager",
	"ClusterRole a2a-operator-registry-peer",
	"ClusterRole a2a-operator-registry-viewer",
	"ClusterRole a2a-operator-viewer",
	"ClusterRoleBinding a2a-operator-manager",
	"ConfigMap a2a-operator-exposure",
	"Deployment a2a-operator-manager",
	"FlowSchema a2a-operator-manager",
	"NetworkPolicy a2a-operator-manager",
	"Role a2a-operator-leader-election",
	"Role a2a-operator-token-keys",
	"RoleBinding a2a-operator-leader-election",
	"RoleBinding a2a-operator-token-keys",
	"Service a2a-operator-registry",
	"ServiceAccount a2a-operator-manager",
}

var crds = []string{
	"CustomResourceDefinition agents.a2a-operator.dev",
	"CustomResourceDefinition agentskills.a2a-operator.dev",
}

var metrics = []string{"ClusterRole a2a-operator-metrics-reader", "Service a2a-operator-metrics"}

func TestValuesChangeTheObjects(t *testing.T) {
	tests := map[string]struct {
		values string
		want   []string // in addition to always
		check  func(*testing.T, *appsv1.Deployment)
	}{
		"defaults": {
			want: slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				equal(t, "replicas", *d.Spec.Replicas, 1)
				equal(t, "image", manager(d).Image, "ghcr.io/a2a-operator/manager:v0.1.0")
				hasArgs(t, d, "--leader-elect", "--sidecar-image=ghcr.io/a2a-operator/sidecar:v0.1.0",
					"--registry-url=http://a2a-operator-registry.$(POD_NAMESPACE).svc")
			},
		},
		"high availability": {
			values: "replicas: 3",
			want:   slices.Concat(crds, metrics, []string{"PodDisruptionBudget a2a-operator-manager"}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				equal(t, "replicas", *d.Spec.Replicas, 3)
			},
		},
		"CRDs installed separately": {
			values: "crds: {enabled: false}",
			want:   metrics,
		},
		"no metrics": {
			values: "metrics: {enabled: false}",
			want:   crds,
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--metrics-bind-address=0")
			},
		},
		"traced": {
			values: "tracing: {endpoint: 'http://collector.observability:4318', samplingPercent: 25, draftAttributes: true}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--tracing-endpoint=http://collector.observability:4318", "--tracing-sampling-percent=25", "--tracing-draft-attributes")
				for _, want := range []corev1.EnvVar{
					{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector.observability:4318"},
					{Name: "OTEL_TRACES_SAMPLER", Value: "parentbased_traceidratio"},
					{Name: "OTEL_TRACES_SAMPLER_ARG", Value: "0.25"},
				} {
					if !slices.Contains(manager(d).Env, want) {
						t.Errorf("variables = %v, want %v among them", manager(d).Env, want)
					}
				}
			},
		},
		"scraped": {
			values: "metrics: {serviceMonitor: {enabled: true, labels: {team: a}, interval: 5s}}",
			want:   slices.Concat(crds, metrics, []string{"ServiceMonitor a2a-operator-metrics"}),
		},
		"agents scraped": {
			values: "metrics: {enabled: false, podMonitor: {enabled: true}}",
			want:   slices.Concat(crds, []string{"PodMonitor a2a-operator-agents"}),
		},
		"other images": {
			values: "image: {repository: r/m, tag: dev, pullPolicy: Never}\n" +
				"sidecar: {image: {repository: r/s, digest: '" + digest + "'}}\n" +
				"imagePullSecrets: [{name: pull}]",
			want: slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				equal(t, "image", manager(d).Image, "r/m:dev")
				equal(t, "pull policy", manager(d).ImagePullPolicy, corev1.PullNever)
				hasArgs(t, d, "--sidecar-image=r/s@"+digest)
				equal(t, "pull secret", d.Spec.Template.Spec.ImagePullSecrets[0].Name, "pull")
			},
		},
		"a mirror of all images": {
			values: "imageRegistry: mirror.example:5000/proxy/\nsidecar: {image: {digest: '" + digest + "'}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				equal(t, "image", manager(d).Image, "mirror.example:5000/proxy/a2a-operator/manager:v0.1.0")
				hasArgs(t, d, "--sidecar-image=mirror.example:5000/proxy/a2a-operator/sidecar@"+digest)
			},
		},
		"a mirror of repositories without a host": {
			values: "imageRegistry: mirror.example\nimage: {repository: r/m}\nsidecar: {image: {repository: 'localhost/s'}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				equal(t, "image", manager(d).Image, "mirror.example/r/m:v0.1.0")
				hasArgs(t, d, "--sidecar-image=mirror.example/s:v0.1.0")
			},
		},
		"another cluster domain and port": {
			values: "clusterDomain: corp.example\nregistry: {service: {port: 8080, type: NodePort, annotations: {a: b}}}\n" +
				"logLevel: debug",
			want: slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--cluster-domain=corp.example", "--log-level=debug",
					"--registry-url=http://a2a-operator-registry.$(POD_NAMESPACE).svc.corp.example:8080")
			},
		},
		"TLS at the registry": {
			values: "registry: {tls: {secret: registry-tls}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-url=https://a2a-operator-registry.$(POD_NAMESPACE).svc",
					"--registry-cert-dir=/etc/a2a-operator/registry-tls", "--registry-ca-file=/etc/a2a-operator/registry-tls/ca.crt")
				want := []corev1.Volume{{Name: "registry-tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "registry-tls"}}}}
				if diff := cmp.Diff(want, d.Spec.Template.Spec.Volumes[1:]); diff != "" {
					t.Errorf("volumes (-want +got):\n%s", diff)
				}
			},
		},
		"people of an issuer": {
			values: "registry: {oidc: {issuer: 'https://login.example', audience: a2a, usernameClaim: email, groupsPrefix: '', ca: {configMap: login-ca}}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-oidc-issuer=https://login.example", "--registry-oidc-audience=a2a",
					"--registry-oidc-username-claim=email", "--registry-oidc-username-prefix=oidc:",
					"--registry-oidc-groups-claim=groups", "--registry-oidc-groups-prefix=",
					"--registry-oidc-ca-file=/etc/a2a-operator/registry-oidc-ca/ca.crt")
				equal(t, "volume", d.Spec.Template.Spec.Volumes[1].ConfigMap.Name, "login-ca")
			},
		},
		"an authorizer besides RBAC": {
			values: "registry: {reviewAllNamespaces: true, publisher: agents.example.com}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-review-all-namespaces", "--registry-publisher=agents.example.com")
			},
		},
		"a catalog outside of the cluster": {
			values: "registry: {publisher: a.example, outside: {enabled: true, hostnames: [agents.a.example], parentRefs: [{name: public, namespace: gateways}]}}",
			want:   slices.Concat(crds, metrics, []string{"HTTPRoute a2a-operator-registry-outside"}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-outside-bind-address=:8445", "--registry-outside-url=https://agents.a.example", "--registry-publisher=a.example")
			},
		},
		"a page for people": {
			values: "registry: {oidc: {issuer: 'https://login.example', audience: registry}}\n" +
				"ui: {enabled: true, url: 'https://agents.example.com', audience: page, signOutPath: /oauth2/sign_out, tls: {secret: page-tls}}",
			want: slices.Concat(crds, metrics, []string{"Service a2a-operator-ui"}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--ui-bind-address=:8446", "--ui-url=https://agents.example.com", "--ui-audience=page", "--ui-sign-out-path=/oauth2/sign_out",
					"--ui-cert-dir=/etc/a2a-operator/ui-tls")
				if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "ui-tls" && v.Secret != nil }) {
					t.Error("the Deployment has no volume ui-tls")
				}
			},
		},
		"a page behind a Gateway": {
			values: "registry: {oidc: {issuer: 'https://login.example', audience: registry}}\n" +
				"ui: {enabled: true, url: 'https://agents.example.com:8443/', parentRefs: [{name: public, namespace: gateways}]}",
			want: slices.Concat(crds, metrics, []string{"Service a2a-operator-ui", "HTTPRoute a2a-operator-ui"}),
		},
		"registries of other clusters": {
			values: "registry: {publisher: a.example, peers: [" +
				"{name: west, url: 'https://west.example/ard', publisher: west.example, mode: Forward, tokenSecret: {name: west, key: token}}," +
				"{name: east, url: 'https://east.example/ard', publisher: east.example, mode: Referral}]}",
			want: slices.Concat(crds, metrics, []string{"ConfigMap a2a-operator-registry-peers"}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-peers-file=/etc/a2a-operator/registry-peers/peers.yaml", "--registry-publisher=a.example")
				want := []corev1.Volume{{Name: "registry-peers", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{
						{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "a2a-operator-registry-peers"}}},
						{Secret: &corev1.SecretProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "west"}, Optional: new(true),
							Items: []corev1.KeyToPath{{Key: "token", Path: "tokens/west"}},
						}},
					},
				}}}}
				if diff := cmp.Diff(want, d.Spec.Template.Spec.Volumes[1:]); diff != "" {
					t.Errorf("volumes (-want +got):\n%s", diff)
				}
			},
		},
		"an endpoint for embeddings": {
			values: "registry: {embeddings: {url: 'https://models.example/v1/embeddings', model: m-3, apiKeySecret: {name: models, key: token}}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--registry-embeddings-url=https://models.example/v1/embeddings", "--registry-embeddings-model=m-3",
					"--registry-embeddings-api-key-file=/etc/a2a-operator/registry-embeddings/apiKey")
				want := []corev1.Volume{{Name: "registry-embeddings", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
					SecretName: "models", Optional: new(true), Items: []corev1.KeyToPath{{Key: "token", Path: "apiKey"}},
				}}}}
				if diff := cmp.Diff(want, d.Spec.Template.Spec.Volumes[1:]); diff != "" {
					t.Errorf("volumes (-want +got):\n%s", diff)
				}
			},
		},
		"remote agents": {
			values: "remote: {allow: [10.0.0.0/8, 'fd00::/8']}\nrbac: {readSecrets: true}",
			want: slices.Concat(crds, metrics, []string{
				"ClusterRole a2a-operator-read-secrets", "ClusterRoleBinding a2a-operator-read-secrets",
			}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--remote-allow=10.0.0.0/8", "--remote-allow=fd00::/8")
			},
		},
		"trusted proxies": {
			values: "trustedProxies: [10.8.0.0/24, 'fd08::1']",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--trusted-proxies=10.8.0.0/24", "--trusted-proxies=fd08::1")
			},
		},
		"remote agents with a private authority": {
			values: "remote: {ca: {configMap: company-ca, key: bundle.pem}}",
			want:   slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--remote-ca-file=/etc/a2a-operator/remote-ca/ca.crt")
				want := []corev1.Volume{{Name: "remote-ca", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "company-ca"},
					Items:                []corev1.KeyToPath{{Key: "bundle.pem", Path: "ca.crt"}},
				}}}}
				if diff := cmp.Diff(want, d.Spec.Template.Spec.Volumes[1:]); diff != "" {
					t.Errorf("volumes (-want +got):\n%s", diff)
				}
				// The first mount is that of the rules of exposure.
				mounts := []corev1.VolumeMount{{Name: "remote-ca", MountPath: "/etc/a2a-operator/remote-ca", ReadOnly: true}}
				if diff := cmp.Diff(mounts, manager(d).VolumeMounts[1:]); diff != "" {
					t.Errorf("mounts (-want +got):\n%s", diff)
				}
			},
		},
		"some namespaces": {
			values: "watchNamespaces: [team-a, '123', a2a-system]\nrbac: {readSecrets: true}",
			want: slices.Concat(crds, metrics, []string{
				"ClusterRole a2a-operator-read-secrets",
				"Role 123/a2a-operator-manager", "RoleBinding 123/a2a-operator-manager", "RoleBinding 123/a2a-operator-read-secrets",
				"Role a2a-operator-manager", "RoleBinding a2a-operator-manager", "RoleBinding a2a-operator-read-secrets",
				"Role team-a/a2a-operator-manager", "RoleBinding team-a/a2a-operator-manager", "RoleBinding team-a/a2a-operator-read-secrets",
			}),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				hasArgs(t, d, "--watch-namespaces=team-a,123,a2a-system")
			},
		},
		"all values of the pod": {
			values: `
podAnnotations: {a: b}
podLabels: {c: d, app.kubernetes.io/component: stolen}
priorityClassName: system-cluster-critical
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists}]
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
resources: {limits: {cpu: 1, memory: 1Gi}}
serviceAccount: {annotations: {e: f}}
rbac: {aggregate: false}
`,
			want: slices.Concat(crds, metrics),
			check: func(t *testing.T, d *appsv1.Deployment) {
				t.Helper()
				pod := d.Spec.Template
				equal(t, "annotation", pod.Annotations["a"], "b")
				equal(t, "label", pod.Labels["c"], "d")
				equal(t, "component", pod.Labels["app.kubernetes.io/component"], "manager")
				equal(t, "priority class", pod.Spec.PriorityClassName, "system-cluster-critical")
				equal(t, "node selector", pod.Spec.NodeSelector["disk"], "ssd")
				equal(t, "tolerations", len(pod.Spec.Tolerations), 1)
				equal(t, "affinity", pod.Spec.Affinity.PodAntiAffinity != nil, true)
				equal(t, "spread", pod.Spec.TopologySpreadConstraints[0].TopologyKey, "zone")
				equal(t, "memory", manager(d).Resources.Limits[corev1.ResourceMemory], resource.MustParse("1Gi"))
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := render(t, test.values)
			want := slices.Sorted(slices.Values(slices.Concat(always, test.want)))
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			for _, object := range got {
				if !slices.Contains([]string{"monitoring.coreos.com", "gateway.networking.k8s.io"}, object.GroupVersionKind().Group) {
					typed[runtime.Object](t, object)
				}
			}
			deployment := typed[*appsv1.Deployment](t, got["Deployment a2a-operator-manager"])
			restricted(t, deployment.Spec.Template.Spec)
			selects(t, got, deployment)
			if test.check != nil {
				test.check(t, deployment)
			}
		})
	}
}

// TestRouteOfTheOutsideCatalog checks that the route leads only to the paths of the catalog, and not to the API of the
// registry.
func TestRouteOfTheOutsideCatalog(t *testing.T) {
	got := render(t, "registry: {publisher: a.example, outside: {enabled: true, url: 'http://a.example:8080', hostnames: [agents.a.example], parentRefs: [{name: public, sectionName: https}]}}")
	want := map[string]any{
		"parentRefs": []any{map[string]any{"name": "public", "sectionName": "https"}},
		"hostnames":  []any{"agents.a.example"},
		"rules": []any{map[string]any{
			"matches": []any{
				map[string]any{"path": map[string]any{"type": "Exact", "value": "/.well-known/ard.json"}},
				map[string]any{"path": map[string]any{"type": "Exact", "value": "/.well-known/ai-catalog.json"}},
				map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/ard"}},
			},
			"backendRefs": []any{map[string]any{"name": "a2a-operator-registry", "port": float64(8445)}},
		}},
	}
	if diff := cmp.Diff(want, got["HTTPRoute a2a-operator-registry-outside"].Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	service := typed[*corev1.Service](t, got["Service a2a-operator-registry"])
	if port := service.Spec.Ports[1]; len(service.Spec.Ports) != 2 || port.Port != 8445 || port.TargetPort.StrVal != "outside" {
		t.Errorf("ports = %+v", service.Spec.Ports)
	}
	hasArgs(t, typed[*appsv1.Deployment](t, got["Deployment a2a-operator-manager"]), "--registry-outside-url=http://a.example:8080")
}

func TestPeersFileNamesTokenFiles(t *testing.T) {
	got := typed[*corev1.ConfigMap](t, render(t, "registry: {publisher: a.example, maxHops: 2, peers: ["+
		"{name: west, url: 'https://west.example/ard', publisher: west.example, mode: Forward, timeout: 3s, tokenSecret: {name: west, key: token}},"+
		"{name: east, url: 'https://east.example/ard', publisher: east.example, mode: Referral}]}")["ConfigMap a2a-operator-registry-peers"])
	want := `maxHops: 2
peers:
- mode: Forward
  name: west
  publisher: west.example
  timeout: 3s
  tokenFile: /etc/a2a-operator/registry-peers/tokens/west
  url: https://west.example/ard
- mode: Referral
  name: east
  publisher: east.example
  url: https://east.example/ard
`
	if diff := cmp.Diff(want, got.Data["peers.yaml"]); diff != "" {
		t.Errorf("peers.yaml (-want +got):\n%s", diff)
	}
}

func TestInvalidValuesAreRefused(t *testing.T) {
	tests := map[string]struct{ values, want string }{
		"an unknown value":                    {"replica: 2", "replica"},
		"an unknown subvalue":                 {"image: {tags: v1}", "tags"},
		"text for a number":                   {"replicas: two", "replicas"},
		"an unknown level":                    {"logLevel: verbose", "logLevel"},
		"an unknown policy":                   {"image: {pullPolicy: Sometimes}", "pullPolicy"},
		"no interval":                         {"metrics: {podMonitor: {interval: often}}", "interval"},
		"no metrics service":                  {"metrics: {enabled: false, serviceMonitor: {enabled: true}}", "metrics.serviceMonitor.enabled requires metrics.enabled"},
		"not a boolean":                       {"metrics: {podMonitor: {enabled: perhaps}}", "enabled"},
		"a tag beside a digest":               {"sidecar: {image: {tag: v0, digest: '" + digest + "'}}", "which overrides the tag; clear one of them"},
		"half a digest":                       {"image: {digest: 'sha256:12'}", "digest"},
		"a tag in the name":                   {"image: {repository: 'a b'}", "repository"},
		"a page without an issuer":            {"ui: {enabled: true, url: 'https://a.example'}", "registry.oidc.issuer is required with ui.enabled"},
		"a page behind a Gateway with TLS":    {"registry: {oidc: {issuer: 'https://a', audience: a}}\nui: {enabled: true, url: 'https://a.example', tls: {secret: a}, parentRefs: [{name: a}]}", "ui.parentRefs requires an empty ui.tls.secret"},
		"a page at http":                      {"ui: {url: 'http://a.example'}", "url"},
		"a sign-out at another host":          {"ui: {signOutPath: //a.example/out}", "signOutPath"},
		"an issuer alone":                     {"registry: {oidc: {issuer: 'https://login.example'}}", "registry.oidc.audience"},
		"a catalog outside without publisher": {"registry: {outside: {enabled: true, hostnames: [a.example], parentRefs: [{name: a}]}}", "registry.publisher is required"},
		"a catalog outside without a Gateway": {"registry: {publisher: a.example, outside: {enabled: true, hostnames: [a.example]}}", "registry.outside.parentRefs is required"},
		"a catalog outside without a name":    {"registry: {publisher: a.example, outside: {enabled: true, parentRefs: [{name: a}]}}", "registry.outside.hostnames is required"},
		"the port of the catalog outside":     {"registry: {publisher: a.example, service: {port: 8445}, outside: {enabled: true, hostnames: [a.example], parentRefs: [{name: a}]}}", "set another registry.service.port"},
		"peers without publisher":             {"registry: {peers: [{name: a, url: 'https://a.example', publisher: a.example, mode: Forward}]}", "registry.publisher is required"},
		"a peer without a mode":               {"registry: {publisher: b.example, peers: [{name: a, url: 'https://a.example', publisher: a.example}]}", "mode"},
		"an issuer at http":                   {"registry: {oidc: {issuer: 'http://login.example', audience: a}}", "issuer"},
		"a collector without a scheme":        {"tracing: {endpoint: 'collector:4318'}", "endpoint"},
		"a collector with a password":         {"tracing: {endpoint: 'http://a:b@collector:4318'}", "endpoint"},
		"more than all traces":                {"tracing: {samplingPercent: 101}", "samplingPercent"},
		"a host as a range":                   {"remote: {allow: [agents.example]}", "allow"},
		"an invalid ConfigMap name":           {"remote: {ca: {configMap: Company_CA}}", "configMap"},
		"a number as a text":                  {"podLabels: {a: 1}", "podLabels"},
		"an invalid namespace":                {"watchNamespaces: [Team]", "watchNamespaces"},
		"exposure without a namespace":        {"exposure: {allowed: [{hostnames: [a.example]}]}", "allowed"},
		"exposure without a hostname":         {"exposure: {allowed: [{namespaces: [a]}]}", "hostnames"},
		"exposure with a pattern":             {"exposure: {allowed: [{namespaces: [a], hostnames: ['a.*']}]}", "hostnames"},
		"exposure with an unknown field":      {"exposure: {allowed: [{namespaces: [a], hostnames: [a.example], path: /a}]}", "path"},
		"an unknown peer":                     {"networkPolicy: {metricsFrom: [{namespace: monitoring}]}", "metricsFrom"},
		"hosts without a driver":              {"sidecar: {clientCertificate: {hosts: [a.example]}}", "need sidecar.clientCertificate.driver"},
		"attributes without a driver":         {"sidecar: {clientCertificate: {attributes: {a: b}}}", "need sidecar.clientCertificate.driver"},
		"an attribute with an equals sign":    {"sidecar: {clientCertificate: {driver: a.example, attributes: {a=b: c}}}", "attributes"},
		"a namespace twice":                   {"watchNamespaces: [a, a]", "watchNamespaces"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, test.values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("helm template error = %v, want it to name %s", err, test.want)
			}
		})
	}
}

func TestOldKubernetesIsRefused(t *testing.T) {
	if _, err := helm(t, "", "--kube-version", "1.32.9"); err == nil || !strings.Contains(err.Error(), "1.33") {
		t.Errorf("on 1.32: error = %v, want it to name 1.33", err)
	}
	for _, version := range []string{"1.33.0", "1.33.4-gke.100", "1.37.2"} {
		if _, err := helm(t, "", "--kube-version", version); err != nil {
			t.Errorf("on %s: %v", version, err)
		}
	}
}

func TestDeploymentPassesKnownFlags(t *testing.T) {
	deployment := typed[*appsv1.Deployment](t, render(t, "logLevel: warn")["Deployment a2a-operator-manager"])
	args := slices.Concat([]string{"run", "./cmd/manager", "--version"}, manager(deployment).Args)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %q: %v\n%s", args, err, out)
	}
}

func TestCRDsAreKept(t *testing.T) {
	for values, want := range map[string]string{"": "keep", "crds: {keep: false}": ""} {
		for _, crd := range crds {
			got := render(t, values)[crd].GetAnnotations()["helm.sh/resource-policy"]
			equal(t, crd+" with "+values, got, want)
		}
	}
}

// restricted checks a pod against the PodSecurity standard "restricted". Its volumes must be ConfigMaps or Secrets.
func restricted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	equal(t, "runAsNonRoot", *pod.SecurityContext.RunAsNonRoot, true)
	equal(t, "seccompProfile", pod.SecurityContext.SeccompProfile.Type, corev1.SeccompProfileTypeRuntimeDefault)
	equal(t, "host namespaces", pod.HostNetwork || pod.HostPID || pod.HostIPC, false)
	for _, volume := range pod.Volumes {
		equal(t, "volume "+volume.Name+" of a ConfigMap or Secret", volume.ConfigMap != nil || volume.Secret != nil || volume.Projected != nil, true)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		security := container.SecurityContext
		equal(t, "allowPrivilegeEscalation", *security.AllowPrivilegeEscalation, false)
		equal(t, "readOnlyRootFilesystem", *security.ReadOnlyRootFilesystem, true)
		if diff := cmp.Diff(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, security.Capabilities); diff != "" {
			t.Errorf("capabilities (-want +got):\n%s", diff)
		}
		equal(t, "hostPort", slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }), false)
	}
}

// selects checks that every Service selects the manager's pods and names one of their ports.
func selects(t *testing.T, got map[string]*unstructured.Unstructured, deployment *appsv1.Deployment) {
	t.Helper()
	pod := deployment.Spec.Template
	for key, object := range got {
		if object.GetKind() != "Service" {
			continue
		}
		service := typed[*corev1.Service](t, object)
		for label, value := range service.Spec.Selector {
			equal(t, key+" selects "+label, pod.Labels[label], value)
		}
		for _, port := range service.Spec.Ports {
			found := slices.ContainsFunc(manager(deployment).Ports, func(p corev1.ContainerPort) bool {
				return p.Name == port.TargetPort.StrVal
			})
			equal(t, key+" finds its port", found, true)
		}
	}
}

func manager(deployment *appsv1.Deployment) corev1.Container {
	return deployment.Spec.Template.Spec.Containers[0]
}

func hasArgs(t *testing.T, deployment *appsv1.Deployment, want ...string) {
	t.Helper()
	for _, arg := range want {
		if !slices.Contains(manager(deployment).Args, arg) {
			t.Errorf("no %s in %q", arg, manager(deployment).Args)
		}
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
