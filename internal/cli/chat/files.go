// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import "github.com/a2a-operator/a2a-operator/internal/a2a"

const (
	// maxKept bounds the content of received files that the chat stores for /save, in bytes.
	maxKept = 64 << 20
	// maxFiles bounds the received files.
	maxFiles = 1000
)

// receivedFiles are the files of answers, numbered from 1. Above maxKept bytes, the content of the oldest files is
// dropped.
type receivedFiles struct {
	parts []*a2a.Part
	bytes int
}

// add stores a file and returns its number. It returns 0, and stores nothing, if there are maxFiles files.
func (f *receivedFiles) add(p *a2a.Part) int {
	if len(f.parts) >= maxFiles {
		return 0
	}
	kept := *p
	f.parts = append(f.parts, &kept)
	f.bytes += len(kept.Raw)
	for i := 0; f.bytes > maxKept && i < len(f.parts); i++ {
		f.bytes -= len(f.parts[i].Raw)
		f.parts[i].Raw = nil
	}
	return len(f.parts)
}
