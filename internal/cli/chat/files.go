// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import "github.com/a2a-operator/a2a-operator/internal/a2a"

const (
	// maxKept bounds the content of received files that the chat keeps for /save, in bytes.
	maxKept = 64 << 20
	// maxFiles bounds the received files.
	maxFiles = 1000
)

// receivedFiles are the files of answers, numbered from 1. The content of the oldest ones is dropped
// beyond maxKept.
type receivedFiles struct {
	parts []*a2a.Part
	bytes int
}

// add keeps a file and returns its number, 0 beyond maxFiles.
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
