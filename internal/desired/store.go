// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

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

// storeEnv returns the environment variables to which the arguments refer.
func storeEnv(agent *a2av1alpha1.Agent) []corev1.EnvVar {
	if redisOf(agent) == nil {
		return nil
	}
	return []corev1.EnvVar{{Name: podNameVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
	}}}
}
