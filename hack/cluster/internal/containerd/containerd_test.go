// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package containerd

import "testing"

func TestDigestOf(t *testing.T) {
	const table = `REF                              TYPE                                       DIGEST        SIZE      PLATFORMS   LABELS
docker.io/a2a-operator/pause:dev application/vnd.oci.image.manifest.v1+json sha256:abc    1.6 MiB   linux/amd64 io.cri-containerd.image=managed
`
	for reference, want := range map[string]string{
		"docker.io/a2a-operator/pause:dev":   "sha256:abc",
		"docker.io/a2a-operator/pause:other": "",
	} {
		if got, err := digestOf(table, reference); got != want || err != nil {
			t.Errorf("digestOf(%s) = %q, %v, want %q", reference, got, err, want)
		}
	}
	if _, err := digestOf("REF TYPE DIGEST\nx y z\n", "x"); err == nil {
		t.Error("a table without digests was understood")
	}
}

func TestIsRunning(t *testing.T) {
	const table = "TASK    PID     STATUS\nold     0       STOPPED\nnew     4711    RUNNING\n"
	for id, want := range map[string]bool{"old": false, "new": true, "unknown": false} {
		if got := isRunning(table, id); got != want {
			t.Errorf("isRunning(%s) = %t", id, got)
		}
	}
}

func TestFilter(t *testing.T) {
	got := Container{Namespace: "default", Pod: "echo-1", Name: "agent"}.filter()
	want := `labels."io.kubernetes.pod.namespace"=="default",labels."io.kubernetes.pod.name"=="echo-1",labels."io.kubernetes.container.name"=="agent"`
	if got != want {
		t.Errorf("filter = %s, want %s", got, want)
	}
}
