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
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// TestSidecarHasAnyUser runs a sidecar as a user that no file of its system names, with the group 0, as OpenShift runs
// the pods of a namespace. It answers a message, and drains.
func TestSidecarHasAnyUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs a program as another user")
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	}))
	defer agent.Close()
	program, err := os.ReadFile(programs.Path("cmd/sidecar"))
	if err != nil {
		t.Fatal(err)
	}
	// The user may read neither the folder of the programs nor that of the test.
	dir, err := os.MkdirTemp("/tmp", "any-user-") //nolint:usetesting // the parent of t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	write := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	card := write("card.yaml", []byte("displayName: Echo\ndescription: d\nversion: \"1\"\nskills: [{id: s, name: S, description: d, tags: [t]}]\n"), 0o644)
	address := freeport.Address(t)
	health := freeport.Address(t)
	sidecar := exec.Command(write("sidecar", program, 0o755), "--backend-url", agent.URL, "--card", card, "--anonymous", "--listen", address, "--health-listen", health)
	sidecar.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000700000, Gid: 0, NoSetGroups: false}}
	var log strings.Builder
	sidecar.Stderr = &log
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sidecar.Wait() }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(url, body string) (status int, text string) {
		response, err := client.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		all, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(all)
	}
	const message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m-1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, text := post("http://"+address+"/", message)
		if status == http.StatusOK && strings.Contains(text, "hello") {
			break
		}
		if time.Now().After(deadline) {
			_ = sidecar.Process.Kill()
			_ = <-ended //nolint:staticcheck // errcheck wants it
			t.Fatalf("%d %s\n%s", status, text, log.String())
		}
	}
	if status, text := post("http://"+health+"/drain", ""); status != http.StatusOK {
		t.Errorf("drain: %d %s", status, text)
	}
	_ = sidecar.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("the sidecar ends with %v\n%s", err, log.String())
	}
}
