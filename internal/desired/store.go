// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// podNameVariable holds the name of the pod, which tells replicas apart.
const podNameVariable = "POD_NAME"

// storeFlag says where tasks are kept that several pods share.
const storeFlag = "--store"

// redisOf is where an Agent keeps its tasks; nil for the memory of the pod.
func redisOf(agent *a2av1alpha1.Agent) *a2av1alpha1.AgentRedis {
	return agent.Spec.Workload.Tasks.Store.Redis
}

// storeArgs tell the sidecar where tasks are kept. They are flags for the
// reason of the backend's URL: another store begins with new pods.
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

// storeURL is what --store takes.
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

// storeEnv is what the arguments refer to.
func storeEnv(agent *a2av1alpha1.Agent) []corev1.EnvVar {
	if redisOf(agent) == nil {
		return nil
	}
	return []corev1.EnvVar{{Name: podNameVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
	}}}
}

// storeCredentials are for the connections to the store.
func storeCredentials(agent *a2av1alpha1.Agent) []credential {
	var all []credential
	redis := redisOf(agent)
	if redis == nil {
		return nil
	}
	if secret := redis.PasswordSecretRef; secret != nil {
		all = append(all, credential{
			volume: secretVolume(a2av1alpha1.VolumeStorePassword, *secret, a2av1alpha1.RedisPasswordKey),
			dir:    passwordDir,
			args:   []string{"--store-password-file", passwordDir + "/" + a2av1alpha1.RedisPasswordKey},
		})
	}
	if redis.TLS != nil && redis.TLS.SecretRef != nil {
		all = append(all, credential{
			volume: secretVolume(a2av1alpha1.VolumeStoreTLS, *redis.TLS.SecretRef,
				a2av1alpha1.RedisCAKey, a2av1alpha1.RedisCertKey, a2av1alpha1.RedisKeyKey),
			dir:  storeTLSDir,
			args: []string{"--store-tls-dir", storeTLSDir},
		})
	}
	return all
}
