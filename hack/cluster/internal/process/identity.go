// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts daemons that outlive the program, and finds them again. A process is identified by its
// id, its start time and the boot id, so that a reused id is not mistaken for it.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity identifies one process, also after its end.
type Identity struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot.
	Start uint64 `json:"start"`
	// Boot is the kernel's boot id.
	Boot string `json:"boot"`
}

// errNotRunning is the error of a process that has ended, zombies included.
var errNotRunning = errors.New("not running")

// Of returns the identity of a running process.
func Of(pid int) (Identity, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	start, err := startTime(content)
	if err != nil {
		return Identity{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	boot, err := Boot()
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether this process runs.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	current, err := Of(i.PID)
	return err == nil && current == i
}

// Boot returns the kernel's id of the current boot.
func Boot() (string, error) {
	content, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return string(bytes.TrimSpace(content)), nil
}

// startTime parses the start time of /proc/PID/stat. The second field is the program's name in parentheses.
// The name may contain spaces and parentheses, so startTime counts the fields after the last ")".
func startTime(stat []byte) (uint64, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("stat has no program name")
	}
	fields := strings.Fields(string(stat[end+1:]))
	const stateField, startField = 0, 19
	if len(fields) <= startField {
		return 0, fmt.Errorf("stat has %d fields", len(fields))
	}
	if state := fields[stateField]; state == "Z" || state == "X" {
		return 0, errNotRunning
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse start time: %w", err)
	}
	return start, nil
}
