// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import (
	"errors"
	"time"
)

var errLinux = errors.New("costs are measured on Linux only")

// CPU is measured on Linux only.
func (p *Process) CPU() (time.Duration, error) { return 0, errLinux }

// RSS is measured on Linux only.
func (p *Process) RSS() (int64, error) { return 0, errLinux }

// MachineUsage is measured on Linux only.
func MachineUsage() (Usage, error) { return Usage{}, errLinux }
