// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net"
	"strings"
)

// RefusesCertificate reports whether an error is an alert with which a server refuses the client's certificate, or the lack of one.
func RefusesCertificate(err error) bool {
	alert, ok := errors.AsType[*net.OpError](err)
	if !ok || alert.Op != "remote error" { // crypto/tls exports no type for it
		return false
	}
	switch strings.TrimPrefix(alert.Err.Error(), "tls: ") {
	case "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate", "unknown certificate", "certificate required",
		"unknown certificate authority", "access denied", "handshake failure":
		return true
	}
	return false
}
