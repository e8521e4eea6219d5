// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestPythonClientSignsIn lets a2a-sdk, with its own interceptor, get a token of a real issuer by the client credentials flow on the card, and call
// the agent. A token without the scope calls nothing.
func TestPythonClientSignsIn(t *testing.T) {
	program := environment(t, "a2a-1")
	issuer := startIssuer(t, "researcher")
	principals := make(chan string, 2)
	agent := sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		sidecartest.TextAgent(w, r)
	}, withSignIn(issuer, "researcher")).URL
	type result struct{ Endpoint, Scheme, Error string }
	send := func(scope string) (got result) {
		command := exec.CommandContext(t.Context(), program, "signin.py", agent, programID, programSecret, scope)
		command.Dir = "python"
		out, err := command.Output()
		if err != nil || json.Unmarshal(out, &got) != nil {
			t.Fatalf("signin.py: %v %s", err, out)
		}
		return got
	}
	got := send("call")
	for deadline := time.Now().Add(20 * time.Second); got.Error != "" && time.Now().Before(deadline); got = send("call") {
		time.Sleep(100 * time.Millisecond) // the sidecar fetches the keys of the issuer after its start
	}
	if want := (result{Endpoint: issuer + "/oauth/token", Scheme: "oauth2ClientCredentials"}); got != want {
		t.Fatalf("the client signs in with %+v, want %+v", got, want)
	}
	if got, want := <-principals, "jwt:"+issuer+"#"+programID; got != want {
		t.Errorf("the agent learns of %q, want %q", got, want)
	}
	if got := send("other"); !strings.Contains(got.Error, "403") {
		t.Errorf("without the scope: %+v", got)
	}
	if len(principals) != 0 {
		t.Error("the agent gets a call without the scope")
	}
}
