// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// advice is the meaning of a reason and the action of the user, as in
// docs/reference/conditions.md.
type advice struct{ means, action string }
