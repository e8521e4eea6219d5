// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// imagesFile lists the images that a release, its samples and its pages use. A release publishes it with the digests of its images.
const imagesFile = "config/images.txt"

// imageUses are the uses of images in the order of the list, each with the files that name the images.
var imageUses = []struct {
	use   string
	files []string
}{
	{"The operator needs these.", []string{"config/default/operator.yaml"}},
	{"The samples need these.", []string{"config/samples/*/*.yaml"}},
	{"Examples and pages use these images of others.", []string{"examples/*/*", "docs/*/*.md", "README.md"}},
}

var imageName = regexp.MustCompile(`(?m)(?:^ *(?:- )?image: *|--sidecar-image=|^FROM )"?([a-z0-9][a-zA-Z0-9._:/@-]*)`)

// renderImages returns the list.
func renderImages() (string, error) {
	chart, err := os.ReadFile("charts/a2a-operator/Chart.yaml")
	if err != nil {
		return "", err
	}
	version := regexp.MustCompile(`(?m)^appVersion: (\S+)$`).FindSubmatch(chart)
	if version == nil {
		return "", fmt.Errorf("charts/a2a-operator/Chart.yaml has no appVersion")
	}
	var out strings.Builder
	out.WriteString("# The images of this version. `make generate` writes this file. A release has it with the digests of its images.\n")
	var listed []string
	for _, use := range imageUses {
		out.WriteString("# " + use.use + "\n")
		var names []string
		for _, pattern := range use.files {
			files, err := filepath.Glob(pattern)
			if err != nil {
				return "", err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return "", err
				}
				names = append(names, imagesOf(string(text), string(version[1]))...)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if slices.Contains(listed, name) {
				continue
			}
			listed = append(listed, name)
			out.WriteString(name + "\n")
		}
	}
	return out.String(), nil
}

// imagesOf returns the full names of the images that a file names, without those that are to be replaced by a user's own.
func imagesOf(text, version string) []string {
	var names []string
	for _, match := range imageName.FindAllStringSubmatch(text, -1) {
		name := match[1]
		host, rest, hasHost := strings.Cut(name, "/")
		switch {
		case host == "example" || strings.HasPrefix(host, "registry.example"):
			continue
		case host == "a2a-operator": // the images of this tree
			name = "ghcr.io/" + strings.TrimSuffix(name, ":dev") + ":" + version
		case !hasHost:
			name = "docker.io/library/" + name
		case !strings.ContainsAny(host, ".:"):
			name = "docker.io/" + host + "/" + rest
		}
		names = append(names, name)
	}
	return names
}
