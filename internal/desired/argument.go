// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
)

// literal escapes an argument, so that Kubernetes expands no variable in it.
func literal(argument string) string {
	return strings.ReplaceAll(argument, "$", "$$")
}
