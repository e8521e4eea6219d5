// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// unreleased is the heading of the changes since the last release.
const unreleased = "Unreleased"

// split returns the text before the section of a version, the content of the section, and the sections after it.
func split(text, version string) (before, section, after string, err error) {
	start := -1
	offset := 0
	for line := range strings.Lines(text) {
		heading, found := strings.CutPrefix(line, "## ")
		name, _, _ := strings.Cut(strings.TrimSpace(heading), " ")
		switch {
		case found && start < 0 && name == version:
			before = text[:offset]
			start = offset + len(line)
		case found && start >= 0:
			return before, strings.Trim(text[start:offset], "\n") + "\n", text[offset:], nil
		}
		offset += len(line)
	}
	if start < 0 {
		return "", "", "", fmt.Errorf("%s has no section %q", page, "## "+version)
	}
	return before, strings.Trim(text[start:], "\n") + "\n", "", nil
}

// upgrade returns the parts of the notes that help to upgrade.
func upgrade(reasons, orphans []string) string {
	var b strings.Builder
	b.WriteString("\n### Restarts of agents\n\n")
	if len(reasons) == 0 {
		b.WriteString("The upgrade restarts agents for one reason only: the new image of the sidecar.\n")
	} else {
		b.WriteString("The upgrade restarts agents because of the new image of the sidecar, and because of a new pod template:\n\n")
		list(&b, reasons)
	}
	b.WriteString("\n### Objects that stay\n\n")
	if len(orphans) == 0 {
		b.WriteString("`install.yaml` still has all objects of the last release.\n")
	} else {
		b.WriteString("`kubectl apply` does not delete these objects, which the new `install.yaml` no longer has. Delete them after the upgrade:\n\n")
		list(&b, orphans)
	}
	return b.String()
}

func list(b *strings.Builder, items []string) {
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}

// orphans returns the objects of the last release that this one does not have.
func orphans(released, objects []string) []string {
	return slices.DeleteFunc(slices.Clone(released), func(o string) bool { return slices.Contains(objects, o) })
}

// objectsOf returns the objects of a manifest as "KIND.GROUP NAMESPACE/NAME", sorted.
func objectsOf(manifest []byte) ([]string, error) {
	var all []string
	for document := range strings.SplitSeq("\n"+string(manifest), "\n---") {
		var o struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		err := yaml.Unmarshal([]byte(document), &o)
		if err != nil {
			return nil, fmt.Errorf("read an object of install.yaml: %w", err)
		}
		if o.Kind == "" {
			continue
		}
		kind := o.Kind
		group, _, grouped := strings.Cut(o.APIVersion, "/")
		if grouped {
			kind += "." + group
		}
		name := o.Metadata.Name
		if o.Metadata.Namespace != "" {
			name = o.Metadata.Namespace + "/" + name
		}
		all = append(all, kind+" "+name)
	}
	if len(all) == 0 {
		return nil, errors.New("install.yaml has no objects")
	}
	slices.Sort(all)
	return all, nil
}

// lines returns the lines of a file that are neither empty nor comments; none if there is no file.
func lines(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all, nil
}

func printLines(out io.Writer, all []string) error {
	_, err := io.WriteString(out, strings.Join(all, "\n")+"\n")
	return err
}
