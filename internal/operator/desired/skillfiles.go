// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// skillFilesDir is the directory of the sidecar with the files of the skills as the operator renders them. The sidecar writes them
// to skillfolder.Dir: the paths of a mounted ConfigMap are a part of the pod template, and a change of the template restarts the pods.
const skillFilesDir = "/etc/a2a-skills"

// maxResourceProblems bounds the problems of the resources of a skill. A further one says that there are more.
const maxResourceProblems = 8

// skillFiles returns the files of the skills of an Agent, and the problems of finding them. If their data was not read, it returns
// the problems that it finds without the data.
func skillFiles(in state.Agent, origins []origin) (skillfolder.Files, []state.Problem) {
	files := skillfolder.Files{}
	var problems []state.Problem
	exceeds := in.SkillFiles.Exceeds || countResources(in, origins) > state.MaxSkillFiles
	for _, o := range origins {
		switch {
		case o.details == nil:
		case o.details.Image != "" && in.NoImageVolumes:
			problems = append(problems, skillProblem(a2av1alpha1.ReasonImageVolumesUnsupported,
				"%s: image needs image volumes, and the API server does not support them; upgrade the cluster to Kubernetes 1.35, enable its feature gate ImageVolume, "+
					"or replace image by instructions and resources", o.place))
		case o.details.Instructions != "":
			files[path.Join(o.skill.ID, skillfolder.Document)] = skillfolder.Compose(o.skill.ID, o.details.Description, o.details.Instructions, nil)
			if in.SkillFiles.IsRead && !exceeds {
				problems = append(problems, addResources(in, o, files)...)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if exceeds {
		return nil, []state.Problem{skillProblem(a2av1alpha1.ReasonSkillFilesTooLarge,
			"The resources of the skills have more than %d KiB or %d files, or are in more than %d ConfigMaps; remove some, or publish skills as images",
			skillfolder.MaxSize>>10, state.MaxSkillFiles, state.MaxSkillConfigMaps)}
	}
	if _, size, err := files.Encode(); err != nil || size > skillfolder.MaxSize {
		return nil, []state.Problem{filesTooLarge(files, size)}
	}
	return files, nil
}

// countResources returns the number of files that the resources of the skills become, without making them.
func countResources(in state.Agent, origins []origin) int {
	number := 0
	for _, o := range origins {
		if o.details == nil || o.details.Instructions == "" {
			continue
		}
		for i := range o.details.Resources {
			from := &o.details.Resources[i].ConfigMap
			if len(from.Items) > 0 {
				number += len(from.Items)
			} else if configMap := in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: o.namespace, Name: from.Name}]; configMap != nil {
				number += len(configMap.Data)
			}
		}
	}
	return number
}

// addResources adds the resources of a skill to files, and stops at more than maxResourceProblems problems.
func addResources(in state.Agent, o origin, files skillfolder.Files) []state.Problem {
	var problems []state.Problem
	var paths []string
	add := func(field, file string, content []byte) {
		at := path.Join(o.skill.ID, file)
		_, taken := files[at]
		switch {
		case !skillfolder.IsPath(file):
			problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSkillResource,
				"%s: %s: a resource cannot have the path %q; set another one in items[].path", o.place, field, file))
		case taken:
			problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSkillResource,
				"%s: %s: another resource has the path %q, too; change one in items[].path", o.place, field, file))
		default:
			files[at] = content
			paths = append(paths, file)
		}
	}
	for i := range o.details.Resources {
		if len(problems) > maxResourceProblems {
			break
		}
		from := &o.details.Resources[i].ConfigMap
		field := fmt.Sprintf("resources[%d].configMap", i)
		configMap := in.SkillFiles.ConfigMaps[types.NamespacedName{Namespace: o.namespace, Name: from.Name}]
		if configMap == nil || configMap.UID == "" {
			problems = append(problems, skillProblem(a2av1alpha1.ReasonSkillResourceNotFound,
				"%s: %s.name: ConfigMap %q does not exist in namespace %q; create it, or remove the resource", o.place, field, from.Name, o.namespace))
			continue
		}
		for at, item := range resourceItems(field, from, configMap) {
			if len(problems) > maxResourceProblems {
				break
			}
			content, found := configMap.Data[item.Key]
			if !found {
				problems = append(problems, skillProblem(a2av1alpha1.ReasonSkillResourceNotFound,
					"%s: %s.key: ConfigMap %q of namespace %q has no key %q; add the key, or remove the item", o.place, at, from.Name, o.namespace, item.Key))
				continue
			}
			add(at, cmp.Or(item.Path, item.Key), content)
		}
	}
	if file, below := skillfolder.Conflict(paths); file != "" {
		problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSkillResource,
			"%s: resources: %q is a file and cannot have the file %q below it; change one path", o.place, file, below))
	}
	if len(problems) > maxResourceProblems {
		problems = append(problems[:maxResourceProblems], skillProblem(a2av1alpha1.ReasonInvalidSkillResource,
			"%s: resources: more than %d files have a mistake; correct the named ones, and the condition names the next ones", o.place, maxResourceProblems))
	}
	return problems
}

// resourceItems yields the items of a resource, or all keys of its ConfigMap if it has none, and their fields.
func resourceItems(field string, from *a2av1alpha1.SkillConfigMap, configMap *state.SkillConfigMap) iter.Seq2[string, a2av1alpha1.SkillFile] {
	return func(yield func(string, a2av1alpha1.SkillFile) bool) {
		for i, item := range from.Items {
			if !yield(fmt.Sprintf("%s.items[%d]", field, i), item) {
				return
			}
		}
		if len(from.Items) > 0 {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
			if !yield(field, a2av1alpha1.SkillFile{Key: key}) {
				return
			}
		}
	}
}

// filesTooLarge returns the problem that the files need size bytes, and names the skill with the most bytes.
func filesTooLarge(files skillfolder.Files, size int) state.Problem {
	sizes := map[string]int{}
	for at, content := range files {
		id, _, _ := strings.Cut(at, "/")
		sizes[id] += len(content)
	}
	largest := ""
	for _, id := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[id] > sizes[largest] {
			largest = id
		}
	}
	return skillProblem(a2av1alpha1.ReasonSkillFilesTooLarge,
		"The files of the skills need %d KiB, the limit is %d KiB; skill %q has %d KiB: shorten it, remove it from the Agent, or publish it as an image",
		(size+1023)>>10, skillfolder.MaxSize>>10, largest, (sizes[largest]+1023)>>10)
}

// skillFilesOf returns the ConfigMap with the files of an Agent's skills, and the digest of the files. It returns nil if the existing
// ConfigMap must stay as it is, because the files are not known, and if none is needed.
func skillFilesOf(in state.Agent) (configMap *corev1ac.ConfigMapApplyConfiguration, digest string, err error) {
	current := in.Children.SkillFiles
	if !metav1.IsControlledBy(orEmpty(current), in.Agent) {
		current = nil
	}
	origins, problems := skillOrigins(in)
	problems = append(problems, duplicateIDs(origins)...)
	var files skillfolder.Files
	if len(problems) == 0 {
		files, problems = skillFiles(in, origins)
	}
	if len(problems) > 0 {
		return nil, orEmpty(current).Annotations[a2av1alpha1.AnnotationConfigDigest], nil
	}
	if len(files) == 0 && current == nil {
		return nil, "", nil
	}
	values, _, err := files.Encode()
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	configMap = corev1ac.ConfigMap(names.SkillFiles(in.Agent.Name), in.Agent.Namespace).WithLabels(names.Labels(in.Agent.Name))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		_, _ = fmt.Fprintf(sum, "%s %d ", key, len(value))
		sum.Write(value)
		if utf8.Valid(value) {
			configMap.WithData(map[string]string{key: string(value)})
		} else {
			configMap.WithBinaryData(map[string][]byte{key: value})
		}
	}
	digest = hex.EncodeToString(sum.Sum(nil)[:8])
	configMap.WithAnnotations(map[string]string{a2av1alpha1.AnnotationConfigDigest: digest})
	return configMap, digest, nil
}

func orEmpty(configMap *corev1.ConfigMap) *corev1.ConfigMap {
	if configMap == nil {
		return &corev1.ConfigMap{}
	}
	return configMap
}

// haveFiles reports whether the pods mount the files of skills: a skill has files, or the present pods mount them and the Agent
// still shares skills. So a pod restarts when its first skill gets files, and not again when an AgentSkill loses them or is gone for
// some time.
func haveFiles(in state.Agent) bool {
	if in.Skills.HaveFiles {
		return true
	}
	origins, _ := skillOrigins(in)
	if slices.ContainsFunc(origins, func(o origin) bool { return o.details.Instructions != "" || o.details.Image != "" }) {
		return true
	}
	d := in.Children.Deployment
	return (len(in.Agent.Spec.SkillRefs) > 0 || in.Agent.Spec.SkillSelector != nil) && d != nil && metav1.IsControlledBy(d, in.Agent) &&
		slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == a2av1alpha1.VolumeSkills })
}

// mountSkills adds the volumes with the files of the skills to a pod, and mounts them in its containers.
func mountSkills(in state.Agent, pod *corev1.PodSpec) {
	if !haveFiles(in) {
		return
	}
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: a2av1alpha1.VolumeSkillFiles, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.SkillFiles(in.Agent.Name)},
			Optional:             new(true), // an Agent whose skills have no files has no ConfigMap
		}}},
		corev1.Volume{Name: a2av1alpha1.VolumeSkills, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mounts := []corev1.VolumeMount{{Name: a2av1alpha1.VolumeSkills, MountPath: skillfolder.Dir, ReadOnly: true}}
	for _, image := range skillImages(in) {
		pod.Volumes = append(pod.Volumes, image.volume)
		mounts = append(mounts, image.mount)
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			if c.Name != a2av1alpha1.ContainerSidecar {
				c.VolumeMounts = append(c.VolumeMounts, mounts...)
				continue
			}
			// The sidecar writes the files, and it is the first container that mounts images below them: the runtime can make
			// the directory of a mount only where the volume around it is writable.
			c.Args = append(c.Args, "--skill-files", skillFilesDir, "--skills", skillfolder.Dir)
			own := slices.Clone(mounts)
			own[0].ReadOnly = false
			c.VolumeMounts = append(append(c.VolumeMounts, corev1.VolumeMount{Name: a2av1alpha1.VolumeSkillFiles, MountPath: skillFilesDir, ReadOnly: true}), own...)
		}
	}
}

// skillImage is the volume of a skill with an image, and its mount.
type skillImage struct {
	volume corev1.Volume
	mount  corev1.VolumeMount
}

// skillImages returns the volumes of the skills with an image, ordered by id. It returns none if the API server does not support
// image volumes.
func skillImages(in state.Agent) []skillImage {
	if in.NoImageVolumes {
		return nil
	}
	images := map[string]skillImage{}
	origins, _ := skillOrigins(in)
	for _, o := range origins {
		if o.details.Image == "" {
			continue
		}
		sum := sha256.Sum256([]byte(o.skill.ID))
		volume := a2av1alpha1.VolumeSkillImage + hex.EncodeToString(sum[:8])
		images[o.skill.ID] = skillImage{
			corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
				Image: &corev1.ImageVolumeSource{Reference: o.details.Image, PullPolicy: corev1.PullIfNotPresent},
			}},
			corev1.VolumeMount{Name: volume, MountPath: path.Join(skillfolder.Dir, o.skill.ID), ReadOnly: true},
		}
	}
	ordered := make([]skillImage, 0, len(images))
	for _, id := range slices.Sorted(maps.Keys(images)) {
		ordered = append(ordered, images[id])
	}
	return ordered
}

// skillMountConflicts returns a problem for each volume that a container of the template mounts where the files of the skills are.
func skillMountConflicts(in state.Agent) []state.Problem {
	if !haveFiles(in) {
		return nil
	}
	var problems []state.Problem
	pod := &in.Agent.Spec.Workload.Template.Spec
	for list, containers := range map[string][]corev1.Container{"initContainers": pod.InitContainers, "containers": pod.Containers} {
		for i := range containers {
			for j, mount := range containers[i].VolumeMounts {
				if at := path.Clean(mount.MountPath); at == skillfolder.Dir || strings.HasPrefix(at, skillfolder.Dir+"/") {
					problems = append(problems, nameConflict("%s.%s[%d].volumeMounts[%d].mountPath must not be %q: the operator mounts the files of the skills at %s; "+
						"use another path, or remove the skills with files", templateField, list, i, j, mount.MountPath, skillfolder.Dir))
				}
			}
		}
	}
	slices.SortFunc(problems, func(a, b state.Problem) int { return cmp.Compare(a.Message, b.Message) })
	return problems
}
