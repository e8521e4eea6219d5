// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// configDir is the directory of the sidecar configuration. The whole directory is
	// mounted, because the kubelet does not refresh a single file.
	configDir = "/etc/a2a"
	// tokenDir is the directory of the sidecar's own token, and tokenName the name of its
	// file.
	tokenDir  = "/var/run/secrets/a2a-operator.dev"
	tokenName = "token"
	tokenFile = tokenDir + "/" + tokenName
	// tokenSeconds is the lifetime of a token. The kubelet renews the token before it
	// expires.
	tokenSeconds = 3600
)

// nativeSidecar turns a container into a native sidecar: an init container that keeps
// running.
func nativeSidecar(c corev1.Container) corev1.Container {
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

// sidecar returns the container of the sidecar: a native sidecar next to the agent's
// container, or the only container of a pod with an external model server.
//
// The URL and the protocol of the backend are also flags, which override the sidecar
// configuration. All pods of the Agent share the configuration, but during a rollout the
// pods of an earlier spec must use their own backend.
func sidecar(agent *a2av1alpha1.Agent, platform Platform) corev1.Container {
	container := corev1.Container{
		Name:  a2av1alpha1.ContainerSidecar,
		Image: platform.SidecarImage,
		Args: []string{
			"--config", configDir + "/" + sidecarconfig.FileName,
			"--backend-url", literal(backendURL(agent)),
			"--backend-protocol", string(backendProtocol(agent)),
		},
		Env: sidecarEnv(agent),
		Ports: []corev1.ContainerPort{
			{Name: a2av1alpha1.PortAgent, ContainerPort: sidecarconfig.AgentPort, Protocol: corev1.ProtocolTCP},
			{Name: a2av1alpha1.PortHealth, ContainerPort: sidecarconfig.HealthPort, Protocol: corev1.ProtocolTCP},
		},
		// The agent's container starts after the sidecar, so the startup probe must not
		// wait for the agent.
		StartupProbe:   probe(sidecarconfig.StartedPath, 1, 60),
		ReadinessProbe: readinessProbe(),
		LivenessProbe:  probe(sidecarconfig.LivezPath, 10, 3),
		Lifecycle: &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: drainCommand("/")}},
		},
		Resources: sidecarResources(agent, platform),
		VolumeMounts: []corev1.VolumeMount{
			{Name: a2av1alpha1.VolumeConfig, MountPath: configDir, ReadOnly: true},
			{Name: a2av1alpha1.VolumeToken, MountPath: tokenDir, ReadOnly: true},
		},
		SecurityContext: sidecarSecurity(agent.Spec.Workload.Template.Spec.SecurityContext, platform.SidecarUser),
	}
	container.Args = append(container.Args, storeArgs(agent)...)
	if execsHook(agent, platform) {
		container.Args = append(container.Args, "--hook-dir", hookDir)
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: a2av1alpha1.VolumeHook, MountPath: hookDir})
	}
	for _, each := range credentials(agent, platform) {
		container.Args = append(container.Args, each.args...)
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: each.volume.Name, MountPath: each.dir, ReadOnly: true})
	}
	return container
}

func probe(path string, periodSeconds, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: healthGet(path)},
		PeriodSeconds:    periodSeconds,
		TimeoutSeconds:   2,
		FailureThreshold: failures,
	}
}

const (
	// readyHold is how long the sidecar may delay its response to a readiness probe, as long
	// as the pod has never been ready. An agent that listens within this time causes no event
	// Unhealthy. readyTimeoutSeconds is the timeout of the kubelet for the probe. It may be
	// long, because the liveness probe detects a sidecar that hangs.
	readyHold           = "9s"
	readyTimeoutSeconds = 10
)

func readinessProbe() *corev1.Probe {
	p := probe(sidecarconfig.ReadyzPath+"?"+sidecarconfig.ReadyHoldParameter+"="+readyHold, 2, 2)
	p.TimeoutSeconds = readyTimeoutSeconds
	return p
}

// sidecarVolumes returns the volumes of the sidecar configuration, the token and the credentials.
// Only the sidecar mounts them.
func sidecarVolumes(agent *a2av1alpha1.Agent, platform Platform) []corev1.Volume {
	volumes := []corev1.Volume{
		{
			Name: a2av1alpha1.VolumeConfig,
			VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: names.ConfigMap(agent.Name)},
			}},
		},
		{
			Name: a2av1alpha1.VolumeToken,
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Audience:          a2av1alpha1.Audience,
					ExpirationSeconds: new(int64(tokenSeconds)),
					Path:              tokenName,
				}}},
			}},
		},
	}
	if execsHook(agent, platform) {
		volumes = append(volumes, corev1.Volume{Name: a2av1alpha1.VolumeHook, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	for _, each := range credentials(agent, platform) {
		volumes = append(volumes, each.volume)
	}
	return volumes
}

// healthGet returns a GET of a path on the sidecar's health port.
func healthGet(path string) *corev1.HTTPGetAction {
	return &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(sidecarconfig.HealthPort)}
}

// podNameVariable is the environment variable with the name of the pod, which
// distinguishes replicas.
const podNameVariable = "POD_NAME"

// storeFlag is the sidecar's flag for a shared task store.
const storeFlag = "--store"

// storeArgs returns the sidecar's flags for the task store. They are flags and not part of
// the sidecar configuration: running pods reload the configuration, but must keep their store
// until a rollout replaces them.
func storeArgs(agent *a2av1alpha1.Agent) []string {
	redis := redisOf(agent)
	if redis == nil {
		return nil
	}
	args := []string{storeFlag, literal(storeURL(redis)), "--replica", "$(" + podNameVariable + ")"}
	if redis.TLS != nil && redis.TLS.ServerName != "" {
		args = append(args, "--store-tls-server-name", literal(redis.TLS.ServerName))
	}
	return args
}

// storeURL returns the value of storeFlag.
func storeURL(redis *a2av1alpha1.AgentRedis) string {
	scheme := "redis"
	if redis.TLS != nil {
		scheme = "rediss"
	}
	if redis.Mode == a2av1alpha1.RedisModeCluster {
		scheme += "+cluster"
	}
	user := ""
	if redis.Username != "" {
		user = redis.Username + "@"
	}
	return scheme + "://" + user + strings.Join(redis.Addresses, ",") + "/" + strconv.Itoa(int(redis.Database))
}

// sidecarEnv returns the sidecar's environment variables: the addresses of the node, to which
// no client can lead the sidecar, and the variable to which the arguments of storeArgs refer.
func sidecarEnv(agent *a2av1alpha1.Agent) []corev1.EnvVar {
	env := []corev1.EnvVar{fieldVariable(sidecarconfig.HostAddressesVariable, "status.hostIPs")}
	if redisOf(agent) != nil {
		env = append(env, fieldVariable(podNameVariable, "metadata.name"))
	}
	return env
}

// fieldVariable returns a variable with the value of a field of the pod (downward API).
func fieldVariable(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}}
}

// literal escapes an argument, so that Kubernetes does not expand variables in it.
func literal(argument string) string {
	return strings.ReplaceAll(argument, "$", "$$")
}
