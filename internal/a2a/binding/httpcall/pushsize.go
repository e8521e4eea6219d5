// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// pushOverhead is the estimated length of the member names of an encoded push configuration,
// in bytes.
const pushOverhead = 192

// PushSize estimates the length of an encoded push configuration, in bytes.
func PushSize(c *a2a.PushConfig) int {
	return pushOverhead + len(c.ID) + len(c.TaskID) + len(c.URL) + len(c.Token) + len(c.Scheme) + len(c.Credentials)
}

// PushPageSize estimates the length of an encoded page of push configurations, in bytes.
func PushPageSize(p *a2a.PushPage) (n int) {
	for _, c := range p.Configs {
		n += PushSize(c)
	}
	return n
}
