// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram removes the pages of the program file from the memory of the process. The start touches most of them, and
// the kernel maps their neighbors, too. The pages stay in the page cache, and a page that is used again is mapped again
// without a read of the disk. The function does nothing if it cannot read the mappings.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	mappings, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for mapping := range strings.Lines(string(mappings)) {
		fields := strings.Fields(mapping) // range, rights, offset, device, inode, file
		if len(fields) != 6 || fields[5] != program || strings.Contains(fields[1], "w") {
			continue // a page of a writable mapping may have changed
		}
		first, end, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseUint(first, 16, 64)
		if err != nil {
			return
		}
		to, err := strconv.ParseUint(end, 16, 64)
		if err != nil {
			return
		}
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(from), uintptr(to-from), syscall.MADV_DONTNEED) // without effect, the pages stay
	}
}
