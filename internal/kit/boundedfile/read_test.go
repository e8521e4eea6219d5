// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boundedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReadHasALimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if _, err := Read(name, 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a missing file: %v", err)
	}
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(name, 5); string(text) != "12345" || err != nil {
		t.Errorf("Read = %q, %v", text, err)
	}
	if text, err := Read(name, 4); text != nil || err == nil || err.Error() != name+" is larger than 4 bytes" {
		t.Errorf("Read of a larger file = %q, %v", text, err)
	}
}
