// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// skillFiles returns the versions of the ConfigMaps with files of an Agent's skills, and whether a skill needs image
// volumes that the API server does not support.
func (g *Gatherer) skillFiles(ctx context.Context, agent *a2av1alpha1.Agent, skills state.Skills, namespaceLabels map[string]string) (state.SkillFiles, bool, error) {
	files := state.SkillFiles{}
	hasImage := false
	for _, skill := range contents(agent, skills, namespaceLabels) {
		hasImage = hasImage || skill.details.Image != ""
		for i := range skill.details.Resources {
			key := types.NamespacedName{Namespace: skill.namespace, Name: skill.details.Resources[i].ConfigMap.Name}
			if files.ConfigMaps[key] != nil {
				continue
			}
			found, err := Read[corev1.ConfigMap](ctx, g.Reader, key.Namespace, key.Name)
			if err != nil {
				return files, false, err
			}
			configMap := &state.SkillConfigMap{}
			if found != nil && found.DeletionTimestamp == nil {
				configMap.UID = found.UID
				configMap.Version = found.ResourceVersion
			}
			if files.ConfigMaps == nil {
				files.ConfigMaps = map[types.NamespacedName]*state.SkillConfigMap{}
			}
			files.ConfigMaps[key] = configMap
		}
	}
	return files, hasImage && g.ImageVolumes.missing(ctx, agent.Namespace), nil
}

// keyOverhead is what a key counts in addition to its name and its value, in bytes. The encoded files need at least as much.
const keyOverhead = 64

// ReadSkillFiles reads the data of the ConfigMaps with files of an Agent's skills from the API server: the caches do not
// keep it. It stops at more than skillfolder.MaxSize bytes or state.MaxSkillFiles keys that become files.
func (g *Gatherer) ReadSkillFiles(ctx context.Context, in *state.Agent) error {
	files := &in.SkillFiles
	files.IsRead = true
	files.Exceeds = len(files.ConfigMaps) > state.MaxSkillConfigMaps
	wanted := wantedKeys(*in)
	keys := 0
	size := 0
	for _, key := range slices.SortedFunc(maps.Keys(files.ConfigMaps), compareNames) {
		if files.Exceeds {
			return nil
		}
		configMap := files.ConfigMaps[key]
		if configMap.UID == "" {
			continue
		}
		isFound := false
		err := g.liveConfigMap(ctx, key, func(found *corev1.ConfigMap) {
			isFound = true
			// Count before the first copy: the copies of many small values are larger than the ConfigMap.
			for name, length := range lengths(found, wanted[key]) {
				keys++
				size += len(name) + keyOverhead + length
			}
			if keys > state.MaxSkillFiles || size > skillfolder.MaxSize {
				files.Exceeds = true
				return
			}
			configMap.Data = map[string][]byte{}
			for name := range lengths(found, wanted[key]) {
				configMap.Data[name] = valueOf(found, name)
			}
		})
		if err != nil {
			return err
		}
		if !isFound {
			configMap.UID = ""
		}
	}
	return nil
}

// lengths yields the wanted keys of a ConfigMap, of both kinds, and the lengths of their values. If wanted is nil, all are wanted.
func lengths(configMap *corev1.ConfigMap, wanted map[string]bool) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for name, value := range configMap.Data {
			if (wanted == nil || wanted[name]) && !yield(name, len(value)) {
				return
			}
		}
		for name, value := range configMap.BinaryData {
			if (wanted == nil || wanted[name]) && !yield(name, len(value)) {
				return
			}
		}
	}
}

// valueOf returns the value of a key of a ConfigMap, of both kinds, or an empty one. No key has values of both kinds.
func valueOf(configMap *corev1.ConfigMap, key string) []byte {
	if value, found := configMap.BinaryData[key]; found {
		return value
	}
	return []byte(configMap.Data[key])
}

// liveConfigMap calls handle for a ConfigMap in the API server, if it exists. handle must copy what it keeps. liveConfigMap lists, because
// the operator has no right to get ConfigMaps.
func (g *Gatherer) liveConfigMap(ctx context.Context, key types.NamespacedName, handle func(*corev1.ConfigMap)) error {
	err := pagedlist.Each(ctx, g.Live, &corev1.ConfigMapList{}, 1, func(o runtime.Object) { handle(o.(*corev1.ConfigMap)) },
		client.InNamespace(key.Namespace), client.MatchingFields{metav1.ObjectNameField: key.Name})
	if err != nil {
		return fmt.Errorf("list ConfigMap %s: %w", key, err)
	}
	return nil
}

// wantedKeys returns the keys that the skills name of each ConfigMap, nil for all keys.
func wantedKeys(in state.Agent) map[types.NamespacedName]map[string]bool {
	wanted := map[types.NamespacedName]map[string]bool{}
	all := map[types.NamespacedName]bool{}
	for _, skill := range contents(in.Agent, in.Skills, in.NamespaceLabels) {
		for i := range skill.details.Resources {
			from := &skill.details.Resources[i].ConfigMap
			key := types.NamespacedName{Namespace: skill.namespace, Name: from.Name}
			all[key] = all[key] || len(from.Items) == 0
			if wanted[key] == nil {
				wanted[key] = map[string]bool{}
			}
			for _, item := range from.Items {
				wanted[key][item.Key] = true
			}
		}
	}
	maps.DeleteFunc(wanted, func(key types.NamespacedName, _ map[string]bool) bool { return all[key] })
	return wanted
}

// content is what a skill of an Agent has, and its namespace.
type content struct {
	namespace string
	details   *a2av1alpha1.SkillDetails
}

// contents returns the contents of the skills that an Agent has and may use.
func contents(agent *a2av1alpha1.Agent, skills state.Skills, namespaceLabels map[string]string) []content {
	var all []content
	for i := range agent.Spec.Skills {
		all = append(all, content{agent.Namespace, &agent.Spec.Skills[i].SkillDetails})
	}
	for _, skill := range skills.Referenced {
		if agentskill.Admits(skill, agent.Namespace, namespaceLabels) {
			all = append(all, content{skill.Namespace, &skill.Spec.SkillDetails})
		}
	}
	for _, skill := range skills.Selected {
		all = append(all, content{skill.Namespace, &skill.Spec.SkillDetails})
	}
	return all
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
