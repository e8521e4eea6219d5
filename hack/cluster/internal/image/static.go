// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/elf"
	"fmt"
)

// static returns an error for a program that needs a loader and libraries.
func static(path string) error {
	program, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no Linux program: %w", path, err)
	}
	defer func() { _ = program.Close() }()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static: it needs a loader, which the image does not have; build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}
