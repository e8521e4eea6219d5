// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// addAPIKeys reads the API keys from a directory, which has a file for each caller. If no
// key is usable at the start, it returns an error. Later there may be no keys, because a
// user may remove the last key on purpose. blocks reports whether the pod is not ready
// because of missing keys.
func addAPIKeys(e *environment, dir string, keys *auth.APIKeys, blocks func(health.Status) bool) error {
	tracked := e.health.Add(sidecarconfig.DependencyAPIKeys, health.Options{Blocks: blocks})
	err := e.addCredential(&reload.Source{
		Name: "api-keys", Directories: []string{dir},
		Read: func() (reload.Files, error) { return reload.ReadDirectory(dir) },
		Use: func(files reload.Files) error {
			ring, refused := auth.ParseAPIKeys(files)
			for _, problem := range refused {
				e.log.Error("API key refused", "error", problem)
			}
			e.metrics.SetAPIKeys(ring.Len(), len(refused))
			keys.Swap(ring)
			switch {
			case ring.Len() == 0:
				e.log.Warn("no usable API key found", "directory", dir)
				tracked.Failf(sidecarconfig.CauseMissing, "no caller has an API key that can be used")
			case len(refused) > 0:
				tracked.Failf(sidecarconfig.CauseInvalid, "%d of %d API keys cannot be used: %v", len(refused), len(refused)+ring.Len(), refused[0])
			default:
				tracked.Succeeded()
			}
			return nil
		},
	}, ErrAPIKeys)
	if err == nil && keys.Len() == 0 {
		err = fmt.Errorf("%w: none in %s is of %d to %d visible ASCII characters", ErrAPIKeys, dir, auth.MinAPIKey, auth.MaxAPIKey)
	}
	return err
}
