// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// releasedDir contains the output of the last release for Agents of that time: <case>/input.yaml,
	// template.yaml and config.json. UPDATE_RELEASED=1 writes it. Write it only at a release (`make released`).
	releasedDir = "testdata/released"
	// restartsFile lists the reasons why the next release restarts agents, or writes a sidecar configuration
	// that sidecars of the last release refuse. If the file has no line, the next release must do neither.
	restartsFile = releasedDir + "/restarts.txt"
)

// TestNextReleaseRestartsNoAgent compares pod templates with those of the last release: a difference restarts
// the agents of all users when they upgrade the operator.
func TestNextReleaseRestartsNoAgent(t *testing.T) {
	if os.Getenv("UPDATE_RELEASED") != "" {
		keepAsReleased(t)
	}
	reasons := restarts(t)
	differ := 0
	for _, dir := range releasedCases(t) {
		got := renderYAML(t, releasedAgent(t, dir).Deployment.Spec.Template)
		want := readFile(t, filepath.Join(dir, "template.yaml"))
		if got == want {
			continue
		}
		differ++
		if len(reasons) == 0 {
			t.Errorf("%s restarts; if it must, say why in %s (-released +now):\n%s", filepath.Base(dir), restartsFile, cmp.Diff(want, got))
		}
	}
	strange := unknownMembers(t)
	if len(strange) > 0 && len(reasons) == 0 {
		t.Errorf("released sidecars reject configurations with %q, and keep the last one until their pods are replaced; "+
			"leave a member out where it has no effect, or say why in %s", strange, restartsFile)
	}
	if len(reasons) > 0 && differ == 0 && len(strange) == 0 {
		t.Errorf("%s says %q, and nothing restarts: empty it", restartsFile, reasons)
	}
}

// TestReleasedConfigurationsAreRead checks that this release reads the sidecar configurations of the last
// release, which are in use during a rollout and after a rollback.
func TestReleasedConfigurationsAreRead(t *testing.T) {
	for _, dir := range releasedCases(t) {
		if _, err := sidecarconfig.Decode([]byte(readFile(t, filepath.Join(dir, "config.json")))); err != nil {
			t.Errorf("%s: Decode() error = %v", filepath.Base(dir), err)
		}
	}
}

// unknownMembers returns the members that the sidecar configurations of today have and the configurations of
// the last release do not have, for the same Agents. Sidecars of the last release refuse unknown members.
func unknownMembers(t *testing.T) []string {
	t.Helper()
	known, now := map[string]bool{}, map[string]bool{}
	for _, dir := range releasedCases(t) {
		members(t, readFile(t, filepath.Join(dir, "config.json")), known)
		members(t, releasedAgent(t, dir).ConfigMap.Data[sidecarconfig.FileName], now)
	}
	maps.DeleteFunc(now, func(path string, _ bool) bool { return known[path] })
	return slices.Sorted(maps.Keys(now))
}

// members adds the paths of the members of a JSON text.
func members(t *testing.T, text string, to map[string]bool) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				to[path+"."+name] = true
				walk(path+"."+name, member)
			}
		case []any:
			for _, member := range v {
				walk(path+"[]", member)
			}
		}
	}
	walk("", value)
}

// keepAsReleased stores the current results as the results of a release.
func keepAsReleased(t *testing.T) {
	t.Helper()
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(releasedDir); err != nil {
		t.Fatal(err)
	}
	for _, input := range inputs {
		result, err := Agent(readCase(t, input), testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		if result.Objects == nil || result.Objects.Deployment == nil {
			continue
		}
		dir := filepath.Join(releasedDir, filepath.Base(filepath.Dir(input)))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"input.yaml":    readFile(t, input),
			"template.yaml": renderYAML(t, result.Objects.Deployment.Spec.Template),
			"config.json":   result.Objects.ConfigMap.Data[sidecarconfig.FileName],
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func releasedCases(t *testing.T) []string {
	t.Helper()
	inputs, err := filepath.Glob(releasedDir + "/*/input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("Glob() = %v, %v", inputs, err)
	}
	for i := range inputs {
		inputs[i] = filepath.Dir(inputs[i])
	}
	return inputs
}

// releasedAgent returns the desired objects for an Agent of the last release.
func releasedAgent(t *testing.T, dir string) *Objects {
	t.Helper()
	result, err := Agent(readCase(t, filepath.Join(dir, "input.yaml")), testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if result.Objects == nil || result.Objects.Deployment == nil {
		t.Fatalf("%s: what the last release ran is a mistake now: %+v", filepath.Base(dir), result.Problems)
	}
	return result.Objects
}

// restarts returns the lines of restartsFile.
func restarts(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(restartsFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

func renderYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
