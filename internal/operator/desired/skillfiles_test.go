// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// withResources returns the state of an Agent with the skill triage, whose resources are files of the ConfigMap "files".
func withResources(t *testing.T, data map[string][]byte, items ...a2av1alpha1.SkillFile) state.Agent {
	t.Helper()
	in := readCase(t, "testdata/skill-files/input.yaml")
	in.Agent.UID = "agent"
	in.Agent.Spec.Skills[1].Resources = []a2av1alpha1.SkillResource{{ConfigMap: a2av1alpha1.SkillConfigMap{Name: "files", Items: items}}}
	in.SkillFiles = state.SkillFiles{
		IsRead: true,
		ConfigMaps: map[types.NamespacedName]*state.SkillConfigMap{
			{Namespace: "agents", Name: "files"}: {UID: "files", Version: "1", Data: data},
		},
	}
	return in
}

// mustAgent returns the result for a state.
func mustAgent(t *testing.T, in state.Agent) Result {
	t.Helper()
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSkillFiles(t *testing.T) {
	in := withResources(t, map[string][]byte{"a.md": []byte("text"), "b.bin": {0xff}}, a2av1alpha1.SkillFile{Key: "a.md"}, a2av1alpha1.SkillFile{Key: "b.bin", Path: "assets/b"})
	result := mustAgent(t, in)
	if len(result.Problems) > 0 {
		t.Fatalf("problems %v", result.Problems)
	}
	values := map[string][]byte{}
	for key, value := range result.Objects.SkillFiles.Data {
		values[key] = []byte(value)
	}
	maps.Copy(values, result.Objects.SkillFiles.BinaryData)
	files, _, err := skillfolder.Decode(values)
	if err != nil {
		t.Fatal(err)
	}
	for path, part := range map[string]string{
		"triage/SKILL.md": "Look first.", "triage/a.md": "text", "triage/assets/b": "\xff", "escalate/SKILL.md": "Call somebody.",
	} {
		if !strings.Contains(string(files[path]), part) {
			t.Errorf("%s = %q, want %q", path, files[path], part)
		}
	}
	if len(files) != 4 {
		t.Errorf("%d files, want 4", len(files))
	}
	if card := result.Objects.ConfigMap.Data["config.json"]; strings.Contains(card, "Look first") || strings.Contains(card, "rollback@") {
		t.Error("the sidecar configuration has the content of a skill")
	}

	template := result.TemplateDigest
	in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: "agents", Name: "files"}].Data["a.md"] = []byte("other")
	edited := mustAgent(t, in)
	if edited.TemplateDigest != template {
		t.Error("an edit of a file changes the pod template")
	}
	if edited.Card.ConfigDigest == result.Card.ConfigDigest {
		t.Error("an edit of a file does not change the configuration, so pods do not refresh it")
	}
}

func TestSkillFilesProblems(t *testing.T) {
	large := make([]byte, skillfolder.MaxSize)
	for name, c := range map[string]struct {
		change func(*state.Agent)
		data   map[string][]byte
		items  []a2av1alpha1.SkillFile
		want   string
	}{
		"no ConfigMap": {
			change: func(in *state.Agent) {
				in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: "agents", Name: "files"}].UID = ""
			},
			want: `SkillResourceNotFound spec.skills[1]: resources[0].configMap.name: ConfigMap "files" does not exist in namespace "agents"; create it, or remove the resource`,
		},
		"no key": {
			items: []a2av1alpha1.SkillFile{{Key: "a"}},
			want:  `SkillResourceNotFound spec.skills[1]: resources[0].configMap.items[0].key: ConfigMap "files" of namespace "agents" has no key "a"; add the key, or remove the item`,
		},
		"document": {
			data: map[string][]byte{"SKILL.md": nil},
			want: `InvalidSkillResource spec.skills[1]: resources[0].configMap: a resource cannot have the path "SKILL.md"; set another one in items[].path`,
		},
		"traversal": { // the CRD refuses this path
			data: map[string][]byte{"a": nil}, items: []a2av1alpha1.SkillFile{{Key: "a", Path: "../escalate/SKILL.md"}},
			want: `InvalidSkillResource spec.skills[1]: resources[0].configMap.items[0]: a resource cannot have the path "../escalate/SKILL.md"; set another one in items[].path`,
		},
		"one path twice": {
			data: map[string][]byte{"a": nil, "b": nil}, items: []a2av1alpha1.SkillFile{{Key: "a", Path: "c"}, {Key: "b", Path: "c"}},
			want: `InvalidSkillResource spec.skills[1]: resources[0].configMap.items[1]: another resource has the path "c", too; change one in items[].path`,
		},
		"file and folder": {
			data: map[string][]byte{"a": nil, "b": nil}, items: []a2av1alpha1.SkillFile{{Key: "a"}, {Key: "b", Path: "a/b"}},
			want: `InvalidSkillResource spec.skills[1]: resources: "a" is a file and cannot have the file "a/b" below it; change one path`,
		},
		"too large": {
			data: map[string][]byte{"a": large},
			want: `SkillFilesTooLarge The files of the skills need 1021 KiB, the limit is 1020 KiB; skill "triage" has 1021 KiB: shorten it, remove it from the Agent, or publish it as an image`,
		},
		"too much to read": {
			change: func(in *state.Agent) { in.SkillFiles.Exceeds = true },
			want:   `SkillFilesTooLarge The resources of the skills have more than 1020 KiB or 4096 files, or are in more than 32 ConfigMaps; remove some, or publish skills as images`,
		},
		"no image volumes": {
			change: func(in *state.Agent) { in.NoImageVolumes = true },
			want:   `ImageVolumesUnsupported spec.skills[2]: image needs image volumes, and the API server does not support them; upgrade the cluster to Kubernetes 1.35, enable its feature gate ImageVolume, or replace image by instructions and resources`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := withResources(t, c.data, c.items...)
			if c.change != nil {
				c.change(&in)
			}
			result := mustAgent(t, in)
			if len(result.Problems) != 1 || result.Problems[0].Reason+" "+result.Problems[0].Message != c.want {
				t.Errorf("problems %+v\nwant %s", result.Problems, c.want)
			}
			if result.Problems[0].Condition != a2av1alpha1.ConditionSkillsResolved || result.Objects != nil {
				t.Errorf("condition %s, objects %v, want none before the first card", result.Problems[0].Condition, result.Objects)
			}
		})
	}
}

// TestSkillFilesAreBounded checks that neither the keys of a ConfigMap nor the skills that have it several times multiply the work and
// the problems.
func TestSkillFilesAreBounded(t *testing.T) {
	const tooMany = "SkillFilesTooLarge The resources of the skills have more than 1020 KiB or 4096 files, or are in more than 32 ConfigMaps; remove some, or publish skills as images"
	for name, c := range map[string]struct {
		keys, times, skills int
		problems            int
		last                string
	}{
		"78,000 keys, 8 times in 4 skills": {keys: 78_000, times: 8, skills: 4, problems: 1, last: tooMany},
		"1,025 keys in 4 skills":           {keys: 1025, times: 1, skills: 4, problems: 1, last: tooMany},
		"1,024 keys in 4 skills":           {keys: 1024, times: 1, skills: 4},
		"128 keys, 8 times in 4 skills": {
			keys: 128, times: 8, skills: 4, problems: 36,
			last: "InvalidSkillResource spec.skills[3]: resources: more than 8 files have a mistake; correct the named ones, and the condition names the next ones",
		},
		"8 keys twice": {
			keys: 8, times: 2, skills: 1, problems: 8,
			last: `InvalidSkillResource spec.skills[0]: resources[1].configMap: another resource has the path "00007", too; change one in items[].path`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for i := range c.keys {
				data[fmt.Sprintf("%05d", i)] = []byte{}
			}
			in := withResources(t, data)
			skill := in.Agent.Spec.Skills[1]
			skill.Resources = slices.Repeat(skill.Resources, c.times)
			in.Agent.Spec.Skills = nil
			for i := range c.skills {
				skill.ID = a2av1alpha1.SkillID(fmt.Sprintf("triage-%d", i))
				in.Agent.Spec.Skills = append(in.Agent.Spec.Skills, skill)
			}
			origins, problems := skillOrigins(in)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems = skillFiles(in, origins)
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 8 {
				t.Errorf("allocated %d MiB, want at most 8", allocated)
			}
			last := ""
			if len(problems) > 0 {
				last = problems[len(problems)-1].Reason + " " + problems[len(problems)-1].Message
			}
			if len(problems) != c.problems || last != c.last {
				t.Errorf("%d problems, the last is %s\nwant %d, %s", len(problems), last, c.problems, c.last)
			}
		})
	}
}

// TestSkillFilesAreKept checks that a mistake in a skill changes neither the files that the pods have nor the digest in the
// sidecar configuration.
func TestSkillFilesAreKept(t *testing.T) {
	in := withResources(t, map[string][]byte{"a.md": []byte("text")})
	first := mustAgent(t, in)
	owner := []metav1.OwnerReference{{UID: "agent", Controller: new(true)}}
	in.Children.ConfigMap = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: first.Objects.ConfigMap.Annotations, OwnerReferences: owner}, Data: first.Objects.ConfigMap.Data,
	}
	in.Children.SkillFiles = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: first.Objects.SkillFiles.Annotations, OwnerReferences: owner}}
	in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: "agents", Name: "files"}].UID = ""
	kept := mustAgent(t, in)
	if !kept.CardKept || kept.Objects.SkillFiles != nil || kept.Card.ConfigDigest != first.Card.ConfigDigest {
		t.Errorf("card kept %t, files %v, digest %s, want %s", kept.CardKept, kept.Objects.SkillFiles, kept.Card.ConfigDigest, first.Card.ConfigDigest)
	}

	// Without skills, the ConfigMap becomes empty: the operator has no right to delete it.
	in.Agent.Spec.Skills = nil
	in.Agent.Spec.SkillRefs = nil
	in.SkillFiles = state.SkillFiles{IsRead: true}
	if data := mustAgent(t, in).Objects.SkillFiles.Data; len(data) != 1 || data["index.json"] != `{"files":{}}` {
		t.Errorf("data = %v", data)
	}
}

// TestRevisionHasNoFilesOfSkills checks that a revision has the same pod template as its spec, without the texts of the skills, and
// that the files of the spec stay.
func TestRevisionHasNoFilesOfSkills(t *testing.T) {
	in := withResources(t, map[string][]byte{"a.md": []byte("text")})
	result := mustAgent(t, in)
	encoded, _, err := Revision(in, testPlatform)
	if err != nil || strings.Contains(string(encoded), "Look first") || !strings.Contains(string(encoded), "rollback@sha256") {
		t.Fatalf("Revision() = %s, %v", encoded, err)
	}
	content := &state.RevisionContent{}
	if err := json.Unmarshal(encoded, content); err != nil {
		t.Fatal(err)
	}
	digest, err := templateDigest(withRevision(in, testPlatform, content))
	if err != nil || digest != result.TemplateDigest {
		t.Errorf("template of the revision %s, %v, want %s", digest, err, result.TemplateDigest)
	}
	in.Revision = &state.Revision{Number: 1, Content: content}
	in.Agent.Spec.Workload.Revision = 1
	if pinned := mustAgent(t, in); pinned.Runs != 1 || pinned.Objects.SkillFiles == nil {
		t.Errorf("runs %d, files %v", pinned.Runs, pinned.Objects.SkillFiles)
	}
}

func TestSkillMountConflicts(t *testing.T) {
	in := withResources(t, map[string][]byte{"a.md": []byte("text")})
	main := &in.Agent.Spec.Workload.Template.Spec.Containers[0]
	for path, want := range map[string]bool{"/a2a/skills": true, "/a2a/skills/": true, "/a2a/../a2a/skills/x": true, "/a2a/skillset": false, "/a2a": false} {
		main.VolumeMounts = []corev1.VolumeMount{{Name: "own", MountPath: path}}
		if got := len(skillMountConflicts(in)) > 0; got != want {
			t.Errorf("a mount at %s conflicts: %t", path, got)
		}
	}
}

// TestSharedSkillsRestartPodsOnce checks that pods mount the files of skills when the first shared skill has files, and that they keep
// the mount when that AgentSkill loses its files or is gone.
func TestSharedSkillsRestartPodsOnce(t *testing.T) {
	in := withResources(t, nil)
	in.Agent.Spec.Skills = nil
	key := types.NamespacedName{Namespace: "library", Name: "escalate"}
	skill := in.Skills.Referenced[key]
	skill.Spec.Instructions = ""
	if haveFiles(in) {
		t.Error("pods mount the files of a skill without files")
	}
	skill.Spec.Instructions = "Call somebody."
	if !haveFiles(in) {
		t.Error("pods do not mount the files of a skill with instructions")
	}
	in.Children.Deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "agent", Controller: new(true)}}}}
	pod := &in.Children.Deployment.Spec.Template.Spec
	mountSkills(in, pod)
	skill.Spec.Instructions = ""
	if !haveFiles(in) {
		t.Error("pods restart when a skill loses its files")
	}
	delete(in.Skills.Referenced, key)
	if !haveFiles(in) {
		t.Error("pods restart when an AgentSkill is gone")
	}
	in.Agent.Spec.SkillRefs = nil
	if haveFiles(in) {
		t.Error("an Agent that shares no skill keeps the mount")
	}
}
