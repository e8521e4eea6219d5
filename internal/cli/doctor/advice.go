// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// advice is what docs/reference/conditions.md says about a reason.
type advice struct{ means, action string }
