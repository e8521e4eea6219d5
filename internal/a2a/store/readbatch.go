// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// ReadLimit and ReadBytes bound the records that one Read of a Log returns, by number
// and by the bytes of their events. A slow reader keeps the records that it has read
// in memory, even after the log has dropped them. Without ReadBytes, 256 of the
// largest records could be as large as the whole log.
const (
	ReadLimit = 256
	ReadBytes = 1 << 20
)

// ReadBatch returns the first records, as many as one Read may return: at least one, and
// more only while they stay within ReadLimit and ReadBytes.
func ReadBatch(records []*a2a.Record) []*a2a.Record {
	size := 0
	for i, r := range records {
		size += r.Size()
		if i > 0 && (i == ReadLimit || size > ReadBytes) {
			return records[:i]
		}
	}
	return records
}
