//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"
	"syscall"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("kubectl a2a chat in a terminal", func() {
	It("shows an answer, continues after a question, and leaves", func(ctx SpecContext) {
		ns := namespace(ctx)
		expectReady(ctx, create(ctx, newAgent(ns, "echo")))
		user := newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, requestToken})
		command := user.command(ctx, "chat", "echo")
		keys, err := pty.StartWithSize(command, &pty.Winsize{Rows: 40, Cols: 100})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			_ = command.Process.Signal(syscall.SIGKILL)
			_ = keys.Close()
		})
		var mu sync.Mutex
		emulator := vt10x.New(vt10x.WithSize(100, 40), vt10x.WithWriter(keys))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for buffer := make([]byte, 4096); ; {
				n, err := keys.Read(buffer)
				if err != nil {
					return
				}
				mu.Lock()
				_, _ = emulator.Write(buffer[:n])
				mu.Unlock()
			}
		}()
		screen := func() string {
			mu.Lock()
			defer mu.Unlock()
			return emulator.String()
		}
		say := func(text string) {
			GinkgoHelper()
			_, err := keys.WriteString(text)
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, screen).Should(ContainSubstring(text), "the text is in the input")
			_, err = keys.WriteString("\r")
			Expect(err).NotTo(HaveOccurred())
		}

		Eventually(ctx, screen).Should(ContainSubstring("echo"))
		say("stream 3 50ms")
		Eventually(ctx, screen).Should(ContainSubstring("chunk-2"))
		say("ask")
		Eventually(ctx, screen).Should(ContainSubstring("Which one?"))
		say("the blue one")
		say("/task")
		Eventually(ctx, screen).Should(ContainSubstring("completed"))
		say("/quit")
		Eventually(ctx, ended).Should(BeClosed())
		Expect(command.Wait()).To(Succeed())
	})
})
