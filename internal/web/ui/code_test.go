// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
	"github.com/a2a-operator/a2a-operator/test/pyenv"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// snippet returns a snippet for an agent at a URL, without its comment about the token.
func snippet(t *testing.T, id, address string) string {
	t.Helper()
	for _, code := range codeFor(&registryapi.Agent{Namespace: "team", Name: "echo", ExternalURL: address}) {
		if code.ID == id {
			return code.Text()
		}
	}
	t.Fatalf("there is no snippet %s", id)
	return ""
}

// run runs a program, and checks that its output contains the answer of
// sidecartest.TextAgent.
func run(t *testing.T, command *exec.Cmd) {
	t.Helper()
	command.Env = append(os.Environ(), "A2A_TOKEN=none", "CGO_ENABLED=0")
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Hello ") || !strings.Contains(strings.ToLower(string(out)), "completed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheGoSnippetRuns builds the snippet with the version of the SDK in go.mod.
func TestTheGoSnippetRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	agent := sidecartest.Start(t, sidecartest.TextAgent)
	// The directory is below the root of the module, so that the go.mod of the module
	// provides the SDK. The go command ignores directories that begin with _.
	directory, err := os.MkdirTemp(".", "_snippet") //nolint:usetesting // the directory is below the module
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	file := filepath.Join(directory, "main.go")
	if err := os.WriteFile(file, []byte(snippet(t, "go", agent.URL+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exec.CommandContext(t.Context(), "go", "run", file))
}

// TestThePythonSnippetRuns runs the snippet with a2a-sdk.
func TestThePythonSnippetRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("runs Python")
	}
	python := pyenv.Python(t, filepath.Join("..", "..", "..", "test", "interop", "python", "requirements", "a2a-1.txt"))
	agent := sidecartest.Start(t, sidecartest.TextAgent)
	run(t, exec.CommandContext(t.Context(), python, "-c", snippet(t, "python", agent.URL+"/")))
}

// TestTheCurlSnippetRuns runs the snippet in a shell, without the line that gets a token.
func TestTheCurlSnippetRuns(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	agent := sidecartest.Start(t, sidecartest.TextAgent)
	token, line, _ := strings.Cut(snippet(t, "curl", agent.URL+"/"), "\n")
	if token != "export A2A_TOKEN=$(kubectl a2a token team/echo)" {
		t.Errorf("the first line is %s", token)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
	if err != nil || !strings.Contains(string(out), "COMPLETED") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSnippetsQuoteAddressesAndNameWhatTheyCall(t *testing.T) {
	for name, test := range map[string]struct {
		agent registryapi.Agent
		ids   string
		want  string
	}{
		"inside":                             {registryapi.Agent{URL: "http://echo.team.svc.cluster.local/"}, "kubectl curl python go", "port-forward service/echo 8080:80"},
		"outside":                            {registryapi.Agent{URL: "http://echo.team.svc.cluster.local/", ExternalURL: "https://echo.example/"}, "kubectl curl python go", "curl -N https://echo.example/"},
		"remote":                             {registryapi.Agent{URL: "https://other.example/a2a", Remote: true}, "kubectl python go", `Resolve(ctx, "https://other.example/a2a")`},
		"shell":                              {registryapi.Agent{ExternalURL: "https://evil.example/$(id)"}, "kubectl curl python go", `curl -N 'https://evil.example/$(id)'`},
		"string":                             {registryapi.Agent{ExternalURL: `https://evil.example/"+x+"`}, "kubectl curl python go", `https://evil.example/%22+x+%22`},
		"no address":                         {registryapi.Agent{}, "kubectl", "kubectl a2a send team/echo 'Hello'"},
		"no HTTP":                            {registryapi.Agent{URL: "javascript:alert(1)"}, "kubectl", ""},
		"line feed":                          {registryapi.Agent{URL: "http://a/\nrm"}, "kubectl", ""},
		"marker of the templates in a value": {registryapi.Agent{URL: "http://a/@shell@"}, "kubectl", ""},
	} {
		test.agent.Namespace, test.agent.Name = "team", "echo"
		var ids, texts []string
		for _, code := range codeFor(&test.agent) {
			ids, texts = append(ids, code.ID), append(texts, code.Text())
		}
		if all := strings.Join(texts, "\n"); strings.Join(ids, " ") != test.ids || !strings.Contains(all, test.want) {
			t.Errorf("%s: %s\n%s", name, ids, all)
		}
	}
}
