// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package skill makes an AgentSkill from a folder in the Agent Skills format, and such a folder from an AgentSkill.
//
// A folder may come from anyone: the package follows no link, reads bounded files, and expands no alias of YAML.
package skill

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
)

const (
	// maxFrontMatter bounds the front matter, in bytes.
	maxFrontMatter = 16 << 10
	// maxFiles bounds the resources of a skill (the CRDs). maxEntries bounds what is read of a folder.
	maxFiles   = 128
	maxEntries = 1024
	// maxKey bounds a key of the ConfigMap, in bytes, with room for a prefix of maxFiles bytes below the 253 of Kubernetes.
	maxKey = 253 - maxFiles
	// defaultTag is the tag of a skill without tags: A2A requires one.
	defaultTag = "skill"
	// Keys of the metadata in the front matter, for fields of an AgentSkill that the format does not have.
	titleKey = "title"
	tagsKey  = "tags"
)

// Imported is an AgentSkill that was made from a folder.
type Imported struct {
	Skill *a2av1alpha1.AgentSkill
	// Files has the resources. It is nil if there are none.
	Files  *corev1.ConfigMap
	Report []conversion.Note
}

// Import reads the folder dir. name is the name of the AgentSkill, "" for that of the skill.
func Import(dir, namespace, name string) (*Imported, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read the folder of a skill")
	}
	defer root.Close()
	files, ignored, err := readFolder(root)
	if err != nil {
		return nil, err
	}
	document, found := files[skillfolder.Document]
	if !found {
		return nil, failure.New(failure.Usage, "%s has no %s", dir, skillfolder.Document).WithHint("name the folder of a skill in the Agent Skills format")
	}
	delete(files, skillfolder.Document)
	front, instructions, err := readDocument(document)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(dir)
	if err == nil && filepath.Base(folder) != front.name {
		err = failure.New(failure.Usage, "the folder is %q, and the name in %s is %q", filepath.Base(folder), skillfolder.Document, front.name).
			WithHint("rename one of them: the format requires the same name")
	}
	if err != nil {
		return nil, err
	}
	source := "skill " + front.name
	in := &Imported{Skill: &a2av1alpha1.AgentSkill{
		TypeMeta:   metav1.TypeMeta{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "AgentSkill"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cmp.Or(name, front.name)},
		Spec: a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{
			Name: cmp.Or(front.metadata[titleKey], front.name), Description: front.description, Instructions: instructions,
		}},
	}}
	if in.Skill.Name != front.name {
		in.Skill.Spec.ID = a2av1alpha1.SkillID(front.name)
	}
	for tag := range strings.SplitSeq(front.metadata[tagsKey], ",") {
		tag = strings.TrimSpace(tag)
		if tag != "" && !slices.Contains(in.Skill.Spec.Tags, tag) {
			in.Skill.Spec.Tags = append(in.Skill.Spec.Tags, tag)
		}
	}
	if len(in.Skill.Spec.Tags) == 0 {
		in.Skill.Spec.Tags = []string{defaultTag}
		in.Report = append(in.Report, conversion.Note{
			Object: source, Field: "spec.tags", Action: conversion.Check, Because: "the format has no tags", Do: "name keywords by which people and agents find the skill",
		})
	}
	for _, key := range front.others {
		in.Report = append(in.Report, conversion.Note{
			Object: source, Field: key, Action: conversion.LeftOut, Because: "an AgentSkill has no such field", Do: otherAdvice(key),
		})
	}
	for _, path := range ignored {
		in.Report = append(in.Report, conversion.Note{
			Object: source, Field: path, Action: conversion.LeftOut, Because: "it belongs to a version control system or an operating system", Do: "nothing is to do",
		})
	}
	addFiles(in, files)
	return in, nil
}

func otherAdvice(key string) string {
	if key == "allowed-tools" {
		return "an agent has the tools of spec.model.tools, and a skill gives it none"
	}
	return "keep it in the instructions if the agent must know it"
}

// addFiles adds the ConfigMap with the resources.
func addFiles(in *Imported, files map[string][]byte) {
	if len(files) == 0 {
		return
	}
	in.Files = &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Skill.Namespace, Name: in.Skill.Name + "-skill-files"},
	}
	resource := a2av1alpha1.SkillConfigMap{Name: in.Files.Name}
	taken := map[string]bool{}
	isFlat := true
	for _, path := range slices.Sorted(maps.Keys(files)) {
		key := strings.ReplaceAll(path, "/", "_")
		key = key[max(0, len(key)-maxKey):]
		for taken[key] || strings.HasPrefix(key, "..") {
			key = "_" + key
		}
		taken[key] = true
		isFlat = isFlat && key == path
		item := a2av1alpha1.SkillFile{Key: key}
		if key != path {
			item.Path = path
		}
		resource.Items = append(resource.Items, item)
		if text := files[path]; utf8.Valid(text) {
			setData(in.Files, key, string(text))
		} else {
			setBinary(in.Files, key, text)
		}
	}
	if isFlat {
		resource.Items = nil
	}
	in.Skill.Spec.Resources = []a2av1alpha1.SkillResource{{ConfigMap: resource}}
}

func setData(c *corev1.ConfigMap, key, value string) {
	if c.Data == nil {
		c.Data = map[string]string{}
	}
	c.Data[key] = value
}

func setBinary(c *corev1.ConfigMap, key string, value []byte) {
	if c.BinaryData == nil {
		c.BinaryData = map[string][]byte{}
	}
	c.BinaryData[key] = value
}

// readFolder returns the files of a folder by their paths, and the paths that it ignores.
func readFolder(root *os.Root) (files map[string][]byte, ignored []string, err error) {
	files = map[string][]byte{}
	entries := 0
	size := 0
	err = fs.WalkDir(root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		entries++
		base := path.Base(at)
		switch {
		case err != nil:
			return failure.Wrap(failure.Usage, err, "read the folder of a skill")
		case entries > maxEntries:
			return failure.New(failure.Usage, "the folder has more than %d files and folders", maxEntries).WithHint("name the folder of one skill")
		case at == ".":
			return nil
		case base == ".git" || base == ".DS_Store" || base == "__pycache__":
			ignored = append(ignored, at)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return failure.New(failure.Usage, "%s is a link or no regular file", at).WithHint("replace it by the file, or remove it: links are not followed")
		case at != skillfolder.Document && !skillfolder.IsPath(at):
			return failure.New(failure.Usage, "%q cannot be the path of a resource", at).
				WithHint("rename it: a path has letters, digits and '.', '_', '-' and '/', and at most 255 characters")
		case len(files) > maxFiles:
			return failure.New(failure.Usage, "the folder has more than %d resources", maxFiles).WithHint("remove some, or publish the skill as an image (spec.image)")
		}
		text, err := readFile(root, at, skillfolder.MaxSize-size)
		if err != nil {
			return err
		}
		size += len(text)
		files[at] = text
		return nil
	})
	return files, ignored, err
}

// readFile reads a file of at most limit bytes.
func readFile(root *os.Root, at string, limit int) ([]byte, error) {
	file, err := root.Open(at)
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read the folder of a skill")
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read %s", at)
	}
	if len(text) > limit {
		return nil, failure.New(failure.Usage, "the files need more than %d KiB with %s", skillfolder.MaxSize>>10, at).
			WithHint("remove files, or publish the skill as an image (spec.image)")
	}
	return text, nil
}

// frontMatter is what the front matter of a document has.
type frontMatter struct {
	name, description string
	metadata          map[string]string
	// others are further fields, sorted.
	others []string
}

// readDocument returns the parts of a document.
func readDocument(text []byte) (front frontMatter, instructions string, err error) {
	bad := func(cure, format string, args ...any) error {
		return failure.New(failure.Usage, "%s: %s", skillfolder.Document, fmt.Sprintf(format, args...)).WithHint("%s", cure)
	}
	if !utf8.Valid(text) {
		return front, "", bad("store it as UTF-8", "is no UTF-8 text")
	}
	matter, instructions, ok := skillfolder.Split(string(text))
	if !ok {
		return front, "", bad("begin the file with ---, name, description and ---", "has no front matter")
	}
	if len(matter) > maxFrontMatter {
		return front, "", bad("shorten it", "the front matter has more than %d KiB", maxFrontMatter>>10)
	}
	if front, err = readFrontMatter(matter); err != nil {
		return front, "", bad("correct the front matter", "%v", err)
	}
	switch {
	case !skillfolder.IsName(front.name):
		return front, "", bad("use at most 64 lowercase letters, digits and single '-' between them", "name is %q", front.name)
	case front.description == "":
		return front, "", bad("say what the skill does and when to use it", "description is missing")
	case utf8.RuneCountInString(front.description) > skillfolder.MaxDescription:
		return front, "", bad("move the rest into the instructions", "description has more than %d characters", skillfolder.MaxDescription)
	case strings.TrimSpace(instructions) == "":
		return front, "", bad("write them behind the front matter", "has no instructions")
	case utf8.RuneCountInString(instructions) > skillfolder.MaxInstructions:
		return front, "", bad("move parts into files to which they refer", "the instructions have more than %d characters", skillfolder.MaxInstructions)
	case strings.ContainsFunc(instructions, isControl) || strings.ContainsFunc(front.description, isControl):
		return front, "", bad("remove them", "has control characters")
	}
	return front, instructions, nil
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r <= 0x9f
}

// readFrontMatter decodes front matter. It expands no aliases, which could make a short text very large.
func readFrontMatter(text string) (frontMatter, error) {
	var front frontMatter
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return front, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return front, fmt.Errorf("it is no list of fields")
	}
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		key := fields[i].Value
		value := fields[i+1]
		var err error
		switch key {
		case "name":
			front.name, err = scalar(key, value)
		case "description":
			front.description, err = scalar(key, value)
		case "metadata":
			front.metadata, err = readMetadata(value, &front.others)
		default:
			front.others = append(front.others, key)
		}
		if err != nil {
			return front, err
		}
	}
	front.description = strings.TrimSpace(front.description)
	slices.Sort(front.others)
	return front, nil
}

// readMetadata returns the metadata that an AgentSkill has, and adds the names of the rest to others.
func readMetadata(node *yaml.Node, others *[]string) (map[string]string, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("metadata is no list of fields")
	}
	metadata := map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value
		if key != titleKey && key != tagsKey {
			*others = append(*others, "metadata."+key)
			continue
		}
		value, err := scalar("metadata."+key, node.Content[i+1])
		if err != nil {
			return nil, err
		}
		metadata[key] = value
	}
	return metadata, nil
}

func scalar(key string, node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("%s is no text", key)
	}
	return node.Value, nil
}
