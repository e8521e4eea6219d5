// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "k8s.io/apimachinery/pkg/types"

const (
	// MaxSkillConfigMaps bounds the ConfigMaps with files of the skills of an Agent. A reconcile reads each of them.
	MaxSkillConfigMaps = 32
	// MaxSkillFiles bounds the resources of the skills of an Agent in files. A ConfigMap may have 100,000 keys without values, and a
	// skill may have a ConfigMap several times.
	MaxSkillFiles = 4096
)

// SkillFiles holds the ConfigMaps with files of an Agent's skills.
type SkillFiles struct {
	// ConfigMaps has an entry for each ConfigMap that a skill of the Agent names.
	ConfigMaps map[types.NamespacedName]*SkillConfigMap
	// IsRead is true if the ConfigMaps have their data. A reconcile reads the data only to render it.
	IsRead bool
	// Exceeds is true if the data was not read completely, because the files are too large or too many, or the
	// ConfigMaps too many.
	Exceeds bool
}

// SkillConfigMap is a ConfigMap with files of skills.
type SkillConfigMap struct {
	// UID and Version are the UID and the resource version in the cache. They are "" if the ConfigMap does not exist.
	UID     types.UID
	Version string
	// Data has the values of the ConfigMap, of both kinds.
	Data map[string][]byte
}
