// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"regexp"
	"strings"
)

// dockerHub is the registry of a name without a registry.
const dockerHub = "docker.io"

var (
	repositoryPattern = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	tagPattern        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// Name is the name of an image with its tag.
type Name struct {
	repository string
	tag        string
}

// ParseName parses a name as Kubernetes does for a pod's image field. The tag is required: without
// one, Kubernetes uses the tag "latest", which it always pulls by default, and no registry has
// these images.
func ParseName(text string) (Name, error) {
	repository, tag := text, ""
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, '/') {
		repository, tag = text[:colon], text[colon+1:]
	}
	if !repositoryPattern.MatchString(repository) || !tagPattern.MatchString(tag) {
		return Name{}, fmt.Errorf("parse image name %q: expected repository:tag", text)
	}
	first, _, several := strings.Cut(repository, "/")
	switch {
	case !several:
		repository = dockerHub + "/library/" + repository
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		repository = dockerHub + "/" + repository
	}
	return Name{repository: repository, tag: tag}, nil
}

// String returns the full name, with registry and tag, as containerd stores it.
func (n Name) String() string {
	return n.repository + ":" + n.tag
}
