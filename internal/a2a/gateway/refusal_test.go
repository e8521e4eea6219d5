// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestRejectionsAreJSON checks the errors of the gateway for requests that are not for an
// agent.
func TestRejectionsAreJSON(t *testing.T) {
	tests := map[string]struct {
		method, path string
		headers      []string
		status       int
		code         string
	}{
		"foreign origin":   {"GET", "/registry/v1/agents", []string{"Origin", "https://evil.example"}, 403, "PermissionDenied"},
		"rebound name":     {"GET", "/", []string{"Host", "evil.example"}, 403, "PermissionDenied"},
		"written registry": {"POST", "/registry/v1/agents", nil, 405, "MethodNotAllowed"},
		"no agent's name":  {"GET", "/agents/team", nil, 404, "NotFound"},
		"no endpoint":      {"GET", "/metrics", nil, 404, "NotFound"},
		"no MCP server":    {"POST", MCPPath, nil, 404, "NotFound"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, ok)
			response, body := c.do(t, test.method, test.path, "", test.headers...)
			var got struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%d %s: %v", response.StatusCode, body, err)
			}
			if response.StatusCode != test.status || got.Error.Code != test.code || got.Error.Message == "" || response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s %s", response.StatusCode, response.Header.Get("Content-Type"), body)
			}
		})
	}
}

// TestRejectionsHaveTheFormOfTheProtocol checks that Options.Deny answers with the path
// that the agent would see.
func TestRejectionsHaveTheFormOfTheProtocol(t *testing.T) {
	c := newCluster(t, ok)
	response, body := c.do(t, "POST", "/agents/team/echo/tasks/1", "{}", "Origin", "https://evil.example")
	if want := "/tasks/1: " + refusalNotLocal.message; response.StatusCode != http.StatusForbidden || body != want {
		t.Errorf("%d %s, want %s", response.StatusCode, body, want)
	}
}

// TestDNSTimeoutIsNotReportedAsAMissingAgent distinguishes a name that does not exist
// from a name server that does not respond. Only the second failure is worth a retry.
func TestDNSTimeoutIsNotReportedAsAMissingAgent(t *testing.T) {
	lookup := func(e net.DNSError) error { return &net.OpError{Op: "dial", Err: &e} }
	for name, test := range map[string]struct {
		err   error
		text  string
		retry bool
	}{
		"no such name": {lookup(net.DNSError{IsNotFound: true}), "Agent team/a has no Service: its name does not resolve; see the conditions of the Agent", false},
		"timeout":      {lookup(net.DNSError{IsTimeout: true, IsTemporary: true}), "Agent team/a cannot be looked up: the DNS of the cluster does not answer; try again", true},
		// The resolver may report a timeout and a missing name together, if only one of its
		// queries was answered.
		"timeout of one query": {lookup(net.DNSError{IsTimeout: true, IsNotFound: true}), "Agent team/a cannot be looked up: the DNS of the cluster does not answer; try again", true},
		"failing server":       {lookup(net.DNSError{IsTemporary: true}), "Agent team/a cannot be looked up: the DNS of the cluster does not answer; try again", true},
	} {
		problem := explain("Agent team/a", test.err)
		if problem.Message != test.text || problem.Reason != "UNAVAILABLE" || problem.RetryAfter > 0 != test.retry {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}

// TestFailuresOfTheRegistryHaveTheirCause has lookups that fail for different causes.
func TestFailuresOfTheRegistryHaveTheirCause(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Err: err} }
	for name, test := range map[string]struct {
		err  error
		text string
	}{
		"no such name":  {dial(&net.DNSError{IsNotFound: true, Name: "registry.example"}), "its name registry.example does not resolve"},
		"no DNS":        {dial(&net.DNSError{IsTimeout: true}), "the DNS of the cluster does not answer"},
		"refused":       {dial(syscall.ECONNREFUSED), "no pod of the manager is ready"},
		"silence":       {context.DeadlineExceeded, "does not answer in time; a NetworkPolicy may drop the connection"},
		"refused token": {statusError(http.StatusUnauthorized), "does not accept the ServiceAccount token of this pod"},
		"too many":      {statusError(http.StatusTooManyRequests), "too many requests"},
		"failure":       {statusError(http.StatusServiceUnavailable), "answers with status 503"},
		"certificate":   {x509.UnknownAuthorityError{}, "cannot be trusted"},
		"other":         {io.EOF, "does not answer; try again"},
	} {
		problem := explain("Agent team/a", fmt.Errorf("%w: %w", errRegistry, test.err))
		if problem.Reason != "UNAVAILABLE" || !strings.HasPrefix(problem.Message, "Agent team/a was not called, because the registry") || !strings.Contains(problem.Message, test.text) {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}
