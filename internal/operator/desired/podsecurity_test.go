// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// kubernetesVersions are versions of the Pod Security levels, from the oldest Kubernetes that the chart supports
// to the newest that the library has.
var kubernetesVersions = []api.Version{
	api.MajorMinorVersion(1, 33), api.MajorMinorVersion(1, 34), api.MajorMinorVersion(1, 35),
	api.MajorMinorVersion(1, 36), api.LatestVersion(),
}

// unrestricted are the cases of testdata that violate the restricted level, or mount the token, on purpose.
var unrestricted = []string{"relaxed-security", "everything"}

// restrictedTemplates are templates that conform to the restricted level.
var restrictedTemplates = map[string]string{
	"two containers":       `containers: [{name: agent, image: a}, {name: b, image: b}]`,
	"an init container":    `{initContainers: [{name: init, image: i}], containers: [{name: agent, image: a}]}`,
	"a sidecar of its own": `{initContainers: [{name: own, image: i, restartPolicy: Always}], containers: [{name: agent, image: a}]}`,
	"a user":               `containers: [{name: agent, image: a, securityContext: {runAsUser: 1000, runAsGroup: 1000}}]`,
	"a user of the pod":    `{securityContext: {runAsUser: 1000, fsGroup: 1000, supplementalGroups: [5]}, containers: [{name: agent, image: a}]}`,
	"half of the level":    `{securityContext: {runAsNonRoot: true}, containers: [{name: agent, image: a, securityContext: {allowPrivilegeEscalation: false}}]}`,
	"a seccomp profile":    `{securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}, containers: [{name: agent, image: a}]}`,
	"low ports":            `containers: [{name: agent, image: a, securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}]`,
	"a root file system":   `containers: [{name: agent, image: a, securityContext: {readOnlyRootFilesystem: true}}]`,
	"volumes": `{containers: [{name: agent, image: a, volumeMounts: [{name: a, mountPath: /a}]}], volumes: [{name: a, emptyDir: {}},
		{name: b, configMap: {name: b}}, {name: c, secret: {secretName: c}}, {name: d, persistentVolumeClaim: {claimName: d}}]}`,
	"a ServiceAccount": `{serviceAccountName: own, containers: [{name: agent, image: a}]}`,
	"hooks and probes": `containers: [{name: agent, image: a, livenessProbe: {httpGet: {port: 8080}}, lifecycle: {preStop: {exec: {command: [a]}}}}]`,
}

// T-PSA: the restricted Pod Security level admits every pod that the operator creates, and the agent's container
// in the pod has no token.
func TestPodsAreRestricted(t *testing.T) {
	cases := map[string]state.Agent{}
	inputs, _ := filepath.Glob("testdata/*/input.yaml")
	for _, input := range inputs {
		if name := filepath.Base(filepath.Dir(input)); !slices.Contains(unrestricted, name) {
			cases[name] = readCase(t, input)
		}
	}
	for name, template := range restrictedTemplates {
		cases[name] = withTemplate(t, template)
	}
	variants := 0
	for name, in := range cases {
		result := desire(t, in)
		if result.Objects == nil {
			continue // a rejected Agent has no pod
		}
		variants++
		pod := podOf(t, result)
		for _, version := range kubernetesVersions {
			if refused := podSecurityRejection(t, version, pod); refused != "" {
				t.Errorf("%s: refused at restricted:%s: %s", name, &version, refused)
			}
		}
		if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s: the token is mounted into every container", name)
		}
		for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if container.Name == a2av1alpha1.ContainerSidecar {
				continue
			}
			if i := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
				isReadable := m.Name == a2av1alpha1.VolumeHook || m.Name == a2av1alpha1.VolumeSkills || strings.HasPrefix(m.Name, a2av1alpha1.VolumeSkillImage)
				return sidecarVolume(m.Name) && (!isReadable || !m.ReadOnly)
			}); i >= 0 {
				t.Errorf("%s: container %s mounts %s", name, container.Name, container.VolumeMounts[i].Name)
			}
		}
		for _, remark := range result.Remarks {
			if remark.Reason == a2av1alpha1.ReasonPodSecurityRelaxed || remark.Reason == a2av1alpha1.ReasonTokenMounted {
				t.Errorf("%s: remark %+v", name, remark)
			}
		}
	}
	if variants < 20 {
		t.Errorf("%d variants of pods, want at least 20", variants)
	}
	t.Logf("T-PSA: %d variants of pods admitted at restricted, at %d versions of the level", variants, len(kubernetesVersions))
}

// The author of a template may relax the security of the pod. The operator then reports it, and the sidecar
// stays restricted.
func TestWeakenedRestrictionsAreReported(t *testing.T) {
	const mine = `containers: [{name: agent, image: a, securityContext: `
	tests := map[string]struct{ template, reason, want string }{
		"privileged":           {mine + `{privileged: true}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "securityContext.privileged=true"},
		"privilege escalation": {mine + `{allowPrivilegeEscalation: true}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "allowPrivilegeEscalation"},
		"a capability":         {mine + `{capabilities: {add: [NET_ADMIN]}}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "NET_ADMIN"},
		"all capabilities":     {mine + `{capabilities: {drop: []}}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "capabilities.drop"},
		"root":                 {mine + `{runAsUser: 0}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "runAsUser=0"},
		"may be root":          {mine + `{runAsNonRoot: false}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "runAsNonRoot"},
		"seccomp":              {mine + `{seccompProfile: {type: Unconfined}}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "seccompProfile"},
		"/proc":                {mine + `{procMount: Unmasked}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "procMount"},
		"an init container":    {`{initContainers: [{name: i, image: i, securityContext: {privileged: true}}], containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, `"i"`},
		"AppArmor":             {mine + `{appArmorProfile: {type: Unconfined}}}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "Unconfined"},
		"AppArmor of the pod":  {`{securityContext: {appArmorProfile: {type: Unconfined}}, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "Unconfined"},
		"seccomp of the pod":   {`{securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "seccompProfile"},
		"SELinux of the pod":   {`{securityContext: {seLinuxOptions: {type: spc_t, user: u, role: r, level: "s0:c1"}}, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "spc_t"},
		"may be root, the pod": {`{securityContext: {runAsNonRoot: false}, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "runAsNonRoot"},
		"root in the pod":      {`{securityContext: {runAsUser: 0}, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "runAsUser=0"},
		"the host's memory":    {`{hostIPC: true, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "hostIPC=true"},
		"the host's files":     {`{containers: [{name: agent, image: a}], volumes: [{name: host, hostPath: {path: /}}]}`, a2av1alpha1.ReasonPodSecurityRelaxed, "hostPath"},
		"the host's port":      {`containers: [{name: agent, image: a, ports: [{containerPort: 80, hostPort: 80}]}]`, a2av1alpha1.ReasonPodSecurityRelaxed, "hostPort"},
		"the token":            {`{automountServiceAccountToken: true, containers: [{name: agent, image: a}]}`, a2av1alpha1.ReasonTokenMounted, templateField + ".automountServiceAccountToken"},
		"a token":              {`{containers: [{name: agent, image: a}], volumes: [{name: a, emptyDir: {}}, {name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}`, a2av1alpha1.ReasonTokenMounted, templateField + ".volumes[1].projected.sources[0].serviceAccountToken"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := desire(t, withTemplate(t, test.template))
			found := false
			for _, remark := range result.Remarks {
				found = found || remark.Condition == a2av1alpha1.ConditionProgrammed && remark.Reason == test.reason &&
					strings.Contains(remark.Message, templateField) && strings.Contains(remark.Message, test.want)
			}
			if !found {
				t.Errorf("no remark %s that names %q in %+v", test.reason, test.want, result.Remarks)
			}
			if refused := podSecurityRejection(t, api.LatestVersion(), sidecarAlone(podOf(t, result))); refused != "" {
				t.Errorf("the sidecar gives up the level: %s", refused)
			}
		})
	}
	t.Logf("T-PSA: %d ways to give the level up, each named", len(tests))
}

// sidecarAlone returns the pod without the user's containers. The securityContext of the sidecar is merged with
// the one of the pod.
func sidecarAlone(pod *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	sidecar := *pod.Spec.InitContainers[0].DeepCopy()
	own := sidecar.SecurityContext
	if shared := pod.Spec.SecurityContext; shared != nil {
		own.RunAsUser = cmp.Or(own.RunAsUser, shared.RunAsUser)
		own.RunAsGroup = cmp.Or(own.RunAsGroup, shared.RunAsGroup)
		own.RunAsNonRoot = cmp.Or(own.RunAsNonRoot, shared.RunAsNonRoot)
		own.SELinuxOptions = cmp.Or(own.SELinuxOptions, shared.SELinuxOptions)
		own.SeccompProfile = cmp.Or(own.SeccompProfile, shared.SeccompProfile)
		own.AppArmorProfile = cmp.Or(own.AppArmorProfile, shared.AppArmorProfile)
	}
	return &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar}}}
}

// If the template sets a profile for the pod, the profile applies to the user's containers, and the operator
// sets the default profile of the runtime for the sidecar. Without a profile in the template, the operator sets
// none: nodes without AppArmor or SELinux would reject the pod, and OpenShift chooses the SELinux label.
func TestSidecarUsesTheProfileOfTheRuntime(t *testing.T) {
	runtimeDefault := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	tests := map[string]struct {
		pod      string
		selinux  *corev1.SELinuxOptions
		appArmor *corev1.AppArmorProfile
	}{
		"nothing":                            {``, nil, nil},
		"the default profile of the runtime": {`appArmorProfile: {type: RuntimeDefault}`, nil, nil},
		"no profile":                         {`appArmorProfile: {type: Unconfined}`, nil, runtimeDefault},
		"a profile":                          {`appArmorProfile: {type: Localhost, localhostProfile: p}`, nil, runtimeDefault},
		"a level":                            {`seLinuxOptions: {level: "s0:c1"}`, nil, nil},
		"a type":                             {`seLinuxOptions: {type: spc_t, level: "s0:c1"}`, &corev1.SELinuxOptions{Type: "container_t", Level: "s0:c1"}, nil},
		"a user":                             {`seLinuxOptions: {user: u}`, &corev1.SELinuxOptions{Type: "container_t"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, desire(t, withTemplate(t, `{securityContext: {`+test.pod+`}, containers: [{name: agent, image: a}]}`)))
			own := pod.Spec.InitContainers[0].SecurityContext
			if diff := gocmp.Diff(test.selinux, own.SELinuxOptions); diff != "" {
				t.Errorf("SELinux (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(test.appArmor, own.AppArmorProfile); diff != "" {
				t.Errorf("AppArmor (-want +got):\n%s", diff)
			}
		})
	}
}

// The operator rejects a template that would give the agent access to the files and the environment of the
// sidecar.
func TestSharedProcessNamespacesAreRejected(t *testing.T) {
	for name, pod := range map[string]string{
		"hostPID":               `{hostPID: true, containers: [{name: agent, image: a}]}`,
		"hostNetwork":           `{hostNetwork: true, containers: [{name: agent, image: a}]}`,
		"shareProcessNamespace": `{shareProcessNamespace: true, containers: [{name: agent, image: a}]}`,
	} {
		result := desire(t, withTemplate(t, pod))
		if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Condition != a2av1alpha1.ConditionAccepted ||
			result.Problems[0].Reason != a2av1alpha1.ReasonSidecarExposed || !strings.Contains(result.Problems[0].Message, templateField+"."+name) {
			t.Errorf("%s: problems %+v", name, result.Problems)
		}
	}
}

// withTemplate returns the minimal Agent with another pod template.
func withTemplate(t *testing.T, pod string) state.Agent {
	t.Helper()
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	spec := corev1.PodSpec{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(pod, "\t", " ")), &spec); err != nil {
		t.Fatal(err)
	}
	in.Agent.Spec.Workload.Template.Spec = spec
	return in
}

func desire(t *testing.T, in state.Agent) Result {
	t.Helper()
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// podOf returns the pod of the Deployment.
func podOf(t *testing.T, result Result) *corev1.PodTemplateSpec {
	t.Helper()
	encoded, err := json.Marshal(result.Objects.Deployment.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(encoded, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// podSecurityRejection returns the reason for which the restricted level rejects a pod, "" for none.
func podSecurityRejection(t *testing.T, version api.Version, pod *corev1.PodTemplateSpec) string {
	t.Helper()
	evaluator, err := podSecurity()
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: version}
	results := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
	return results.ForbiddenDetail()
}
