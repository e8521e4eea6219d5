// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strconv"
	"strings"
)

// Revision identifies a state of the cluster by the highest resource versions of Agents and
// ConfigMaps that the state includes. The resource versions of one kind are comparable
// (KEP-5504), so a revision has the same meaning on every replica.
type Revision struct{ Agents, ConfigMaps uint64 }

// String returns the revision as callers see it, such as "1204-1187".
func (r Revision) String() string { return string(r.Append(nil)) }

// Append appends the result of String.
func (r Revision) Append(to []byte) []byte {
	to = append(strconv.AppendUint(to, r.Agents, 10), '-')
	return strconv.AppendUint(to, r.ConfigMaps, 10)
}

// ParseRevision parses the result of String.
func ParseRevision(text string) (Revision, error) {
	first, second, _ := strings.Cut(text, "-")
	agents, agentsErr := strconv.ParseUint(first, 10, 64)
	configMaps, configMapsErr := strconv.ParseUint(second, 10, 64)
	if agentsErr != nil || configMapsErr != nil {
		return Revision{}, fmt.Errorf("%q is not a revision", text)
	}
	return Revision{Agents: agents, ConfigMaps: configMaps}, nil
}

// Includes reports whether the state r includes the state other.
func (r Revision) Includes(other Revision) bool {
	return r.Agents >= other.Agents && r.ConfigMaps >= other.ConfigMaps
}

// Max returns the earliest revision that includes r and other.
func (r Revision) Max(other Revision) Revision {
	return Revision{Agents: max(r.Agents, other.Agents), ConfigMaps: max(r.ConfigMaps, other.ConfigMaps)}
}

// parseResourceVersion returns a resource version as a number. It returns 0 for one that is
// not a number, as objects in tests may have.
func parseResourceVersion(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
