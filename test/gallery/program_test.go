// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/pyenv"
)

// selected skips a test of an example that GALLERY does not name.
func selected(t *testing.T, name string) {
	t.Helper()
	if names := strings.Fields(os.Getenv("GALLERY")); !slices.Contains(names, name) {
		t.Skipf("SKIPPED: GALLERY does not name %s; make gallery does", name)
	}
}

// environment is what a program of the gallery gets: the address and the key of
// the model, no telemetry, and no way beyond this machine.
func environment(t *testing.T, model, port string) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "PORT=" + port,
		"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_KEY=" + modelKey, "MODEL=stub",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost",
		"http_proxy=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "no_proxy=127.0.0.1,localhost",
	}
}

var (
	entrypoint = regexp.MustCompile(`(?m)^CMD (\[.*\])$`)
	variables  = regexp.MustCompile(`(?m)^ENV (.*)$`)
)

// start runs an example's program, as its Dockerfile does and with its pinned
// packages, and returns its URL.
func start(t *testing.T, name string, m *model, env ...string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "examples", name)
	python := pyenv.Python(t, filepath.Join(dir, "requirements.txt"))
	dockerfile, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	found := entrypoint.FindSubmatch(dockerfile)
	if found == nil || json.Unmarshal(found[1], &args) != nil || args[0] != "python" {
		t.Fatalf("%s/Dockerfile has no CMD that runs python", dir)
	}
	address := freeport.Address(t)
	_, port, _ := strings.Cut(address, ":")
	command := exec.CommandContext(t.Context(), python, args[1:]...)
	command.Dir = dir
	command.Env = append(append(environment(t, m.URL, port), "PYTHONDONTWRITEBYTECODE=1"), env...)
	for _, set := range variables.FindAllSubmatch(dockerfile, -1) {
		command.Env = append(strings.Fields(string(set[1])), command.Env...)
	}
	log := &logged{}
	command.Stdout, command.Stderr = log, log
	begin(t, command, log, address)
	return "http://" + address
}

// standalone runs the sidecar as the page of the model servers does, and returns
// its URL.
func standalone(t *testing.T, url, key string, retry bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api-key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	args := []string{
		"--backend-url", url, "--backend-protocol", "ChatCompletions", "--chat-model", "stub", "--chat-api-key-file", file,
		"--listen", address, "--card", "../../examples/card.yaml", "--anonymous",
	}
	if retry {
		args = append(args, "--on-interruption", "Retry")
	}
	command := exec.CommandContext(t.Context(), programs.Path("cmd/sidecar"), args...)
	log := &logged{}
	command.Stdout, command.Stderr = log, log
	begin(t, command, log, address)
	t.Cleanup(func() {
		if strings.Contains(log.String(), key) {
			t.Error("the log of the sidecar holds the key")
		}
	})
	return "http://" + address
}

// begin starts a server and waits until it listens. It ends with the test.
func begin(t *testing.T, command *exec.Cmd, log *logged, address string) {
	t.Helper()
	// The programs that it starts, such as MCP servers, end with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-exited
		if t.Failed() {
			t.Logf("%s wrote:\n%s", command.Args, log.String())
		}
	})
	listens(t, address, exited)
}

// listens returns when somebody listens at an address.
func listens(t *testing.T, address string, exited <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-exited:
			t.Fatal("the program ended before it listened")
		case <-ctx.Done():
			t.Fatalf("nothing listens at %s", address)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logged is the output of a program. It is safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
