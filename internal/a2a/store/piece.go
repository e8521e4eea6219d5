// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// ReadLimit and ReadBytes bound what one Read of a Log returns, in records and in
// the bytes of their events. A reader that stalls keeps what it has read in memory,
// also after the log has dropped it: without a bound in bytes, 256 records of the
// largest size would be as much as the whole log.
const (
	ReadLimit = 256
	ReadBytes = 1 << 20
)

// Piece returns the first of the records that one Read may return: at least one of
// them, and of more only as many as stay within ReadBytes.
func Piece(records []*a2a.Record) []*a2a.Record {
	size := 0
	for i, r := range records {
		if size += r.Size(); i > 0 && (i == ReadLimit || size > ReadBytes) {
			return records[:i]
		}
	}
	return records
}
