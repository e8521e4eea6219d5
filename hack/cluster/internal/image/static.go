// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/elf"
	"fmt"
)

// static refuses a program that would not start in an image without a loader and libraries.
func static(path string) error {
	program, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no Linux program: %w", path, err)
	}
	defer func() { _ = program.Close() }()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static: it is started by a loader that its image does not have; build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}
