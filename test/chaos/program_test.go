// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

// root is the root of the repository.
var root = filepath.Join("..", "..")

// version is a version of the repository: its manager and its CRDs.
type version struct {
	name    string
	manager string
	crds    string
}

// build returns the version of a git ref. If ref is "", it returns the version of the working tree, whose manager was
// built before the tests.
func build(t *testing.T, ref string) version {
	t.Helper()
	if ref == "" {
		return version{name: "the working tree", manager: programs.Path("cmd/manager"), crds: filepath.Join(root, "config", "crd", "bases")}
	}
	dir, name := t.TempDir(), command(t, root, "git", "log", "-1", "--format=%h (%s)", ref)
	archive := exec.CommandContext(t.Context(), "git", "archive", ref)
	archive.Dir = root
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := unpack.Start(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Run(); err != nil {
		t.Fatalf("git archive %s: %v", ref, err)
	}
	if err := unpack.Wait(); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "manager")
	command(t, dir, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/manager")
	return version{name: name, manager: program, crds: filepath.Join(dir, "config", "crd", "bases")}
}

// command returns the output of a program.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// process is a manager that runs as a program.
type process struct {
	*exec.Cmd
	// exited is closed when the process has ended.
	exited chan struct{}
	output lockedBuffer
}

// lockedBuffer is the output of a program so far.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the output.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run starts the manager of a version. Its requests to the API server pass the transport that the function between
// returns.
func (v version) run(t *testing.T, namespace string, between func(next http.RoundTripper) http.RoundTripper, flags ...string) *process {
	t.Helper()
	next, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: between(next),
		// Watches are forwarded without a buffer.
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	args := append([]string{
		"--kubeconfig", kubeconfig(t, proxy.URL), "--sidecar-image", "example/sidecar:1",
		"--registry-bind-address", "0", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}, flags...)
	// Older managers serve all namespaces.
	help, _ := exec.CommandContext(t.Context(), v.manager, "--help").CombinedOutput()
	if bytes.Contains(help, []byte("watch-namespaces")) {
		args = append(args, "--watch-namespaces", namespace)
	}
	p := &process{Cmd: exec.Command(v.manager, args...), exited: make(chan struct{})}
	p.Stdout, p.Stderr = &p.output, &p.output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.Wait()
	}()
	t.Cleanup(func() {
		p.end()
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return p
}

// end sends SIGTERM to the process and waits for it.
func (p *process) end() {
	_ = p.Process.Signal(syscall.SIGTERM)
	_ = p.Process.Signal(syscall.SIGCONT)
	<-p.exited
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
