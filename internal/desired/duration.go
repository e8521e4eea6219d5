// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// parseDuration parses a duration that the API server has validated. It returns 0 for an
// empty one.
func parseDuration(field string, d a2av1alpha1.Duration) (sidecarconfig.Duration, error) {
	if d == "" {
		return 0, nil
	}
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("parse %s: %w", field, err)
	}
	return sidecarconfig.Duration(parsed), nil
}
