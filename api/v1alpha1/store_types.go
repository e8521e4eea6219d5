// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TaskStoreType is where tasks are kept.
//
// +kubebuilder:validation:Enum=Memory;Redis
type TaskStoreType string

// The stores.
const (
	// TaskStoreMemory is the memory of the pod.
	TaskStoreMemory TaskStoreType = "Memory"
	// TaskStoreRedis is a Redis or Valkey of the user's.
	TaskStoreRedis TaskStoreType = "Redis"
)

// AgentTaskStore is where an agent's tasks are kept.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Redis') == has(self.redis)",message="spec.workload.tasks.store.redis goes with type Redis: add redis.addresses, or set the type"
type AgentTaskStore struct {
	// type is Memory or Redis. With Redis tasks outlive the pods, and several
	// replicas share them.
	// +kubebuilder:default=Memory
	// +optional
	Type TaskStoreType `json:"type,omitempty"`

	// redis is the server for type Redis.
	// +optional
	Redis *AgentRedis `json:"redis,omitempty"`
}

// RedisMode is what stands at an address of Redis.
//
// +kubebuilder:validation:Enum=Standalone;Cluster
type RedisMode string

// The modes.
const (
	// RedisModeStandalone is one server, or a Service that leads to the primary.
	RedisModeStandalone RedisMode = "Standalone"
	// RedisModeCluster is a Redis Cluster, of which any nodes are named.
	RedisModeCluster RedisMode = "Cluster"
)

// AgentRedis is a Redis from 7.0 on, or a Valkey. All keys of the agent begin
// with a2a:{<namespace>/<name>}: so that agents may share a server.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Cluster') || size(self.addresses) == 1",message="spec.workload.tasks.store.redis.addresses has one entry in mode Standalone; set mode to Cluster for several nodes"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Cluster' || !has(self.database) || self.database == 0",message="spec.workload.tasks.store.redis.database must be 0 or absent in mode Cluster, which has no other"
// +kubebuilder:validation:XValidation:rule="!has(self.username) || has(self.passwordSecretRef)",message="spec.workload.tasks.store.redis.username needs passwordSecretRef"
type AgentRedis struct {
	// addresses are host:port. A networkPolicy with an egress of its own has to
	// admit them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=259
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$`
	// +listType=set
	// +required
	Addresses []string `json:"addresses,omitempty"`

	// mode is Standalone, the default, or Cluster.
	// +kubebuilder:default=Standalone
	// +optional
	Mode RedisMode `json:"mode,omitempty"`

	// database is the number of the database. It defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Database int32 `json:"database,omitempty"`

	// username is that of an ACL. It defaults to Redis' own default.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +optional
	Username string `json:"username,omitempty"`

	// passwordSecretRef names a Secret with the password under the key password.
	// Connections that are made after it has changed use the new one.
	// +optional
	PasswordSecretRef *SecretReference `json:"passwordSecretRef,omitempty"`

	// tls has connections encrypted. Absent, they are in the clear.
	// +optional
	TLS *RedisTLS `json:"tls,omitempty"`
}

// RedisTLS says how Redis is trusted.
type RedisTLS struct {
	// secretRef names a Secret. Its ca.crt vouches for the server in place of
	// the public authorities; its tls.crt and tls.key are shown to a server that
	// asks for a certificate. Each key is optional.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// serverName is the name on the server's certificate. It defaults to the
	// host of the address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServerName string `json:"serverName,omitempty"`
}

// Keys of the Secrets of a store.
const (
	RedisPasswordKey = "password"
	RedisCAKey       = "ca.crt"
	RedisCertKey     = "tls.crt"
	RedisKeyKey      = "tls.key"
)
