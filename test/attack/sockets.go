// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listening is the state of a listening socket in /proc/<pid>/net/tcp.
const listening = "0A"

// Listening returns the TCP ports at which a process listens, in ascending order. It compares the sockets of the
// network namespace with the open files of the process.
func Listening(pid int) ([]int, error) {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	files, err := os.ReadDir(filepath.Join(process, "fd"))
	if err != nil {
		return nil, fmt.Errorf("read the open files: %w", err)
	}
	own := map[string]bool{}
	for _, file := range files {
		target, err := os.Readlink(filepath.Join(process, "fd", file.Name()))
		if err == nil { // the file may have been closed
			own[target] = true
		}
	}
	var ports []int
	for _, table := range []string{"tcp", "tcp6"} {
		found, err := portsIn(filepath.Join(process, "net", table), own)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
			return nil, err
		}
		ports = append(ports, found...)
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

func portsIn(table string, own map[string]bool) (ports []int, err error) {
	file, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listening || !own["socket:["+fields[9]+"]"] {
			continue
		}
		_, port, _ := strings.Cut(fields[1], ":")
		number, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		ports = append(ports, int(number))
	}
	return ports, lines.Err()
}
