// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
)

// recordFile is the name of the record in the state directory.
const recordFile = "record.json"

// Process is a daemon that the cluster started.
type Process struct {
	process.Identity
	// Fingerprint is the digest of the binary, the arguments and the files at its start.
	Fingerprint string `json:"fingerprint"`
}

// Record holds the processes of a cluster and its changes of the machine, so that another process can undo them
// later.
type Record struct {
	// Boot is the boot id to which the run directory belongs.
	Boot string `json:"boot,omitempty"`
	// Processes are the daemons by component name.
	Processes map[string]Process `json:"processes,omitempty"`
	// Sysctls holds the values before the first change since the boot, by name.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Absent holds the paths outside the state directory that did not exist before the cluster and that its
	// components create.
	Absent []string `json:"absent,omitempty"`
	// Bridge is the network interface that the cluster created.
	Bridge string `json:"bridge,omitempty"`
	// Pods and Services are the address ranges, with commas between two.
	Pods     string `json:"pods,omitempty"`
	Services string `json:"services,omitempty"`
	// Domain is the DNS domain of the cluster.
	Domain string `json:"domain,omitempty"`
	// DNS is the digest of the DNS objects that were applied last.
	DNS string `json:"dns,omitempty"`
}

// Ledger is the record on disk. It is safe for concurrent use.
type Ledger struct {
	path string

	mu     sync.Mutex
	record Record
}

// OpenLedger reads the record of a state directory. A missing file is an empty record.
func OpenLedger(dir Dir) (*Ledger, error) {
	ledger := &Ledger{path: dir.Path(recordFile)}
	content, err := os.ReadFile(ledger.path)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(content, &ledger.record); err != nil {
		return nil, fmt.Errorf("parse record %s: %w", ledger.path, err)
	}
	return ledger, nil
}

// Record returns a copy of the record.
func (l *Ledger) Record() Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.clone()
}

// Update changes the record, and writes it to disk before it returns.
func (l *Ledger) Update(change func(*Record)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.record.clone()
	change(&next)
	content, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	if err := WriteFile(l.path, content, 0o600); err != nil {
		return err
	}
	l.record = next
	return nil
}

func (r Record) clone() Record {
	r.Processes = maps.Clone(r.Processes)
	if r.Processes == nil {
		r.Processes = map[string]Process{}
	}
	r.Sysctls = maps.Clone(r.Sysctls)
	if r.Sysctls == nil {
		r.Sysctls = map[string]string{}
	}
	r.Absent = slices.Clone(r.Absent)
	return r
}
