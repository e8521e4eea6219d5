// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// card reads echo's card, which is public.
func (d *demo) card(ctx context.Context) error {
	url, stop, err := forward(ctx, d.namespace, "echo")
	if err != nil {
		return err
	}
	defer stop()
	var cards [][]byte
	for _, path := range []string{"/.well-known/agent.json", "/.well-known/agent-card.json"} {
		status, body, err := fetch(ctx, url+path, "")
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("GET %s: %d %s", path, status, body)
		}
		fmt.Printf("  GET %-29s 200, %d bytes\n", path, len(body))
		cards = append(cards, body)
	}
	if !bytes.Equal(cards[0], cards[1]) {
		return errors.New("the two cards differ")
	}
	var card map[string]any
	if err := json.Unmarshal(cards[0], &card); err != nil {
		return fmt.Errorf("read card: %w", err)
	}
	short := map[string]any{}
	for _, member := range []string{"name", "protocolVersion", "url", "supportedInterfaces", "capabilities"} {
		short[member] = card[member]
	}
	var skills []string
	for _, skill := range card["skills"].([]any) {
		skills = append(skills, skill.(map[string]any)["id"].(string))
	}
	short["skills"] = skills
	out, err := json.MarshalIndent(short, "", "  ")
	fmt.Println("\n  In short (its own skill, one by name, one by label):")
	indent(string(out))
	return err
}

// refused calls echo without a credential.
func (d *demo) refused(ctx context.Context) error {
	url, stop, err := forward(ctx, d.namespace, "echo")
	if err != nil {
		return err
	}
	defer stop()
	response, err := call(ctx, http.MethodPost, url+"/", "", rpc("message/send", "", "Hello"))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("message/send without a token: %s, want 401", response.Status)
	}
	fmt.Printf("  POST / message/send   %s\n  WWW-Authenticate: %s\n", response.Status, response.Header.Get("WWW-Authenticate"))
	return nil
}

// stream calls echo with a token that only echo accepts.
func (d *demo) stream(ctx context.Context) error {
	token, err := d.token(ctx, "echo."+d.namespace+".a2a-operator.dev")
	if err != nil {
		return err
	}
	url, stop, err := forward(ctx, d.namespace, "echo")
	if err != nil {
		return err
	}
	defer stop()
	const text = "Every word of this arrives as soon as the agent has said it"
	c, err := converse(ctx, url, token, "", text)
	if err != nil {
		return err
	}
	if c.state != "completed" || c.text != text || c.chunks < 2 {
		return fmt.Errorf("echo answered %q in %d chunks, task %s", c.text, c.chunks, c.state)
	}
	return nil
}

// research asks the researcher, answers its question, and waits for its report.
func (d *demo) research(ctx context.Context) error {
	token, err := d.token(ctx, "researcher."+d.namespace+".a2a-operator.dev")
	if err != nil {
		return err
	}
	url, stop, err := forward(ctx, d.namespace, "researcher")
	if err != nil {
		return err
	}
	defer stop()
	asked, err := converse(ctx, url, token, "", "The history of tea")
	if err != nil {
		return err
	}
	if asked.state != "input-required" {
		return fmt.Errorf("the researcher did not ask: task %s", asked.state)
	}
	done, err := converse(ctx, url, token, asked.task, "In detail, please")
	if err != nil {
		return err
	}
	if done.state != "completed" || !strings.Contains(done.text, d.namespace+"/echo") {
		return fmt.Errorf("the researcher did not call echo: task %s, %q", done.state, done.text)
	}
	return nil
}
