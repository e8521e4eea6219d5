// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus tests the codecs with documents of other projects, with round trips
// through every dialect, and with a recorded corpus of their encodings.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var directory = filepath.Join("..", "testdata", "seeds")

// block is a JSON block of a document.
type block struct {
	File     string `json:"file"`
	Document string `json:"document"`
	Block    int    `json:"block"`
	// Kind is request, response, error, event, card or other.
	Kind    string `json:"kind"`
	Verdict string `json:"verdict"`
}

// TestSeeds decodes every block of the documents with the decoders of the product, and
// compares the results with the manifest.
func TestSeeds(t *testing.T) {
	manifest := filepath.Join(directory, "manifest.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var want []block
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	agent := sidecartest.Start(t, sidecartest.TextAgent)
	client := sidecartest.Client(t)
	got := make([]block, len(want))
	copy(got, want)
	for i := range got {
		body, err := os.ReadFile(filepath.Join(directory, got[i].File))
		if err != nil {
			t.Fatal(err)
		}
		got[i].Verdict = verdict(t, client, agent.URL, got[i].Kind, bytes.TrimSuffix(body, []byte("\n")))
	}
	files, err := filepath.Glob(filepath.Join(directory, "*-*.json"))
	if err != nil || len(files) != len(want) {
		t.Errorf("the manifest names %d files of %d, %v", len(want), len(files), err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(manifest, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-manifest +seen):\n%s", diff)
	}
}

func verdict(t *testing.T, client *http.Client, url, kind string, body []byte) string {
	t.Helper()
	switch kind {
	case "request":
		return answerTo(t, client, url, body)
	case "response":
		return result(t, body)
	case "event":
		return event(t, body)
	case "card":
		if err := spec.Validate("v0.2.6", "AgentCard", body); err == nil {
			return "an AgentCard of 0.2.6"
		}
		versioned := bytes.Replace(body, []byte("{"), []byte(`{"protocolVersion":"0.2.6",`), 1)
		if err := spec.Validate("v0.2.6", "AgentCard", versioned); err == nil {
			return "an AgentCard of 0.2.4 and before: protocolVersion is missing"
		}
		return "refused: not an AgentCard of 0.2"
	default:
		return plain(body, "JSON")
	}
}

// answerTo sends a request to a sidecar and returns a summary of the response.
func answerTo(t *testing.T, client *http.Client, url string, body []byte) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, last, stream := strings.Cut(string(text), "data: ")
	if !stream {
		last = string(text)
	} else {
		last = last[strings.LastIndex("data: "+last, "data: "):]
	}
	var answer struct {
		Result *struct {
			Kind   string `json:"kind"`
			Status struct {
				State string `json:"state"`
			} `json:"status"`
		} `json:"result"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(last), &answer); err != nil {
		t.Fatalf("%s\nis answered %s: %v", body, text, err)
	}
	switch {
	case answer.Error != nil:
		return fmt.Sprintf("refused: %d %s", answer.Error.Code, answer.Error.Message)
	case stream:
		return "served: a stream that ends with " + answer.Result.Kind + " " + answer.Result.Status.State
	default:
		return "served: " + answer.Result.Kind + " " + answer.Result.Status.State
	}
}

// result decodes a response like a client of 0.3.
func result(t *testing.T, body []byte) string {
	t.Helper()
	var envelope struct {
		Result json.RawMessage `json:"result"`
	}
	if refused := plain(body, ""); refused != "" {
		return refused
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return "refused: " + err.Error()
	}
	e, err := v03.DecodeEvent(envelope.Result)
	return describe(t, "0.3", &e, err)
}

// event decodes an event of an agent.
func event(t *testing.T, body []byte) string {
	t.Helper()
	e, err := agentevents.DecodeEvent(body, false)
	return describe(t, "an agent's", &e, err)
}

// describe returns a summary of an event, and checks its encoding in 0.3.
func describe(t *testing.T, by string, e *a2a.Event, err error) string {
	t.Helper()
	if err != nil {
		return "refused: " + err.Error()
	}
	var definition, text string
	switch {
	case e.Task != nil:
		definition, text = "Task", "task "+e.Task.Status.State.String()
	case e.Message != nil:
		definition, text = "Message", "message"
	case e.Status != nil:
		definition, text = "TaskStatusUpdateEvent", "status-update "+e.Status.Status.State.String()
	case e.Artifact != nil:
		definition, text = "TaskArtifactUpdateEvent", "artifact-update"
	default:
		return "skipped"
	}
	// An event of an agent may omit members, which the engine adds later. Only the encoding of other events must be valid.
	if by == "0.3" && complete(e) {
		if err := spec.Validate("v0.3.0", definition, v03.AppendEvent(nil, e)); err != nil {
			t.Errorf("the encoding of the decoded event is not valid: %v", err)
		}
	}
	return by + ": " + text
}

func complete(e *a2a.Event) bool { return e.Message == nil || e.Message.ID != "" }

// plain reads JSON strictly. It returns as, or "refused: " and the error.
func plain(body []byte, as string) string {
	r := jsonread.New(body)
	r.Skip()
	if err := r.End(); err != nil {
		return "refused: " + err.Error()
	}
	return as
}
