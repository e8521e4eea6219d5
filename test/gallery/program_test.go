// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/pyenv"
)

// startTimeout is how long a program may take until it listens: on a busy machine,
// imports alone take a minute.
const startTimeout = 2 * time.Minute

// skipUnlessSelected skips the test of an example that GALLERY does not name.
func skipUnlessSelected(t *testing.T, name string) {
	t.Helper()
	if names := strings.Fields(os.Getenv("GALLERY")); !slices.Contains(names, name) {
		t.Skipf("SKIPPED: GALLERY does not name %s; make gallery does", name)
	}
}

// environment returns the environment of an example's program: its port, the address
// and the key of the model, and proxies that refuse every connection that leaves
// this machine, such as telemetry.
func environment(t *testing.T, model, port string) []string {
	t.Helper()
	// The tests start each program several times. Without the bytecode of the first start, each start would compile the framework.
	bytecode, err := filepath.Abs("../../bin/python/bytecode")
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "PORT=" + port, "PYTHONPYCACHEPREFIX=" + bytecode,
		"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_KEY=" + modelKey, "MODEL=stub",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost",
		"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "no_proxy=127.0.0.1,localhost",
	}
}

// python returns the interpreter that has the pinned packages of an example.
func python(t *testing.T, example string) string {
	t.Helper()
	return pyenv.Python(t, examplePath(example, "requirements.txt"))
}

var (
	entrypoint = regexp.MustCompile(`(?m)^CMD (\[.*\])$`)
	variables  = regexp.MustCompile(`(?m)^ENV (.*)$`)
)

// startProgram runs an example's program with the command and the variables of its
// Dockerfile, and returns its URL. env overrides environment.
func startProgram(t *testing.T, example string, m *model, env ...string) string {
	t.Helper()
	interpreter := python(t, example)
	dockerfile := readExample(t, example, "Dockerfile")
	var args []string
	found := entrypoint.FindStringSubmatch(dockerfile)
	if found == nil || json.Unmarshal([]byte(found[1]), &args) != nil || args[0] != "python" {
		t.Fatalf("examples/%s/Dockerfile has no CMD that runs python", example)
	}
	address := freeport.Address(t)
	_, port, _ := strings.Cut(address, ":")
	command := exec.CommandContext(t.Context(), interpreter, args[1:]...)
	command.Dir = examplePath(example)
	for _, set := range variables.FindAllStringSubmatch(dockerfile, -1) {
		command.Env = append(command.Env, strings.Fields(set[1])...)
	}
	command.Env = append(append(command.Env, environment(t, m.URL, port)...), env...)
	programs.Serve(t, command, address, startTimeout)
	return "http://" + address
}

// startSidecar runs the sidecar with the flags of examples/model-server/README.md,
// and returns its URL. retry sets onInterruption to Retry. The test fails if the
// sidecar logs the key.
func startSidecar(t *testing.T, backend, key string, retry bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api-key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	args := []string{
		"--backend-url", backend, "--backend-protocol", "ChatCompletions", "--model-name", "stub", "--model-api-key-file", file,
		"--listen", address, "--card", examplePath("card.yaml"), "--anonymous",
	}
	if retry {
		args = append(args, "--on-interruption", "Retry")
	}
	log := programs.Serve(t, exec.CommandContext(t.Context(), programs.Path("cmd/sidecar"), args...), address, startTimeout)
	t.Cleanup(func() {
		if strings.Contains(log.String(), key) {
			t.Error("the log of the sidecar contains the key of the model")
		}
	})
	return "http://" + address
}

// examplePath returns the path of a file of examples/.
func examplePath(path ...string) string {
	return filepath.Join(append([]string{"..", "..", "examples"}, path...)...)
}

// readExample returns the text of a file of examples/.
func readExample(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(examplePath(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
