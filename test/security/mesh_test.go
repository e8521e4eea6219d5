// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// inNamespace is the variable of the process of TestPreStopBehindAMesh in a network namespace of its own.
const inNamespace = "A2A_TEST_MESH"

// TestPreStopBehindAMesh emulates a mesh with mutual TLS: in a network namespace, which stands for that of a pod, iptables resets each connection to
// the health port of the sidecar that does not come from inside of the pod. The request of the kubelet then fails, and the hook of kind Exec
// waits for the turn that runs.
func TestPreStopBehindAMesh(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root creates network namespaces")
	}
	for _, name := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	if os.Getenv(inNamespace) != "" {
		preStopBehindAMesh(t)
		return
	}
	program := programs.Path("cmd/sidecar")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPreStopBehindAMesh$", "-test.v")
	child.Env = append(os.Environ(), inNamespace+"="+program)
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	output, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS") {
		t.Errorf("%v\n%s", err, output)
	}
}

func preStopBehindAMesh(t *testing.T) {
	t.Helper()
	const pod = "10.99.0.1"
	for _, command := range []string{
		"ip link set lo up", "ip address add " + pod + "/32 dev lo",
		"iptables -A INPUT -p tcp --dport 8642 ! -d 127.0.0.1 -j REJECT --reject-with tcp-reset",
	} {
		words := strings.Fields(command)
		if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, output)
		}
	}
	begun := make(chan struct{})
	finish := make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(agent.Close)
	dir, err := os.MkdirTemp("/tmp", "mesh-") //nolint:usetesting // the parent of t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// As an emptyDir, the folder is open to all users of the pod.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	card := filepath.Join(dir, "card.yaml")
	if err := os.WriteFile(card, []byte("displayName: Echo\ndescription: d\nversion: \"1\"\nskills: [{id: s, name: S, description: d, tags: [t]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	sidecar := exec.Command(os.Getenv(inNamespace), "--backend-url", agent.URL, "--card", card, "--anonymous", "--listen", address, "--health-listen", ":8642", "--hook-dir", dir)
	sidecar.Stderr = os.Stderr
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sidecar.Process.Signal(syscall.SIGTERM)
		if err := sidecar.Wait(); err != nil {
			t.Errorf("the sidecar ends with %v", err)
		}
	})
	answer := make(chan string, 1)
	go func() {
		const message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m-1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`
		for {
			response, err := http.Post("http://"+address+"/", "application/json", strings.NewReader(message))
			if err != nil {
				time.Sleep(20 * time.Millisecond) // the sidecar does not listen yet
				continue
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			answer <- string(text)
			return
		}
	}()
	<-begun

	if response, err := http.Get("http://" + pod + ":8642/drained"); err == nil {
		_ = response.Body.Close()
		t.Errorf("the mesh admits the request of the kubelet: %s", response.Status)
	}

	var finished atomic.Bool
	hook := exec.Command(filepath.Join(dir, "sidecar"), "drain")
	hook.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
	ended := make(chan error, 1)
	early := make(chan bool, 1)
	go func() {
		output, err := hook.CombinedOutput()
		if err != nil {
			t.Logf("hook: %s", output)
		}
		early <- !finished.Load()
		ended <- err
	}()
	// The sidecar is ready until it drains and refuses turns, for which it waits half of the time of the drain.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get("http://127.0.0.1:8642/readyz")
		if err == nil {
			_ = response.Body.Close()
		}
		if err != nil || response.StatusCode != http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the hook does not begin the drain")
		}
	}
	finished.Store(true)
	close(finish)
	if text := <-answer; !strings.Contains(text, "hello") || !strings.Contains(text, `"completed"`) {
		t.Errorf("the turn that ran ends with %s", text)
	}
	if <-early {
		t.Error("the hook returned while the turn ran")
	}
	if err := <-ended; err != nil {
		t.Errorf("the hook ends with %v", err)
	}
}
