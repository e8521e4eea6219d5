// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package devcluster tests hack/devcluster.sh with stubs of kind, k3d, Docker and podman. It creates no cluster.
package devcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a machine with stubs of some programs, which append their calls to a file.
type machine struct {
	t    *testing.T
	path string
	log  string
}

func newMachine(t *testing.T, programs map[string]string) *machine {
	t.Helper()
	m := &machine{t, t.TempDir(), filepath.Join(t.TempDir(), "calls")}
	for _, name := range []string{"bash", "env", "grep"} {
		found, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		if err := os.Symlink(found, filepath.Join(m.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range programs {
		text := "#!/usr/bin/env bash\necho \"" + name + " $* ${KIND_EXPERIMENTAL_PROVIDER:-}\" >>'" + m.log + "'\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(m.path, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run runs the script and returns its output, with the calls of the stubs after it.
func (m *machine) run(environment string, args ...string) (string, error) {
	m.t.Helper()
	_ = os.Remove(m.log)
	script, err := filepath.Abs("../../hack/devcluster.sh")
	if err != nil {
		m.t.Fatal(err)
	}
	command := exec.CommandContext(m.t.Context(), filepath.Join(m.path, "bash"), append([]string{script}, args...)...)
	command.Env = []string{"PATH=" + m.path}
	if environment != "" {
		command.Env = append(command.Env, environment)
	}
	output, failed := command.CombinedOutput()
	calls, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(output) + string(calls), failed
}

func TestClusterOfKind(t *testing.T) {
	m := newMachine(t, map[string]string{"docker": "", "kind": `[[ $1 == get && $2 == kubeconfig ]] && echo "the kubeconfig"; exit 0`, "k3d": ""})
	if output, err := m.run("", "create"); err != nil || !strings.Contains(output, "kind create cluster --name a2a-operator --wait 3m") || strings.Contains(output, "k3d") {
		t.Errorf("create: %v: %s", err, output)
	}
	if output, err := m.run("DEV_CLUSTER=mine", "load", "a.tar", "b.tar"); err != nil || !strings.Contains(output, "kind load image-archive a.tar --name mine") || !strings.Contains(output, "b.tar --name mine") {
		t.Errorf("load: %v: %s", err, output)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if output, err := m.run("", "kubeconfig", file); err != nil {
		t.Errorf("kubeconfig: %v: %s", err, output)
	}
	info, err := os.Stat(file)
	if text, _ := os.ReadFile(file); err != nil || string(text) != "the kubeconfig\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig = %q, %v, %v", text, info, err)
	}
	if output, err := m.run("", "delete"); err != nil || !strings.Contains(output, "kind delete cluster --name a2a-operator") {
		t.Errorf("delete: %v: %s", err, output)
	}
}

func TestClusterThatExists(t *testing.T) {
	m := newMachine(t, map[string]string{"docker": "", "kind": `[[ $1 == get ]] && echo a2a-operator; exit 0`})
	if output, err := m.run("", "create"); err != nil || strings.Contains(output, "kind create") || !strings.Contains(output, "using the cluster a2a-operator of kind") {
		t.Errorf("create: %v: %s", err, output)
	}
}

func TestClusterOfK3d(t *testing.T) {
	m := newMachine(t, map[string]string{"docker": "", "k3d": `[[ $2 != list ]]`})
	if output, err := m.run("", "create"); err != nil || !strings.Contains(output, "k3d cluster create a2a-operator --image +stable") {
		t.Errorf("create: %v: %s", err, output)
	}
	if output, err := m.run("", "load", "a.tar"); err != nil || !strings.Contains(output, "k3d image import a.tar --cluster a2a-operator") {
		t.Errorf("load: %v: %s", err, output)
	}
}

func TestPodman(t *testing.T) {
	m := newMachine(t, map[string]string{"docker": "exit 1", "podman": "", "kind": "", "k3d": ""})
	if output, err := m.run("", "create"); err != nil || !strings.Contains(output, "kind create cluster --name a2a-operator --wait 3m podman") {
		t.Errorf("create: %v: %s", err, output)
	}
	if output, err := m.run("DEV_CLUSTER_TOOL=k3d", "create"); err == nil || !strings.Contains(output, "DOCKER_HOST") {
		t.Errorf("create by k3d: %v: %s", err, output)
	}
}

func TestMissingPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		programs map[string]string
		setting  string
		want     string
	}{
		"nothing":        {nil, "", "kind or k3d is missing: install one of them"},
		"no engine":      {map[string]string{"kind": ""}, "", "Docker or podman is missing: install one of them, or run make demo"},
		"engine is down": {map[string]string{"kind": "", "docker": "exit 1"}, "", "neither Docker nor podman answers"},
		"another tool":   {map[string]string{"docker": ""}, "DEV_CLUSTER_TOOL=minikube", "use kind or k3d"},
		"missing tool":   {map[string]string{"docker": "", "kind": ""}, "DEV_CLUSTER_TOOL=k3d", "k3d is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := newMachine(t, c.programs).run(c.setting, "create")
			if err == nil || !strings.Contains(output, c.want) || strings.Contains(output, "create cluster") {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}
