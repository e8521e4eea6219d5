// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"
)

// pageTimeout bounds the start of the page.
const pageTimeout = 30 * time.Second

// plugin returns a command of kubectl a2a, and prints its command line.
func (d *demo) plugin(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"a2a"}, args...)
	words := append([]string{"kubectl"}, args...)
	for i, word := range words {
		if strings.Contains(word, " ") {
			words[i] = `"` + word + `"`
		}
	}
	show(strings.Join(words, " ") + inNamespace(d.namespace))
	command := exec.CommandContext(ctx, "kubectl", append(args, "--namespace", d.namespace)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	return command
}

// send sends a message to echo with kubectl a2a, which requests the token and forwards the port itself.
func (d *demo) send(ctx context.Context) error {
	const text = "From a terminal, without a token by hand"
	command := d.plugin(ctx, "send", "echo", text)
	var out bytes.Buffer
	command.Stdout = io.MultiWriter(&out, &indented{to: os.Stdout})
	command.Stderr = os.Stderr
	fmt.Println()
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl a2a send: %w", err)
	}
	if !strings.Contains(out.String(), text) || !strings.Contains(out.String(), "State: completed") {
		return errors.New("kubectl a2a send did not print the answer of echo")
	}
	return nil
}

// page serves the page of the agents. On a terminal, it waits for Ctrl-C; otherwise it checks the page.
func (d *demo) page(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	command := d.plugin(ctx, "ui", "--no-browser", "--registry-namespace", d.operator)
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("kubectl a2a ui: %w", err)
	}
	defer func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	}()
	line := make(chan string, 1)
	go func() {
		address, _ := bufio.NewReader(out).ReadString('\n')
		line <- strings.TrimSpace(address)
	}()
	var address string
	select {
	case address = <-line:
	case <-starting.Done():
	}
	if address == "" {
		return fmt.Errorf("kubectl a2a ui printed no address: %s", failure.String())
	}
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Printf("\n  \033[1m%s\033[0m\n\n  Open it in a browser of this machine; it works once. Ctrl-C ends the page and the demo.\n", address)
		<-ctx.Done()
		return nil
	}
	status, body, err := fetch(ctx, address, "")
	if err != nil {
		return err
	}
	if status != http.StatusOK || !bytes.Contains(body, []byte("echo")) {
		return fmt.Errorf("GET %s: %d, and the page does not list echo", address, status)
	}
	fmt.Printf("\n  %s\n  lists the agents. On a terminal, the demo keeps the page open.\n", address)
	return nil
}

// indented writes lines with an indent.
type indented struct {
	to      io.Writer
	written bool
}

// Write implements io.Writer.
func (w *indented) Write(text []byte) (int, error) {
	for _, b := range text {
		if !w.written {
			if _, err := io.WriteString(w.to, "    "); err != nil {
				return 0, err
			}
		}
		if _, err := w.to.Write([]byte{b}); err != nil {
			return 0, err
		}
		w.written = b != '\n'
	}
	return len(text), nil
}
