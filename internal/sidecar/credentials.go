// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// addCredential loads a source of credentials, and adds it to the reloader. If the first
// load fails, the error wraps reason.
func (e *environment) addCredential(s *reload.Source, reason error) error {
	if err := s.Load(); err != nil {
		return fmt.Errorf("%w: %w", reason, err)
	}
	e.reloader.Add(s)
	return nil
}

// fileSource returns a source of one file. A failure does not affect readiness, because
// the former content stays in use. Health reports append the text formerUse to the
// failure.
func (e *environment) fileSource(name, file string, tracked sidecarconfig.Dependency, formerUse string, use func([]byte) error) *reload.Source {
	dir, base := filepath.Dir(file), filepath.Base(file)
	return &reload.Source{
		Name: name, Directories: []string{dir},
		Read: func() (reload.Files, error) { return reload.ReadFiles(dir, []string{base}) },
		Use: func(files reload.Files) error {
			if err := use(files[base]); err != nil {
				return fmt.Errorf("%s %w", file, err)
			}
			return nil
		},
		Report: reportReloads(e.health.Add(tracked, health.Options{}), formerUse),
	}
}

// reportReloads returns a function for reload.Source.Report that records the result in a
// dependency.
func reportReloads(d *health.Dependency, formerUse string) func(error) {
	return func(err error) {
		if err == nil {
			d.Succeeded()
			return
		}
		d.Failf(causeOfFiles(err), "%v; %s", err, formerUse)
	}
}

// causeOfFiles returns the cause of an error for which files cannot be used.
func causeOfFiles(err error) sidecarconfig.HealthCause {
	if validity, ok := errors.AsType[*validityError](err); ok {
		return validity.cause
	}
	if errors.Is(err, fs.ErrNotExist) {
		return sidecarconfig.CauseMissing
	}
	return sidecarconfig.CauseInvalid
}
