// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// acceptedFile stands beside the released CRDs.
const acceptedFile = "accepted.yaml"

// change is one that may break what was valid.
type change struct {
	CRD     string `json:"crd"`
	Version string `json:"version,omitempty"`
	Field   string `json:"field,omitempty"`
	// Change is a validation of crdify, or one of this program's own.
	Change string `json:"change"`

	detail string
}

func (c change) String() string {
	return fmt.Sprintf("%s %s %s: %s\n%s", c.CRD, c.Version, c.Field, c.Change, c.detail)
}

// exception is a change that is meant.
type exception struct {
	change
	Reason string `json:"reason"`
}

type exceptions []exception

// readAccepted reads none where there is no file.
func readAccepted(path string) (exceptions, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all exceptions
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// judge lists changes that nobody has given a reason for, and reasons for
// changes that there are not.
func (e exceptions) judge(changes []change) []string {
	reasons := map[change]bool{}
	var complaints []string
	for _, x := range e {
		reasons[x.change] = false
		if x.Reason == "" {
			complaints = append(complaints, fmt.Sprintf("%s is accepted without a reason", x.change))
		}
	}
	for _, c := range changes {
		key := c
		key.detail = ""
		if _, ok := reasons[key]; !ok {
			complaints = append(complaints, c.String())
			continue
		}
		reasons[key] = true
	}
	for _, x := range e {
		if !reasons[x.change] {
			complaints = append(complaints, fmt.Sprintf("%s is accepted, and is no change: remove it", x.change))
		}
	}
	return complaints
}
