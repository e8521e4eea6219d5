// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
)

func testSettings(t *testing.T) Settings {
	t.Helper()
	plan, err := network.NewPlan("10.231.0.0/22", "10.232.0.0/20")
	if err != nil {
		t.Fatal(err)
	}
	return Settings{
		State: "/state", Binaries: "/binaries", Network: plan, Domain: "cluster.local", ContainerdPath: "/usr/bin/containerd", PluginDir: "/usr/lib/cni",
		NameServers: []string{"192.0.2.53"}, Snapshotter: "overlayfs",
	}
}

// TestRenderedConfiguration compares the configuration of all components with golden files. UPDATE_GOLDEN=1
// writes them.
func TestRenderedConfiguration(t *testing.T) {
	settings := testSettings(t)
	components := []Component{NewEtcd(settings), NewAPIServer(settings), NewControllerManager(settings), NewScheduler(settings)}
	for _, render := range []func(Settings) (Component, error){NewContainerd, NewKubelet, NewKubeProxy} {
		rendered, err := render(settings)
		if err != nil {
			t.Fatal(err)
		}
		components = append(components, rendered)
	}
	var names []string
	for _, c := range components {
		names = append(names, c.Name)
		compareGolden(t, c.Name+".args", []byte(strings.Join(append([]string{c.Binary}, c.Args...), "\n")+"\n"))
		for _, path := range slices.Sorted(maps.Keys(c.Files)) {
			compareGolden(t, filepath.Base(path), c.Files[path])
		}
	}
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(Names))) {
		t.Errorf("rendered %v, want all of %v", names, Names)
	}
	manifest, err := DNSManifest(settings)
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "coredns.yaml", manifest)
}

func TestNetworkConfigurationIsJSON(t *testing.T) {
	c, err := NewContainerd(testSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	if content := c.Files["/state/config/cni/10-a2a-operator.conflist"]; !json.Valid(content) {
		t.Errorf("not JSON: %s", content)
	}
}

func TestDNSForwardsNothingWithoutNameServers(t *testing.T) {
	settings := testSettings(t)
	settings.NameServers = nil
	manifest, err := DNSManifest(settings)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(manifest), "forward") {
		t.Errorf("CoreDNS has a forward plugin without a server:\n%s", manifest)
	}
}

func TestAuditIsOffByDefault(t *testing.T) {
	settings := testSettings(t)
	hasAudit := func() bool {
		return strings.Contains(strings.Join(NewAPIServer(settings).Args, " "), "--audit-log-path=/state/logs/audit.log")
	}
	if hasAudit() {
		t.Error("audit is on")
	}
	settings.Audit = true
	if !hasAudit() {
		t.Error("audit is off")
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; UPDATE_GOLDEN=1 writes it. Got:\n%s\nwant:\n%s", path, got, want)
	}
}
