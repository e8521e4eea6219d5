// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/rig"
)

// adkJob is an agent that client_adk.py talks to.
type adkJob struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// CA is the file with the authority of the agent's certificate.
	CA string `json:"ca"`
	// Resolve has host names that lead to the loopback.
	Resolve []string `json:"resolve"`
}

// TestPythonADKClient: google-adk's RemoteA2aAgent takes an agent by the URL of
// its card through the gateway, which is on its loopback. It takes cards only
// whose every URL is of the card's origin.
func TestPythonADKClient(t *testing.T) {
	program := environment(t, "adk")
	const path = "/.well-known/agent-card.json"
	jobs := []adkJob{
		{Name: "gateway", URL: newElsewhere(t, rig.Start(t, rig.Asks).URL).gateway(t) + path, Resolve: []string{}},
	}
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "-u", "client_adk.py")
	command.Dir, command.Stdin = "python", bytes.NewReader(in)
	command.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("client_adk.py: %v\n%s", err, stderr.String())
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var one struct{ Job, Got, Error string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("client_adk.py wrote %q: %v", line, err)
		}
		found[one.Job] = one.Got + one.Error
	}
	for _, j := range jobs {
		// The question comes as a function call, and the next message answers it.
		if got := found[j.Name]; got != "; That one" {
			t.Errorf("%s: got %q\n%s", j.Name, got, stderr.String())
		}
	}
}
