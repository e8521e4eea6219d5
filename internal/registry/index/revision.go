// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strconv"
	"strings"
)

// Revision identifies a state of the cluster by the highest resource versions of Agents and of
// ConfigMaps that the state includes. Resource versions of one kind are comparable (KEP-5504),
// so a revision has the same meaning on every replica.
type Revision struct{ Agents, ConfigMaps uint64 }

// String returns the revision as callers see it, such as "1204-1187".
func (r Revision) String() string { return string(r.Append(nil)) }

// Append appends the text that String returns.
func (r Revision) Append(to []byte) []byte {
	to = append(strconv.AppendUint(to, r.Agents, 10), '-')
	return strconv.AppendUint(to, r.ConfigMaps, 10)
}

// ParseRevision parses a text that String has returned.
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

// Max returns the lowest revision that includes both r and other.
func (r Revision) Max(other Revision) Revision {
	return Revision{Agents: max(r.Agents, other.Agents), ConfigMaps: max(r.ConfigMaps, other.ConfigMaps)}
}

// min returns the highest revision that both r and other include.
func (r Revision) min(other Revision) Revision {
	return Revision{Agents: min(r.Agents, other.Agents), ConfigMaps: min(r.ConfigMaps, other.ConfigMaps)}
}

// parseResourceVersion returns a resource version as a number. It returns 0 if the text is not
// a number, which occurs only in tests.
func parseResourceVersion(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
