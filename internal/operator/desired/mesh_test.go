// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMeshesLeaveTheHealthPortAlone checks that the lists of a template keep their ports.
func TestMeshesLeaveTheHealthPortAlone(t *testing.T) {
	const istio, linkerd = "traffic.sidecar.istio.io/excludeInboundPorts", "config.linkerd.io/skip-inbound-ports"
	for name, test := range map[string]struct{ user, want map[string]string }{
		"none":              {nil, map[string]string{istio: "8642", linkerd: "8642"}},
		"other annotations": {map[string]string{"a": "b"}, map[string]string{"a": "b", istio: "8642", linkerd: "8642"}},
		"other ports":       {map[string]string{istio: "9000, 86420", linkerd: " 1"}, map[string]string{istio: "9000, 86420,8642", linkerd: "1,8642"}},
		"the port":          {map[string]string{istio: "9000, 8642", linkerd: "*"}, map[string]string{istio: "9000, 8642", linkerd: "*"}},
		"an empty list":     {map[string]string{istio: "", linkerd: " "}, map[string]string{istio: "8642", linkerd: "8642"}},
	} {
		if diff := cmp.Diff(test.want, excludeFromMesh(test.user)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
