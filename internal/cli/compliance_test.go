// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirements are the identifiers of the a2a-cli specification 0.2 (COMPLIANCE.md), by tier.
const requirements = `CARD_GET_001 SEND_001 SEND_002 SEND_003 SEND_004 SEND_005 SEND_006 TASK_GET_001 TASK_CANCEL_001
	INTERACT_001 INTERACT_002 INTERACT_003 INTERACT_004 INTERACT_005 TASK_POLL_001 TASK_POLL_002 TASK_POLL_003 TASK_POLL_004
	OUT_001 OUT_002 OUT_003 OUT_004 OUT_005 OUT_006 EXIT_001 EXIT_002 AUTH_001 AUTH_002 AUTH_003 AUTH_004 TX_001 TX_002 TX_003 VER_001
	DEFAULT_001 CONFIG_001 CLI_001 SKILL_001 SKILL_002
	CARD_GET_002 TASK_LIST_001 TASK_SUBSCRIBE_001 TASK_SUBSCRIBE_002 AUTH_005 AUTH_006 AUTH_007 TX_004 VER_003 CONFIG_002
	DOWNLOAD_001 OUT_007 CONFORM_001 CLI_002 PUSH_001
	CARD_GET_003 AUTH_008 CARD_GET_004 CARD_GET_005 PUSH_002 CHAT_001 TX_005 AUTH_009 AUTH_010 AUTH_011 DEMO_SERVER_001 VER_002`

func TestThePageOfComplianceHasEachRequirementWithItsTest(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/cli-compliance.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	inside, err := filepath.Glob("*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	client, err := filepath.Glob("../a2a/client/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.Concat(files, inside, client)
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	rows := regexp.MustCompile("(?m)^\\| `A2ACLI_([A-Z0-9_]+)`[^|]*\\|[^|]*\\| (pass|partial|fail|not measured|not applicable) \\| ([^|]+) \\|$").FindAllStringSubmatch(string(page), -1)
	seen := map[string]int{}
	for _, row := range rows {
		seen[row[1]]++
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(row[3], -1)
		if row[2] == "pass" && len(names) == 0 {
			t.Errorf("%s passes without a test", row[1])
		}
		for _, name := range names {
			if !strings.Contains(tests.String(), "\nfunc "+name[1]+"(") {
				t.Errorf("%s names the test %s, which does not exist", row[1], name[1])
			}
		}
	}
	all := strings.Fields(requirements)
	for _, each := range all {
		if seen[each] != 1 {
			t.Errorf("%s is there %d times", each, seen[each])
		}
	}
	if len(rows) != len(all) {
		t.Errorf("the page has %d requirements, want %d", len(rows), len(all))
	}
}

func TestCompletionScriptsAreWritten(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := run(t, "completion", shell); r.status != 0 || !strings.Contains(r.stdout, "kubectl") {
			t.Errorf("%s: status %d, %d bytes, %s", shell, r.status, len(r.stdout), r.stderr)
		}
	}
}

func TestCredentialsAreNotSentWithRequestsForCards(t *testing.T) {
	var server *httptest.Server
	var called bool
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authorization := r.Header.Get("Authorization"); r.Method == http.MethodGet && authorization != "" {
			t.Errorf("the request for the card has the credential %s", authorization)
		} else if r.Method == http.MethodPost {
			called = authorization == "Bearer secret"
		}
		answering(func() string { return server.URL })(w, r)
	}))
	defer server.Close()
	if r := run(t, "send", "--url", server.URL, "x", "--bearer", "secret"); r.status != 0 || !called {
		t.Errorf("%+v", r)
	}
}

func TestAClientCertificateIsPresented(t *testing.T) {
	var server *httptest.Server
	presented := 0
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented += len(r.TLS.PeerCertificates)
		answering(func() string { return server.URL })(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	certificate, key := selfSigned(t)
	r := run(t, "send", "--url", server.URL, "x", "--ca-file", authorityOf(t, server), "--cert-file", certificate, "--key-file", key)
	if r.status != 0 || presented == 0 {
		t.Errorf("%+v", r)
	}
	if r := run(t, "send", "--url", server.URL, "x", "--ca-file", authorityOf(t, server)); r.status != 3 || !strings.Contains(r.stderr, "A2ACLI_ERR_UNREACHABLE") {
		t.Errorf("%+v", r)
	}
}

func TestChatContinuesATaskAfterAnAuthorization(t *testing.T) {
	setTerminal(t)
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, text string) {
		if text == "Pay" {
			writeEvents(w, paintingTask, `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Approve at https://bank.example"}]}}}}`)
			return
		}
		writeEvents(w, paintingTask, paintingDone)
	})
	s := runOnTerminal(t, 80, 24, "chat", "--url", u, "Pay")
	s.await(t, "Approve at https://bank.example", "The agent waits for an authorization")
	s.press(t, "done", keyEnter)
	s.await(t, "is completed.")
	s.press(t, keyCtrlD)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

// TestEachClassOfFaultHasItsStatusAndItsCure covers the faults that need no cluster. cluster_test.go covers missing
// rights.
func TestEachClassOfFaultHasItsStatusAndItsCure(t *testing.T) {
	serve := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	huge := serve(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"`+strings.Repeat("x", 2<<20)+`"}`)
	})
	page := serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	locked := serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	loop := serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	downgrade := httptest.NewTLSServer(answering(func() string { return "http://agent.example" }))
	t.Cleanup(downgrade.Close)
	for name, test := range map[string]struct {
		args       []string
		status     int
		code, cure string
	}{
		"no cluster":                   {[]string{"send", "echo", "x"}, 3, "A2ACLI_ERR_UNREACHABLE", "kubeconfig"},
		"no such host":                 {[]string{"send", "--url", "http://nowhere.invalid", "x"}, 3, "A2ACLI_ERR_UNREACHABLE", "check the name"},
		"a card of megabytes":          {[]string{"card", "get", "--url", huge}, 1, "A2ACLI_ERR_CARD_INVALID", "more than"},
		"a page that is no card":       {[]string{"card", "get", "--url", page}, 1, "A2ACLI_ERR_CARD_INVALID", "name the URL of the agent"},
		"a card behind a login":        {[]string{"card", "get", "--url", locked}, 3, "A2ACLI_ERR_CARD_NOT_FOUND", "save the card to a file"},
		"redirects without an end":     {[]string{"card", "get", "--url", loop}, 3, "A2ACLI_ERR_CARD_NOT_FOUND", "name the URL of the card"},
		"a credential without TLS":     {[]string{"send", "--url", downgrade.URL, "--ca-file", authorityOf(t, downgrade), "--bearer", "x", "--credential-origin", "http://agent.example", "x"}, 1, "A2ACLI_ERR_CARD_INVALID", "would show the credential"},
		"a chat without a terminal":    {[]string{"chat", "--url", page}, 2, "A2ACLI_ERR_USAGE", "name a text"},
		"a file that does not exist":   {[]string{"send", "--url", page, "--file", "/nonexistent"}, 2, "A2ACLI_ERR_USAGE", "/nonexistent"},
		"a version that is unknown":    {[]string{"send", "--url", downgrade.URL, "--ca-file", authorityOf(t, downgrade), "--a2a-version", "9", "x"}, 2, "A2ACLI_ERR_USAGE", "use 0.1"},
		"a client certificate, no key": {[]string{"send", "--url", page, "--cert-file", "/nonexistent", "x"}, 2, "A2ACLI_ERR_USAGE", "--key-file"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.args...)
			if r.status != test.status || !strings.Contains(r.stderr, "Code: "+test.code) || !strings.Contains(r.stderr, test.cure) {
				t.Errorf("want status %d, %s and %q, got %s", test.status, test.code, test.cure, fmt.Sprintf("%+v", r))
			}
		})
	}
}
