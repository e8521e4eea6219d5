// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// WithHistory returns the task with at most the newest *n messages of its history; nil
// means all messages. It does not change t.
func (t *Task) WithHistory(n *int) *Task {
	if n == nil || len(t.History) <= *n {
		return t
	}
	trimmed := *t
	trimmed.History = nil
	if *n > 0 {
		trimmed.History = t.History[len(t.History)-*n:]
	}
	return &trimmed
}
