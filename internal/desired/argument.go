// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
)

// literal escapes an argument, so that Kubernetes does not expand variables in it.
func literal(argument string) string {
	return strings.ReplaceAll(argument, "$", "$$")
}
