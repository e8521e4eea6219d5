// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// configMapReader lists the same ConfigMap for each name, and counts the reads.
type configMapReader struct {
	client.Reader
	configMap corev1.ConfigMap
	reads     int
}

func (r *configMapReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	r.reads++
	list.(*corev1.ConfigMapList).Items = []corev1.ConfigMap{r.configMap}
	return nil
}

// agentWithFiles returns the state of an Agent with a skill for each list of resources.
func agentWithFiles(skills ...[]a2av1alpha1.SkillConfigMap) *state.Agent {
	in := &state.Agent{Agent: &a2av1alpha1.Agent{}}
	in.Agent.Namespace = "agents"
	in.SkillFiles.ConfigMaps = map[types.NamespacedName]*state.SkillConfigMap{}
	for _, resources := range skills {
		skill := a2av1alpha1.Skill{}
		skill.Instructions = "Look first."
		for _, from := range resources {
			skill.Resources = append(skill.Resources, a2av1alpha1.SkillResource{ConfigMap: from})
			in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: "agents", Name: from.Name}] = &state.SkillConfigMap{UID: "uid"}
		}
		in.Agent.Spec.Skills = append(in.Agent.Spec.Skills, skill)
	}
	return in
}

// emptyKeys returns a number of keys without a value.
func emptyKeys(number int) map[string]string {
	data := map[string]string{}
	for i := range number {
		data[fmt.Sprintf("%05d", i)] = ""
	}
	return data
}

// TestReadSkillFilesIsBounded checks that keys without values count: the values of a ConfigMap have at most 1 MiB, and its keys can be
// 100,000.
func TestReadSkillFilesIsBounded(t *testing.T) {
	long := map[string]string{}
	for i := range 3500 { // 1,085 KiB with 64 bytes for each key
		long[fmt.Sprintf("%0253d", i)] = ""
	}
	many := emptyKeys(78_000)
	for name, c := range map[string]struct {
		skills  [][]a2av1alpha1.SkillConfigMap
		data    map[string]string
		exceeds bool
		reads   int
		keys    []string
	}{
		"all keys, 8 times in 4 skills": {
			skills: slices.Repeat([][]a2av1alpha1.SkillConfigMap{slices.Repeat([]a2av1alpha1.SkillConfigMap{{Name: "files"}}, 8)}, 4),
			data:   many, exceeds: true, reads: 1,
		},
		"two keys": {
			skills: [][]a2av1alpha1.SkillConfigMap{{{Name: "files", Items: []a2av1alpha1.SkillFile{{Key: "00002"}, {Key: "00001"}, {Key: "none"}}}}},
			data:   many, reads: 1, keys: []string{"00001", "00002"},
		},
		"as many keys as an Agent may have": {
			skills: [][]a2av1alpha1.SkillConfigMap{{{Name: "files"}}},
			data:   emptyKeys(state.MaxSkillFiles), reads: 1, keys: slices.Sorted(maps.Keys(emptyKeys(state.MaxSkillFiles))),
		},
		"long keys": {
			skills: [][]a2av1alpha1.SkillConfigMap{{{Name: "files"}}},
			data:   long, exceeds: true, reads: 1,
		},
		"too many keys of two ConfigMaps": {
			skills: [][]a2av1alpha1.SkillConfigMap{{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
			data:   emptyKeys(state.MaxSkillFiles/2 + 1), exceeds: true, reads: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := &configMapReader{configMap: corev1.ConfigMap{Data: c.data}}
			in := agentWithFiles(c.skills...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := (&Gatherer{Live: live}).ReadSkillFiles(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 4 {
				t.Errorf("allocated %d MiB, want at most 4", allocated)
			}
			if in.SkillFiles.Exceeds != c.exceeds || live.reads != c.reads {
				t.Errorf("exceeds %t after %d reads, want %t after %d", in.SkillFiles.Exceeds, live.reads, c.exceeds, c.reads)
			}
			if files := in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: "agents", Name: "files"}]; files != nil && !slices.Equal(slices.Sorted(maps.Keys(files.Data)), c.keys) {
				t.Errorf("%d keys, want %d", len(files.Data), len(c.keys))
			}
		})
	}
}
