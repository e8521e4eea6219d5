// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// CopyHook copies the program of this process to a directory, as "sidecar", which all users may run. It replaces a copy of an earlier
// process.
func CopyHook(directory string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	from, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := os.CreateTemp(directory, ".sidecar-")
	if err != nil {
		return fmt.Errorf("create the copy: %w", err)
	}
	_, err = io.Copy(to, from)
	const everyoneMayRun = 0o555
	if err := errors.Join(err, to.Chmod(everyoneMayRun), to.Close()); err != nil {
		_ = os.Remove(to.Name())
		return fmt.Errorf("write the copy: %w", err)
	}
	if err := os.Rename(to.Name(), filepath.Join(directory, "sidecar")); err != nil {
		return fmt.Errorf("install the copy: %w", err)
	}
	return nil
}
