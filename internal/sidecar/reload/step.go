// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reload replaces parts of a sidecar while it serves. It watches the directories
// of files, reads changed files, and applies a new configuration completely or not at
// all. It depends neither on the configuration nor on the parts that use it.
package reload

import "fmt"

// Step is one part of a sidecar that depends on a configuration of type C.
type Step[C any] struct {
	// Name is the name of the part in errors.
	Name string
	// Prepare performs everything that can fail, and changes nothing that is in use. It
	// returns the function that puts the result into use, which cannot fail. The function is
	// nil if the part does not differ between the two configurations.
	Prepare func(former, next C) (commit func(), err error)
}

// Apply prepares all steps and then commits them in the order of the list. If a step
// cannot be prepared, Apply returns its error and commits no step.
func Apply[C any](steps []Step[C], former, next C) error {
	commits := make([]func(), 0, len(steps))
	for _, step := range steps {
		commit, err := step.Prepare(former, next)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		if commit != nil {
			commits = append(commits, commit)
		}
	}
	for _, commit := range commits {
		commit()
	}
	return nil
}
