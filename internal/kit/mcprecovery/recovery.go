// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcprecovery keeps a panic of the MCP library within the call or the message that caused it. The library dereferences parts of
// messages that the other side may leave out.
package mcprecovery

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Recover sets err if the function that defers it panics.
func Recover(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("the MCP library cannot read what the other side sent: %v", cause)
	}
}

// Handler is a middleware for the messages that a client or a server receives. The library handles them in goroutines of its own.
func Handler(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer Recover(&err)
		return next(ctx, method, r)
	}
}
