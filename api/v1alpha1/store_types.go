// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TaskStoreType is a kind of task store.
//
// +kubebuilder:validation:Enum=Memory;Redis
type TaskStoreType string

// The stores.
const (
	// TaskStoreMemory keeps tasks in the memory of the pod.
	TaskStoreMemory TaskStoreType = "Memory"
	// TaskStoreRedis keeps tasks in a Redis or Valkey server that the user provides.
	TaskStoreRedis TaskStoreType = "Redis"
)

// AgentTaskStore configures the task store of an agent.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Redis') == has(self.redis)",message="spec.workload.tasks.store.redis is required for type Redis, and forbidden for type Memory: add redis.addresses, or change the type"
type AgentTaskStore struct {
	// type is Memory or Redis. With Redis, tasks survive the end of a pod, and
	// several replicas share them. It defaults to Memory.
	// +kubebuilder:default=Memory
	// +optional
	Type TaskStoreType `json:"type,omitempty"`

	// redis configures the server. It is required for type Redis.
	// +optional
	Redis *AgentRedis `json:"redis,omitempty"`
}

// RedisMode is the topology of the Redis servers.
//
// +kubebuilder:validation:Enum=Standalone;Cluster
type RedisMode string

// The modes.
const (
	// RedisModeStandalone is one server, or a Service that routes to the primary.
	RedisModeStandalone RedisMode = "Standalone"
	// RedisModeCluster is a Redis Cluster, with the addresses of any of its nodes.
	RedisModeCluster RedisMode = "Cluster"
)

// AgentRedis is a Redis of version 7.0 or later, or a Valkey. Agents may share a
// server: all keys of an agent have the prefix a2a:{<namespace>/<name>}:.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Cluster') || size(self.addresses) == 1",message="spec.workload.tasks.store.redis.addresses must have one entry in mode Standalone; set mode to Cluster for several nodes"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Cluster' || !has(self.database) || self.database == 0",message="spec.workload.tasks.store.redis.database must be 0 or absent in mode Cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.username) || has(self.passwordSecretRef)",message="spec.workload.tasks.store.redis.username needs passwordSecretRef"
type AgentRedis struct {
	// addresses are the addresses of the server or of nodes of the cluster, as
	// host:port. If spec.networkPolicy.egress is set, it must allow them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=259
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$`
	// +listType=set
	// +required
	Addresses []string `json:"addresses,omitempty"`

	// mode is Standalone or Cluster. It defaults to Standalone.
	// +kubebuilder:default=Standalone
	// +optional
	Mode RedisMode `json:"mode,omitempty"`

	// database is the number of the database. It defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Database int32 `json:"database,omitempty"`

	// username is the name of an ACL user. If absent, the default user of Redis is
	// used.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +optional
	Username string `json:"username,omitempty"`

	// passwordSecretRef names a Secret with the password under the key password. New
	// connections use a changed password without a restart.
	// +optional
	PasswordSecretRef *SecretReference `json:"passwordSecretRef,omitempty"`

	// maxBytes is the maximum number of bytes of all tasks of this agent in Redis, from
	// 16 MiB. One owner of tasks may use three quarters of it. In addition, the
	// messages of conversations may use an eighth of it. It defaults to 268435456
	// (256 MiB).
	// +kubebuilder:default=268435456
	// +kubebuilder:validation:Minimum=16777216
	// +kubebuilder:validation:Maximum=1099511627776
	// +optional
	MaxBytes int64 `json:"maxBytes,omitempty"`

	// tls encrypts connections. If absent, they are not encrypted.
	// +optional
	TLS *RedisTLS `json:"tls,omitempty"`
}

// RedisTLS configures the certificates for connections to Redis.
type RedisTLS struct {
	// secretRef names a Secret in the Agent's namespace. Its ca.crt verifies the
	// server in place of the public certificate authorities. Its tls.crt and tls.key
	// are the client certificate. Each key is optional.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// serverName is the name in the server's certificate. It defaults to the host of
	// the address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	ServerName string `json:"serverName,omitempty"`
}

// Keys in the data of the Secrets that an AgentRedis names.
const (
	RedisPasswordKey = "password"
	RedisCAKey       = "ca.crt"
	RedisCertKey     = "tls.crt"
	RedisKeyKey      = "tls.key"
)
