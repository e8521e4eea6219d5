// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redistest runs a real redis-server, or valkey-server, for tests.
package redistest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// Server is a Redis of one test.
type Server struct {
	t       testing.TB
	dir     string
	address string
	args    []string
	process *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
}

// Program returns the path of redis-server. bin/redis-server is in the current directory or above it, because a test runs in the
// directory of its package.
func Program() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path, err := exec.LookPath(filepath.Join(dir, "bin", "redis-server")); err == nil {
			return path, nil
		}
	}
	return "", errors.New("redis-server is not in PATH: make redis-server installs it")
}

// Start runs a server in an empty directory until the end of the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := &Server{t: tb, dir: tb.TempDir(), address: freeport.Address(tb), args: args}
	s.Run()
	tb.Cleanup(s.Kill)
	return s
}

// Address returns the address of the server.
func (s *Server) Address() string { return s.address }

// Run starts the process and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	args := append([]string{
		"--port", port, "--bind", host, "--dir", s.dir, "--save", "", "--logfile", filepath.Join(s.dir, "log"),
	}, s.args...)
	program, err := Program()
	if err != nil {
		s.t.Fatal(err) // not a skip, because the tests of the package test nothing without a server
	}
	s.process = exec.Command(program, args...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func() { _ = s.process.Wait(); close(ended) }()
	deadline := time.After(10 * time.Second)
	for {
		c, err := net.Dial("tcp", s.Address())
		if err == nil {
			_, _ = c.Write([]byte("PING\r\n"))
			answer := make([]byte, 5)
			n, _ := c.Read(answer)
			_ = c.Close()
			// A server that requires a password is up, too.
			if got := string(answer[:n]); got == "+PONG" || got == "-NOAU" {
				return
			}
		}
		select {
		case <-ended:
			s.t.Fatalf("redis-server ended: %s", s.log())
		case <-deadline:
			s.t.Fatalf("redis-server does not answer: %s", s.log())
		case <-time.After(5 * time.Millisecond): // the server does not signal that it is ready
		}
	}
}

func (s *Server) log() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return text
}

// Signal sends a signal to the process, such as SIGSTOP.
func (s *Server) Signal(signal os.Signal) error { return s.process.Process.Signal(signal) }

// Kill ends the process like a crash.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.ended
		s.process = nil
	}
}

// Hang stops the process: it keeps its connections, and answers nothing until Continue.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Continue ends Hang.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(which syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(which); err != nil {
		s.t.Errorf("signal redis-server: %v", err)
	}
}

// Durable are the settings with which acknowledged writes survive a crash.
var Durable = []string{"--appendonly", "yes", "--appendfsync", "always"}
