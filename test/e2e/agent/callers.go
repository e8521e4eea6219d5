// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callers is an MCP server whose tool whoami says for whom it is called, and by which agent.
func callers() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "callers", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "whoami", Description: "Says who calls", InputSchema: json.RawMessage(`{"type":"object"}`)}
	server.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("X-Verified-Caller")}}}, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// tokenVerifier admits requests with a token of the registry for the audience, as docs/how-to/on-behalf-of.md describes it.
type tokenVerifier struct {
	keys, audience string
	next           http.Handler
}

// ServeHTTP implements http.Handler.
func (v tokenVerifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := v.verify(r)
	if err != nil {
		log.Printf("refuse a call: %v", err)
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	r.Header.Set("X-Verified-Caller", caller)
	v.next.ServeHTTP(w, r)
}

// verify returns the subject of the token and the agent that acts for it.
func (v tokenVerifier) verify(r *http.Request) (string, error) {
	bearer, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return "", errors.New("no token")
	}
	token, err := jwt.ParseSigned(bearer, []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.keys, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var keys jose.JSONWebKeySet
	if err := json.NewDecoder(response.Body).Decode(&keys); err != nil {
		return "", err
	}
	var claims struct {
		jwt.Claims

		Act struct {
			Sub string `json:"sub"`
		} `json:"act"`
	}
	if err := token.Claims(keys, &claims); err != nil {
		return "", err
	}
	expected := jwt.Expected{Issuer: "a2a-operator.dev/registry", AnyAudience: jwt.Audience{v.audience}, Time: time.Now()}
	if err := claims.Validate(expected); err != nil {
		return "", err
	}
	return claims.Subject + " by " + claims.Act.Sub, nil
}
