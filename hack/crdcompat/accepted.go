// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// acceptedFile is the name of the file with the accepted changes, in the directory of the released CRDs.
const acceptedFile = "accepted.yaml"

// change is a change that may invalidate existing objects.
type change struct {
	CRD     string `json:"crd"`
	Version string `json:"version,omitempty"`
	Field   string `json:"field,omitempty"`
	// Change is the name of a validation of crdify or of this program.
	Change string `json:"change"`

	detail string
}

func (c change) String() string {
	return fmt.Sprintf("%s %s %s: %s\n%s", c.CRD, c.Version, c.Field, c.Change, c.detail)
}

// exception is an accepted change.
type exception struct {
	change
	Reason string `json:"reason"`
}

type exceptions []exception

// readAccepted reads the accepted changes. It returns none if the file does not exist.
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

// judge returns a complaint for each change without an exception, and for each exception that has no reason or matches
// no change.
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
			complaints = append(complaints, fmt.Sprintf("%s is accepted, but there is no such change: remove it", x.change))
		}
	}
	return complaints
}
