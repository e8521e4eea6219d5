// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// gatewayPort is the port of a sidecar's gateway, which listens only on the loopback interface of the pod.
const gatewayPort = "8643"

// mcp calls echo with an MCP client, as an agent framework in the container of the researcher does.
func (d *demo) mcp(ctx context.Context) error {
	url, stop, err := forwardPort(ctx, d.namespace, "deployment/researcher", gatewayPort)
	if err != nil {
		return err
	}
	defer stop()
	begin := time.Now()
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			fmt.Printf("    %5.2f s  progress  %q\n", time.Since(begin).Seconds(), r.Params.Message)
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s/mcp: %w", url, err)
	}
	defer func() { _ = session.Close() }()

	texts, err := callTool(ctx, session, "find_agents", map[string]any{"q": "say my words back", "namespace": d.namespace, "limit": 1})
	if err != nil {
		return err
	}
	var found page
	if err := json.Unmarshal([]byte(texts[0]), &found); err != nil {
		return fmt.Errorf("read the result of find_agents: %w", err)
	}
	found.print()
	if len(found.Items) != 1 || found.Items[0].Name != "echo" {
		return fmt.Errorf("find_agents found %+v, want echo", found.Items)
	}

	begin = time.Now()
	agent, message := found.Items[0].Namespace+"/"+found.Items[0].Name, "A framework needs only its MCP client"
	texts, err = callTool(ctx, session, "call_agent", map[string]any{"agent": agent, "message": message})
	if err != nil {
		return err
	}
	for _, text := range texts {
		fmt.Printf("    %5.2f s  result    %s\n", time.Since(begin).Seconds(), text)
	}
	if texts[0] != message || !strings.Contains(texts[len(texts)-1], `"state":"completed"`) {
		return fmt.Errorf("call_agent returned %q", texts)
	}
	return nil
}

// callTool shows and makes a call of a tool, and returns the texts of its result.
func callTool(ctx context.Context, session *mcp.ClientSession, tool string, arguments map[string]any) ([]string, error) {
	shown, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	fmt.Printf("\n  tools/call %s %s\n\n", tool, shown)
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(tool)
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	switch {
	case result.IsError:
		return nil, fmt.Errorf("call %s: %s", tool, strings.Join(texts, " "))
	case len(texts) == 0:
		return nil, errors.New("call " + tool + ": the result has no text")
	}
	return texts, nil
}
