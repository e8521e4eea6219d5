// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// newAPIKeys returns the API keys of a directory: a file for each caller. To
// start there must be one that can be used. Later there need not be: who takes
// away the last key means it.
func (s *Sidecar) newAPIKeys(dir string) *mounted {
	m := s.mounted("api-keys", dir)
	tracked := s.health.Add(sidecarconfig.DependencyAPIKeys, health.Options{
		Blocks: func(health.Status) bool { return s.admitsNobody() },
	})
	m.read = func() (map[string][]byte, error) { return readDirectory(dir) }
	m.take = func(files map[string][]byte) error {
		ring, refused := auth.ParseAPIKeys(files)
		for _, problem := range refused {
			s.log.Error("API key is not accepted", "error", problem)
		}
		s.metrics.apiKeys.WithLabelValues("accepted").Set(float64(ring.Len()))
		s.metrics.apiKeys.WithLabelValues("refused").Set(float64(len(refused)))
		s.apiKeys.Swap(ring)
		switch {
		case ring.Len() == 0:
			s.log.Warn("no caller has an API key", "directory", dir)
			tracked.Failf(sidecarconfig.CauseMissing, "no caller has an API key that can be used")
		case len(refused) > 0:
			tracked.Failf(sidecarconfig.CauseInvalid, "%d of %d API keys cannot be used: %v", len(refused), len(refused)+ring.Len(), refused[0])
		default:
			tracked.Succeeded()
		}
		return nil
	}
	return m
}

// startAPIKeys reads the first keys.
func (s *Sidecar) startAPIKeys(m *mounted) error {
	if err := m.start(); err != nil {
		return fmt.Errorf("%w: %w", ErrAPIKeys, err)
	}
	if s.apiKeys.Len() == 0 {
		return fmt.Errorf("%w: none in %s is of %d to %d visible ASCII characters", ErrAPIKeys, m.dir, auth.MinAPIKey, auth.MaxAPIKey)
	}
	return nil
}

func (s *Sidecar) mounted(name, dir string) *mounted {
	return &mounted{name: name, dir: dir, reloads: s.metrics.credentials, log: s.log}
}
