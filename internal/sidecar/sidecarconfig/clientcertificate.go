// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"strings"
)

// maxHost bounds the name of a host, in characters.
const maxHost = 253

// CertificateHosts are the hosts of remote agents that get the client certificate of the sidecar: names, and *.name for all names below one.
type CertificateHosts []string

// Validate returns an error for each host that is not a name.
func (h CertificateHosts) Validate() []error {
	var errs []error
	for _, host := range h {
		if len(host) > maxHost || !hostPattern.MatchString(host) {
			errs = append(errs, fmt.Errorf("names %q, must be a host such as agents.example.com or *.example.com, in lower case and without a port", host))
		}
	}
	return errs
}

// Match reports whether a host gets the certificate.
func (h CertificateHosts) Match(host string) bool {
	for _, each := range h {
		parent, wildcard := strings.CutPrefix(each, "*.")
		if each == host || wildcard && strings.HasSuffix(host, "."+parent) {
			return true
		}
	}
	return false
}
