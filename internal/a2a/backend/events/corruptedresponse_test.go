// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

const (
	ndjsonStream = `{"text":"The answer begins "}
{"text":"and goes \"on\".\n"}
{"kind":"internal:llm-call","n":1}
{"kind":"status-update","status":{"state":"working","message":{"role":"agent","parts":[{"kind":"text","text":"Looking it up"}]}}}

{"kind":"artifact-update","artifact":{"artifactId":"report","name":"Report","parts":[{"kind":"text","text":"# Tea\n"}]}}
{"artifactUpdate":{"artifact":{"artifactId":"report","parts":[{"text":"It is old.\n"}]},"append":true,"lastChunk":true}}
{"kind":"status-update","status":{"state":"completed"}}
`
	resetMessage = "connection reset by peer"
)

type resetReader struct{}

func (resetReader) Read([]byte) (int, error) { return 0, errors.New(resetMessage) }

// readResponse reads a response. If isReset is true, a reset ends the response; otherwise,
// its framing marks its end.
func readResponse(mediaType, body string, isReset bool) (output []string, completed bool, err error) {
	reader := io.Reader(strings.NewReader(body))
	if isReset {
		reader = io.MultiReader(reader, resetReader{})
	}
	resp := &http.Response{Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(reader), ContentLength: -1, TransferEncoding: []string{"chunked"}}
	err = read(stream.New(nil, stream.Limits{MaxEvent: 4 << 10}), resp, func(events []a2a.Event) error {
		for i := range events {
			e := &events[i]
			var parts []a2a.Part
			switch {
			case e.Artifact != nil:
				parts = e.Artifact.Artifact.Parts
			case e.Message != nil:
				parts = e.Message.Parts
			case e.Status != nil && e.Status.Status.Message != nil:
				parts = e.Status.Status.Message.Parts
			}
			for j := range parts {
				output = append(output, parts[j].Text)
			}
			if e.Status != nil && e.Status.Status.State.Terminal() {
				completed = e.Status.Status.State == a2a.StateCompleted
				return backend.ErrTurnEnded
			}
		}
		return nil
	})
	return output, completed || err == nil, err
}

// toSSE returns lines as server-sent events.
func toSSE(lines string) string {
	out := ": hello\n"
	for line := range strings.Lines(lines) {
		if line != "\n" {
			out += "event: x\ndata: " + line + "\n"
		}
	}
	return out
}

// TestCutResponseLosesNoOutput checks responses that a reset cuts at any byte: the turn
// ends with the same output as for the whole response, or fails after a part of that
// output.
func TestCutResponseLosesNoOutput(t *testing.T) {
	for mediaType, body := range map[string]string{"application/x-ndjson": ndjsonStream, "text/event-stream": toSSE(ndjsonStream)} {
		whole, completed, err := readResponse(mediaType, body, false)
		if !completed || len(whole) != 5 || !errors.Is(err, backend.ErrTurnEnded) {
			t.Fatalf("%s: the whole answer is %q, %v", mediaType, whole, err)
		}
		for end := range len(body) {
			output, completed, err := readResponse(mediaType, body[:end], true)
			failure, ok := errors.AsType[*backend.TurnError](err)
			switch {
			case completed && !slices.Equal(output, whole):
				t.Fatalf("%s cut at byte %d: completed with %q", mediaType, end, output)
			case !completed && (!ok || failure.Reason == "" || len(output) > len(whole) || !slices.Equal(output, whole[:len(output)])):
				t.Fatalf("%s cut at byte %d: %q, %v", mediaType, end, output, err)
			}
		}
	}
}

// TestCorruptedResponseLosesNoOutput checks that a successful turn has emitted all output
// that a second decoder finds before the end of the task.
func TestCorruptedResponseLosesNoOutput(t *testing.T) {
	const seed = 12
	random := rand.New(rand.NewPCG(seed, 0))
	names := []string{`"kind"`, `"text"`, `"parts"`, `"artifact"`, `"artifactUpdate"`, `artifact-update`, `status-update`, `"status"`, `"state"`, "internal:", "data:", "completed"}
	for i := range 20_000 {
		mediaType, body := "application/x-ndjson", []byte(ndjsonStream)
		if i%2 == 0 {
			mediaType, body = "text/event-stream", []byte(toSSE(ndjsonStream))
		}
		at := random.IntN(len(body) - 8)
		switch size := 1 + random.IntN(6); random.IntN(6) {
		case 0:
			body = slices.Delete(body, at, at+size)
		case 1:
			body = slices.Insert(body, at, slices.Clone(body[at:at+size])...)
		case 2:
			body[at], body[at+1] = body[at+1], body[at]
		case 3:
			body[at] = byte(random.IntN(256))
		case 4:
			name := names[random.IntN(len(names))]
			if i := bytes.Index(body[at:], []byte(name)); i >= 0 {
				body[at+i+len(name)/2] = 'x'
			}
		default:
			lines := bytes.SplitAfter(body, []byte("\n"))
			a, b := random.IntN(len(lines)), random.IntN(len(lines))
			lines[a], lines[b] = lines[b], lines[a]
			body = bytes.Join(lines, nil)
		}
		output, completed, err := readResponse(mediaType, string(body), false)
		if failure, ok := errors.AsType[*backend.TurnError](err); !completed && !errors.Is(err, backend.ErrTurnEnded) && (!ok || failure.Reason == "") {
			t.Fatalf("mutation %d of seed %d: %v\n%q", i, seed, err, body)
		}
		if !completed {
			continue
		}
		texts, strange := expected(mediaType, string(body))
		if strange != "" {
			t.Fatalf("mutation %d of seed %d: the turn succeeds, but %q was not understood\n%q", i, seed, strange, body)
		}
		for _, text := range texts {
			if !slices.Contains(output, text) {
				t.Fatalf("mutation %d of seed %d: the turn succeeds with %q and without %q\n%q", i, seed, output, text, body)
			}
		}
	}
}

// expected decodes lines without the code of the product. It returns the texts before the
// end of the task, and the first line that is not an event.
func expected(mediaType, body string) (texts []string, strange string) {
	if mediaType == "text/event-stream" {
		var lines []string
		body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
		for block := range strings.SplitSeq(body, "\n\n") {
			var data []string
			for line := range strings.SplitSeq(block, "\n") {
				if value, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, value)
				}
			}
			lines = append(lines, strings.Join(data, " "))
		}
		body = strings.Join(lines, "\n")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) != nil {
			return texts, line
		}
		if kind, _ := e["kind"].(string); strings.HasPrefix(kind, "internal:") {
			continue
		}
		if inner, ok := e["artifactUpdate"].(map[string]any); ok {
			e = inner
		}
		status, _ := e["status"].(map[string]any)
		holder, isArtifact := e["artifact"].(map[string]any)
		if message, ok := status["message"].(map[string]any); ok {
			holder = message
		}
		text, isText := e["text"].(string)
		switch {
		case isText:
			texts = append(texts, text)
		case !isArtifact && status == nil:
			return texts, line
		case holder != nil:
			parts, ok := holder["parts"].([]any)
			if !ok {
				return texts, line
			}
			for _, p := range parts {
				part, _ := p.(map[string]any)
				text, ok := part["text"].(string)
				if !ok {
					return texts, line
				}
				texts = append(texts, text)
			}
		}
		if status["state"] == "completed" {
			return texts, ""
		}
	}
	return texts, ""
}
