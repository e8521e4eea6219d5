// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reload replaces what a sidecar is made of while it serves: it watches the
// directories of files, reads files that changed, and applies a new configuration
// whole or not at all. It knows neither the configuration nor the parts that use it.
package reload

import "fmt"

// Step is one part of a sidecar that a configuration of type C changes.
type Step[C any] struct {
	// Name is for errors.
	Name string
	// Prepare does everything that can fail, and changes nothing that is in use. It
	// returns the function that puts the result into use, which cannot fail; nil if
	// this part does not differ between the two configurations.
	Prepare func(former, next C) (commit func(), err error)
}

// Apply prepares every step, and then commits every step in the order of the list.
// If one step cannot be prepared, it returns that error and commits none.
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
