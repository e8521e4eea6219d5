// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// document is a file of the suite.
type document struct {
	ACTSVersion string         `json:"acts_version"`
	SpecVersion string         `json:"spec_version"`
	SpecRef     string         `json:"spec_ref"`
	Metadata    map[string]any `json:"metadata"`
	Suites      []struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Tests       []test   `json:"tests"`
	} `json:"suites"`
}

// test is a test of the suite. Its steps run in their order.
type test struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	SpecRef     string `json:"spec_ref"`
	// Level is must, should or may.
	Level string   `json:"level"`
	Tags  []string `json:"tags"`
	// Transport lists the bindings of the test: jsonrpc, rest and grpc. Empty means all.
	Transport          []string `json:"transport"`
	RequiresBehaviors  []string `json:"requires_behaviors"`
	RunnerRequirements []string `json:"runner_requirements"`
	Preconditions      struct {
		Capabilities   map[string]bool `json:"capabilities"`
		Authentication bool            `json:"authentication"`
	} `json:"preconditions"`
	Steps []step `json:"steps"`
}

// step is one request, or one wait for a webhook, with its expectations.
type step struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Operation   string         `json:"operation"`
	Params      map[string]any `json:"params"`
	Raw         *rawRequest    `json:"raw"`
	// ClientResponse is a response that a client must read.
	ClientResponse *struct {
		Operation   string         `json:"operation"`
		WirePayload map[string]any `json:"wire_payload"`
	} `json:"client_response"`
	Repeat *repetition `json:"repeat"`
	// Capture maps names to paths in the response.
	Capture map[string]string `json:"capture"`

	Expect *struct {
		Status  any `json:"status"`
		Headers any `json:"headers"`
		Body    any `json:"body"`
	} `json:"expect"`
	ExpectError *struct {
		ErrorType string `json:"error_type"`
		Message   any    `json:"message"`
		Details   any    `json:"details"`
	} `json:"expect_error"`
	ExpectStream  *streamExpectation `json:"expect_stream"`
	ExpectWebhook *struct {
		TaskID    string            `json:"task_id"`
		MinCount  int               `json:"min_count"`
		Headers   map[string]string `json:"headers"`
		EachEvent any               `json:"each_event"`
	} `json:"expect_webhook"`
	ExpectParsed any `json:"expect_parsed"`
	Assertions   []struct {
		Source string `json:"source"`
		Any    struct {
			Path  string `json:"path"`
			Match any    `json:"match"`
		} `json:"any"`
	} `json:"assertions"`
}

// rawRequest is an HTTP request that the runner sends as it is.
type rawRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
	BodyRaw string            `json:"body_raw"`
}

// repetition repeats a step until a condition on its response is true.
type repetition struct {
	Until       string `json:"until"`
	MaxAttempts int    `json:"max_attempts"`
	DelayMS     int    `json:"delay_ms"`
}

type streamExpectation struct {
	Description string           `json:"description"`
	MinCount    int              `json:"min_count"`
	Ordering    string           `json:"ordering"`
	Events      []map[string]any `json:"events"`
	EachEvent   any              `json:"each_event"`
	FinalEvent  any              `json:"final_event"`
	// DisconnectAfter is the number of events after which the client hangs up; 0 for never.
	DisconnectAfter int `json:"disconnect_after"`
	// Streams are the streams that the step opens at once, each with further expectations. Empty means one.
	Streams []streamExpectation `json:"streams"`
}

// directory returns the directory of the suite: the value of ACTS, or the checkout next to this repository.
func directory() string {
	return cmp.Or(os.Getenv("ACTS"), filepath.Join("..", "..", "..", "shared", "spec", "acts"))
}

// load reads the tests of all files, in the order of the file names. It skips the test if there is no file.
// A member that the runner does not know is an error, because the runner would not check it.
func load(t *testing.T) []test {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory(), "*.acts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "suite.acts.yaml" })
	if len(files) == 0 {
		t.Skipf("SKIPPED: %s has no file of ACTS; set ACTS to the directory of the suite", directory())
	}
	var all []test
	for _, file := range files {
		found, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func read(file string) ([]test, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d document
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var all []test
	for _, suite := range d.Suites {
		all = append(all, suite.Tests...)
	}
	return all, nil
}
