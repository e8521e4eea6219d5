// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/pyenv"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// environment returns the interpreter of the virtual environment that has
// python/requirements/NAME.txt installed, or skips the test and says why.
func environment(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("Python programs are not run with -short")
	}
	return pyenv.Python(t, filepath.Join("python", "requirements", name+".txt"))
}

// pythonSDKs are the SDKs on PyPI, with the versions and bindings that they support.
var pythonSDKs = []pythonSDK{
	{"a2a-sdk 1.3.0", "a2a-1", "v10", []pythonRow{
		{"1.0", "JSON-RPC"}, {"1.0", "REST"}, {"1.0", "gRPC"}, {"0.3", "JSON-RPC"}, {"0.3", "REST"}, {"0.3", "gRPC"},
	}},
	{"a2a-sdk 0.3.26", "a2a-0.3", "v03", []pythonRow{{"0.3", "JSON-RPC"}, {"0.3", "REST"}, {"0.3", "gRPC"}}},
}

type (
	pythonSDK struct {
		client, environment, driver string
		rows                        []pythonRow
	}
	pythonRow struct{ protocol, binding string }
)

// job is a sidecar with which driver.py plays the scenario.
type job struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Binding  string `json:"binding"`
	URL      string `json:"url"`
	Control  string `json:"control"`
	Webhook  string `json:"webhook"`
	// Scheme is the name of the security scheme of the card for which the client
	// has a credential.
	Scheme     string `json:"scheme"`
	Credential string `json:"credential"`
}

// report is the result of an operation in a driver of another language.
type report struct {
	Job       string `json:"job"`
	Operation string `json:"operation"`
	Got       string `json:"got"`
	// Class is the class of the error as classify returns it, "" for none.
	Class string `json:"class"`
	Error string `json:"error"`
}

// playSDK performs every operation with the clients of a Python SDK, with a bearer
// token and with an API key. The sidecars refuse calls without a credential. The matrix
// contains the results with the bearer token.
func playSDK(t *testing.T, sdk *pythonSDK, add func(row)) {
	t.Helper()
	program := environment(t, sdk.environment)
	var jobs []job
	for _, r := range sdk.rows {
		for _, scheme := range []string{"kubernetes", "apiKey"} {
			s := newScenarioWith(t, sidecartest.WithAPIKey(t), sidecartest.WithoutAnonymous)
			j := job{
				Name: r.protocol + " " + r.binding + " " + scheme, Protocol: r.protocol, Binding: r.binding,
				URL: s.url, Control: s.control, Webhook: sidecartest.Webhook, Scheme: scheme, Credential: sidecartest.APIKey,
			}
			if scheme == "kubernetes" {
				j.Credential = s.token
			}
			jobs = append(jobs, j)
		}
	}
	found := playPython(t, program, sdk.driver, jobs)
	for _, j := range jobs {
		r := row{Client: sdk.client, Protocol: j.Protocol, Binding: j.Binding, Cells: map[string]string{}}
		t.Run(j.Name, func(t *testing.T) {
			r.take(t, found[j.Name])
		})
		if j.Scheme == "kubernetes" {
			add(r)
		}
	}
}

// take judges the reports of a driver, by operation.
func (r *row) take(t *testing.T, reports map[string]report) {
	t.Helper()
	for _, o := range operations {
		one, ok := reports[o.name]
		if !ok {
			one.Class, one.Error = unknown, "the driver does not report the operation"
		}
		var err error
		if one.Error != "" {
			err = errors.New(one.Error)
		}
		r.Cells[o.name] = judge(t, r, o.name, o.want, one.Got, one.Class, err)
	}
}

// playPython runs the driver through all jobs, one after the other.
func playPython(t *testing.T, program, driver string, jobs []job) map[string]map[string]report {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "-u", "driver.py", driver)
	command.Dir = "python"
	command.Stdin = bytes.NewReader(in)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("driver: %v\n%s", err, stderr.String())
	}
	found := map[string]map[string]report{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var one report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("driver wrote %q: %v", lines.Text(), err)
		}
		if found[one.Job] == nil {
			found[one.Job] = map[string]report{}
		}
		found[one.Job][one.Operation] = one
	}
	return found
}
