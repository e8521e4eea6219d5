// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// supported are the versions that have methods of JSON-RPC. The zero version stands for a
// request that names none.
var supported = []version.Version{{}, version.V01, version.V02, version.V03, version.V10}

// resolve resolves the method of a request. asked is the version that the client names;
// readable is false if the version is invalid. Even with an error, the resolution
// determines the form in which the client reads errors.
func resolve(r *request, asked version.Version, readable, strict bool) (resolution, error) {
	out := resolution{asked: asked, unreadable: !readable}
	if out.method = methods[r.method]; out.method != nil {
		out.dialect = out.method.dialect
	}
	if err := r.checkMarker(out.dialect, nil); err != nil {
		return out, err
	}
	if !readable || !slices.Contains(supported, asked) {
		return out, &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	if out.method == nil {
		return out, &a2a.Error{Reason: a2a.ReasonMethodNotFound}
	}
	var err error
	out.dialect, err = out.method.dialectFor(asked, strict)
	return out, err
}

// dialectFor returns the dialect of a client that calls the method and names a
// version. If that version does not have the method, dialectFor returns an error, and the
// dialect in which to encode the error.
func (m *method) dialectFor(asked version.Version, strict bool) (*dialect, error) {
	unnamed := m.dialect
	if m.shared {
		unnamed = dialectUnnamed
	}
	switch {
	case slices.Contains(m.dialect.versions, asked):
		return m.dialect, nil
	case m.shared && asked == version.V01:
		return dialectV01, nil
	case asked == version.Version{}:
		// By the specification, a client that names no version uses 0.3, which has no
		// methods of 1.0.
		if strict && m.dialect == dialectV10 {
			return m.dialect, &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
		}
		return unnamed, nil
	case asked == version.V10:
		if strict {
			return dialectV10, &a2a.Error{Reason: a2a.ReasonMethodNotFound}
		}
		// Clients of 1.0 send the header of 1.0 even if they call a method of an older
		// version.
		return unnamed, nil
	default:
		return m.dialect, &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
}
