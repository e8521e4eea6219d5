// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
)

// Export returns the files of an AgentSkill by their paths in its folder, and the name of the folder. configMap returns a ConfigMap of
// the namespace of the skill.
func Export(skill *a2av1alpha1.AgentSkill, configMap func(name string) (*corev1.ConfigMap, error)) (folder string, files map[string][]byte, err error) {
	spec := &skill.Spec
	folder = cmp.Or(string(spec.ID), skill.Name)
	switch {
	case spec.Image != "":
		return "", nil, failure.New(failure.Usage, "the files of the skill are in the image %s", spec.Image).WithHint("read them from the registry, for example with crane export")
	case spec.Instructions == "":
		return "", nil, failure.New(failure.Usage, "the skill has no instructions").WithHint("only a skill with spec.instructions has a folder")
	}
	metadata := map[string]string{tagsKey: strings.Join(spec.Tags, ", ")}
	if spec.Name != folder {
		metadata[titleKey] = spec.Name
	}
	files = map[string][]byte{skillfolder.Document: skillfolder.Compose(folder, spec.Description, spec.Instructions, metadata)}
	for i := range spec.Resources {
		from := &spec.Resources[i].ConfigMap
		object, err := configMap(from.Name)
		if err != nil {
			return "", nil, err
		}
		if err := addItems(files, from, object); err != nil {
			return "", nil, err
		}
	}
	return folder, files, nil
}

// addItems adds the files of a ConfigMap.
func addItems(files map[string][]byte, from *a2av1alpha1.SkillConfigMap, object *corev1.ConfigMap) error {
	values := map[string][]byte{}
	for key, value := range object.Data {
		values[key] = []byte(value)
	}
	maps.Copy(values, object.BinaryData)
	items := from.Items
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			items = append(items, a2av1alpha1.SkillFile{Key: key})
		}
	}
	for _, item := range items {
		at := cmp.Or(item.Path, item.Key)
		value, found := values[item.Key]
		switch {
		case !found:
			return failure.New(failure.Usage, "ConfigMap %s has no key %s", from.Name, item.Key).WithHint("add the key, or remove it from spec.resources")
		case !skillfolder.IsPath(at):
			return failure.New(failure.Usage, "a resource has the path %q", at).WithHint("set another one in spec.resources")
		}
		files[at] = value
	}
	return nil
}

// Write writes files to the new folder dir.
func Write(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as a shell makes it, for the user's own umask
		if errors.Is(err, fs.ErrExist) {
			return failure.New(failure.Usage, "%s exists", dir).WithHint("name a new folder")
		}
		return failure.Wrap(failure.Usage, err, "create the folder")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return failure.Wrap(failure.Internal, err, "open the folder")
	}
	defer root.Close()
	for _, at := range slices.Sorted(maps.Keys(files)) {
		err := root.MkdirAll(path.Dir(at), 0o755)
		if err == nil {
			err = root.WriteFile(at, files[at], fs.FileMode(skillfolder.Mode(files[at])))
		}
		if err != nil {
			return failure.Wrap(failure.Usage, err, "write %s", at)
		}
	}
	return nil
}
