// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// server is a Redis of one test.
type server struct {
	t       testing.TB
	dir     string
	port    int
	args    []string
	process *exec.Cmd
}

// program returns where redis-server is. Without it nothing here is tested, so
// that is a failure.
func program(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"redis-server", "valkey-server", "../../../../bin/redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Fatal("redis-server is not in PATH: make redis-server installs it")
	return ""
}

// start runs a server in an empty directory. It ends with the test.
func start(tb testing.TB, args ...string) *server {
	tb.Helper()
	s := &server{t: tb, dir: tb.TempDir(), port: freePort(tb), args: args}
	s.run()
	tb.Cleanup(s.kill)
	return s
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// run starts the process and waits until it answers.
func (s *server) run() {
	s.t.Helper()
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--logfile", filepath.Join(s.dir, "log"),
	}, s.args...)
	s.process = exec.Command(program(s.t), args...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", s.address())
		if err == nil {
			_, _ = c.Write([]byte("PING\r\n"))
			answer := make([]byte, 5)
			n, _ := c.Read(answer)
			_ = c.Close()
			// It is up when it wants a password, too.
			if got := string(answer[:n]); got == "+PONG" || got == "-NOAU" {
				return
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server does not answer: %s", text)
		}
		time.Sleep(5 * time.Millisecond) // there is nothing to wait on
	}
}

// kill ends the process as a crash would.
func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// durable are the settings under which what was acknowledged outlives a crash.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

var agents atomic.Int64

// options are those of a new agent.
func (s *server) options() redis.Options {
	return redis.Options{
		Server: redis.Server{Addresses: []string{s.address()}},
		Prefix: "a2a:{test/" + strconv.FormatInt(agents.Add(1), 10) + "}:",
	}
}

// open opens a store that ends with the test.
func open(tb testing.TB, o redis.Options) *redis.Store {
	tb.Helper()
	s, err := redis.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
