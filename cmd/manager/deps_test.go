// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinksNoRequestPath checks which packages of the request path the manager links: only those
// that the reconcile path shares, and the directory agent with the bindings, the codecs for JSON
// and the trace context of requests. The page on which people approve calls uses the client of A2A,
// with the reader of streams, of answers and of forms. The manager links no engine, store, gateway
// or backend of a protocol, and no gRPC.
func TestLinksNoRequestPath(t *testing.T) {
	const module = "github.com/a2a-operator/a2a-operator/internal/"
	shared := []string{
		"a2a", "a2a/auth", "a2a/authz", "a2a/card", "a2a/egress", "a2a/limit", "a2a/memoryshare",
		"a2a/approval", "a2a/client", "a2a/client/answer", "a2a/client/inputform", "a2a/backend", "a2a/backend/stream", "a2a/codec/agentevents", "a2a/http1",
		"a2a/directory", "a2a/requestcheck", "a2a/tracing", "a2a/version", "a2a/card/signing",
		"a2a/binding/errormap", "a2a/binding/httpcall", "a2a/binding/jsonrpc", "a2a/binding/rest", "a2a/binding/sse",
		"a2a/binding/wellknown",
		"a2a/codec/jsondecode", "a2a/codec/jsonread", "a2a/codec/jsonwrite", "a2a/codec/kindrest",
		"a2a/codec/protojson", "a2a/codec/scalar", "a2a/codec/typedpart", "a2a/codec/v01", "a2a/codec/v03",
		"sidecar/sidecarconfig",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps: %v\n%s", err, out)
	}
	for dependency := range strings.FieldsSeq(string(out)) {
		name, ours := strings.CutPrefix(dependency, module)
		if ours && (name == "a2a" || strings.HasPrefix(name, "a2a/") || strings.HasPrefix(name, "sidecar/")) && !slices.Contains(shared, name) {
			t.Errorf("cmd/manager links %s", dependency)
		}
	}
}
