// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boundedfile reads files that a flag, a configuration or a mounted volume names, in bounded memory.
package boundedfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns the content of a file. It returns an error for a file of more than limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return text, err
}
