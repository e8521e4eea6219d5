// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

const (
	// chatColumns and chatRows are the size of the terminal of the chat.
	chatColumns, chatRows = 100, 30
	// chatTimeout bounds the wait for a text on the screen of the chat.
	chatTimeout = time.Minute
)

// chat runs kubectl a2a chat with the researcher in a pseudo terminal. The agent asks a question, and chat answers with
// the next message.
func (d *demo) chat(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := d.plugin(ctx, "chat", "researcher")
	command.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1")
	c, err := startChat(command)
	if err != nil {
		return err
	}
	defer func() { _ = c.keys.Close() }()
	for _, step := range []struct{ await, say string }{
		{"/help helps.", "The history of tea"},
		{"The agent waits for your answer.", "Briefly, please"},
	} {
		if err := c.await(ctx, step.await); err != nil {
			return err
		}
		if err := c.say(step.say); err != nil {
			return err
		}
	}
	const end = "is completed."
	if err := c.await(ctx, end); err != nil {
		return err
	}
	fmt.Println()
	shown, _, _ := strings.Cut(c.screen.String(), end) // leave out the status line below, which may be outdated
	for row := range strings.Lines(shown + end) {
		fmt.Println("    " + strings.TrimRight(row, " \n"))
	}
	if !strings.Contains(shown, d.namespace+"/echo") {
		return errors.New("the researcher did not call echo")
	}
	if err := c.say("/quit"); err != nil {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(chatTimeout):
		cancel()
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("kubectl a2a chat: %w", err)
	}
	return nil
}

// chatTerminal is a pseudo terminal in which a chat runs, and an emulator that interprets its output.
type chatTerminal struct {
	keys   *os.File
	screen vt10x.Terminal
	// changed receives a value after a change of the screen. ended is closed when the chat has ended.
	changed, ended chan struct{}
}

func startChat(command *exec.Cmd) (*chatTerminal, error) {
	keys, err := pty.StartWithSize(command, &pty.Winsize{Rows: chatRows, Cols: chatColumns})
	if err != nil {
		return nil, fmt.Errorf("kubectl a2a chat: %w", err)
	}
	c := &chatTerminal{
		keys: keys, screen: vt10x.New(vt10x.WithSize(chatColumns, chatRows), vt10x.WithWriter(keys)),
		changed: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go func() {
		defer close(c.ended)
		for buffer := make([]byte, 4096); ; {
			n, err := keys.Read(buffer)
			if err != nil {
				return
			}
			_, _ = c.screen.Write(buffer[:n])
			select {
			case c.changed <- struct{}{}:
			default:
			}
		}
	}()
	return c, nil
}

// await waits until the screen has a text.
func (c *chatTerminal) await(ctx context.Context, text string) error {
	timeout := time.After(chatTimeout)
	for !strings.Contains(c.screen.String(), text) {
		select {
		case <-c.changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return fmt.Errorf("kubectl a2a chat ended without %q:\n%s", text, c.screen.String())
		case <-timeout:
			return fmt.Errorf("kubectl a2a chat shows no %q:\n%s", text, c.screen.String())
		}
	}
	return nil
}

// say types a line.
func (c *chatTerminal) say(text string) error {
	if _, err := c.keys.WriteString(text + "\r"); err != nil {
		return fmt.Errorf("kubectl a2a chat: %w", err)
	}
	return nil
}
