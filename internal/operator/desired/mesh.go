// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// meshAnnotations are the annotations by which a service mesh does not intercept connections to ports of a pod: those
// of Istio and of Linkerd.
var meshAnnotations = []string{"traffic.sidecar.istio.io/excludeInboundPorts", "config.linkerd.io/skip-inbound-ports"}

// excludeFromMesh returns the user's annotations and those that exclude the health port from interception. The kubelet,
// which has no certificate of a mesh, sends the preStop request to this port. If a mesh refused the request, the
// container would stop at once, with its turns. A list of the user keeps its ports.
func excludeFromMesh(user map[string]string) map[string]string {
	health := strconv.Itoa(sidecarconfig.HealthPort)
	annotations := map[string]string{}
	maps.Copy(annotations, user)
	for _, name := range meshAnnotations {
		ports := strings.TrimSpace(annotations[name])
		switch {
		case ports == "":
			annotations[name] = health
		case ports != "*" && !slices.Contains(strings.Split(strings.ReplaceAll(ports, " ", ""), ","), health):
			annotations[name] = ports + "," + health
		}
	}
	return annotations
}
