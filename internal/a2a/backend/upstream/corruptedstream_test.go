// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

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
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// corruptedTransport is a transport to an agent that sends a corrupted stream and finds no
// task.
type corruptedTransport struct {
	body []byte
	// reset ends the body with an error, as a reset connection does.
	reset bool
}

func (d *corruptedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var request []byte
	if r.Body != nil {
		request, _ = io.ReadAll(r.Body)
	}
	resp := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}}}
	switch {
	case strings.HasSuffix(r.URL.Path, "message:stream"), bytes.Contains(request, []byte(`"SendStreamingMessage"`)), bytes.Contains(request, []byte(`"message/stream"`)):
		resp.Header.Set("Content-Type", "text/event-stream")
		body := io.Reader(bytes.NewReader(d.body))
		if d.reset {
			body = io.MultiReader(body, resetReader{})
		}
		resp.Body = io.NopCloser(body)
	case r.Method == http.MethodGet, strings.Contains(r.URL.Path, ":"):
		resp.StatusCode = http.StatusNotFound
		resp.Body = io.NopCloser(strings.NewReader(`{"error":{"code":404,"details":[{"reason":"TASK_NOT_FOUND"}]}}`))
	default:
		resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"x"}}`))
	}
	return resp, nil
}

type resetReader struct{}

func (resetReader) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// runCorrupted runs a turn with a corrupted stream.
func runCorrupted(t *testing.T, r *recording, d *corruptedTransport) (*emitted, error) {
	t.Helper()
	b, err := upstream.New(upstream.Options{
		URL: "http://agent.test", Limits: stream.Limits{MaxEvent: 16 << 10},
		Remote: &upstream.Remote{Transport: d, Card: []byte(strings.ReplaceAll(r.card(), `"/rpc"`, `"http://agent.test/rpc"`))},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	h := &emitted{}
	return h, b.Run(t.Context(), newTurn(), h.emit)
}

// checkOutcome compares the outcome of a turn with the events that a second decoder, of
// encoding/json, finds in the stream. The turn may succeed only if all events before its
// end were understood and emitted. Otherwise, it must fail with a reason.
func checkOutcome(t *testing.T, h *emitted, err error, body []byte) (success bool) {
	t.Helper()
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	switch {
	case isFailure:
		if failure.Reason == "" || len(failure.Reason) > 1<<10 {
			t.Errorf("the turn fails because of %q", failure.Reason)
		}
		return false
	case err != nil && !errors.Is(err, backend.ErrTurnEnded):
		t.Errorf("Run() error = %v", err)
		return false
	}
	if last := h.events[len(h.events)-1]; last.Status != nil && last.Status.Status.State != a2a.StateCompleted && !last.Status.Status.State.Interrupted() {
		return false // the agent reported a failure
	}
	var output []string
	for i := range h.events {
		output = append(output, textsOf(&h.events[i])...)
	}
	second := expect(body)
	if second.unknown != "" {
		t.Errorf("the turn succeeds, but %q was not understood", second.unknown)
	}
	for _, text := range second.texts {
		if !slices.Contains(output, text) {
			t.Errorf("the turn succeeds without %q; said was %q", text, output)
		}
	}
	return true
}

func textsOf(e *a2a.Event) []string {
	var all []string
	add := func(parts []a2a.Part) {
		for i := range parts {
			if parts[i].Content == a2a.ContentText {
				all = append(all, parts[i].Text)
			}
		}
	}
	switch {
	case e.Artifact != nil:
		add(e.Artifact.Artifact.Parts)
	case e.Message != nil:
		add(e.Message.Parts)
	case e.Status != nil && e.Status.Status.Message != nil:
		add(e.Status.Status.Message.Parts)
	}
	return all
}

// expectation has the output that the second decoder finds before the end of a task.
type expectation struct {
	texts []string
	// unknown is the first text that is not an event.
	unknown string
}

// expect decodes an event stream without the code of the product.
func expect(body []byte) *expectation {
	r := &expectation{}
	text := strings.TrimPrefix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body)), "\uFEFF")
	for block := range strings.SplitSeq(text, "\n\n") {
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			if value, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, value)
			}
		}
		if one := strings.TrimSpace(strings.Join(data, "\n")); one != "" && r.event(one) {
			return r
		}
		if r.unknown != "" {
			return r
		}
	}
	return r
}

// event decodes one event, and reports whether the event ends or pauses the task.
func (r *expectation) event(text string) (over bool) {
	var e map[string]any
	if json.Unmarshal([]byte(text), &e) != nil {
		r.unknown = text
		return false
	}
	if result, ok := e["result"].(map[string]any); ok {
		e = result
	}
	for _, name := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
		if inner, ok := e[name].(map[string]any); ok {
			e = inner
		}
	}
	status, hasStatus := e["status"].(map[string]any)
	artifact, hasArtifact := e["artifact"].(map[string]any)
	_, hasParts := e["parts"]
	switch {
	case e["id"] != nil && !hasArtifact:
		artifacts, _ := e["artifacts"].([]any)
		for _, each := range artifacts {
			one, _ := each.(map[string]any)
			r.parts(one, text)
		}
		return hasStatus && r.status(status, text)
	case hasArtifact:
		r.parts(artifact, text)
	case hasStatus:
		return r.status(status, text)
	case hasParts:
		r.parts(e, text)
		return true
	default:
		r.unknown = text
	}
	return false
}

func (r *expectation) status(status map[string]any, text string) (over bool) {
	if message, ok := status["message"].(map[string]any); ok {
		r.parts(message, text)
	}
	state, _ := status["state"].(string)
	state = strings.ToLower(state)
	return slices.ContainsFunc([]string{"completed", "failed", "canceled", "rejected", "required"}, func(s string) bool { return strings.HasSuffix(state, s) })
}

func (r *expectation) parts(of map[string]any, text string) {
	parts, ok := of["parts"].([]any)
	if !ok {
		r.unknown = text
	}
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if output, ok := part["text"].(string); ok {
			r.texts = append(r.texts, output)
			continue
		}
		if part["data"] == nil && part["file"] == nil && part["raw"] == nil && part["url"] == nil {
			r.unknown = text
		}
	}
}

// TestCutStreamLosesNoOutput checks streams that are cut, with or without a reset: the turn
// ends with the same output as for the whole stream, or fails after a part of that output.
func TestCutStreamLosesNoOutput(t *testing.T) {
	t.Parallel()
	for _, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := []byte(r.body(t))
			// Under the race detector, a cut at each byte would take minutes. FuzzStream
			// covers more.
			step := 1 + len(body)/500
			good := 0
			for end := len(body); end >= 0; end -= step {
				for _, broken := range []bool{false, true} {
					h, err := runCorrupted(t, &r, &corruptedTransport{body: body[:end], reset: broken})
					got := describeContent(h)
					if checkOutcome(t, h, err, body[:end]) {
						good++
					}
					if failure, ok := errors.AsType[*backend.TurnError](err); !ok && got != r.events || ok && !strings.HasPrefix(r.events, got) {
						t.Fatalf("cut at byte %d (reset %t): said %q, %v", end, broken, got, failure)
					}
				}
			}
			if good == 0 && !strings.Contains(r.file, "fail") {
				t.Error("no turn succeeds")
			}
		})
	}
}

// TestUnknownEventFailsTheTurn checks that an unknown event fails the turn at every
// position and in the wrapper of each version.
func TestUnknownEventFailsTheTurn(t *testing.T) {
	t.Parallel()
	for _, wrapper := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
		event := "data: {\"result\":{\"" + wrapper + "\":{\"strange\":{\"\":\"\"}}}}\n\n"
		for _, r := range recordings {
			body := strings.ReplaceAll(r.body(t), "\r\n", "\n")
			blocks := strings.SplitAfter(body, "\n\n")
			for i := range blocks {
				bad := []byte(strings.Join(slices.Insert(slices.Clone(blocks), i, event), ""))
				h, err := runCorrupted(t, &r, &corruptedTransport{body: bad})
				if checkOutcome(t, h, err, bad); t.Failed() {
					t.Fatalf("%s: a %s that is none before event %d", r.file, wrapper, i)
				}
			}
		}
	}
}

// mutate corrupts a stream: it removes, repeats, swaps or changes bytes, and renames or
// moves events.
func mutate(r *rand.Rand, body []byte) []byte {
	out := slices.Clone(body)
	for range 1 + r.IntN(3) {
		if len(out) < 4 {
			return out
		}
		at := r.IntN(len(out) - 1)
		size := min(1+r.IntN(8), len(out)-at)
		switch r.IntN(8) {
		case 0: // remove
			out = slices.Delete(out, at, at+size)
		case 1: // repeat
			out = slices.Insert(out, at, slices.Clone(out[at:at+size])...)
		case 2: // swap
			out[at], out[at+1] = out[at+1], out[at]
		case 3: // change
			out[at] = byte(r.IntN(256))
		case 4: // cut
			out = out[:at]
		case 5: // rename
			names := []string{`"kind"`, `"artifact"`, `"parts"`, `"text"`, `"result"`, `"task"`, `"statusUpdate"`, `"artifactUpdate"`, `artifact-update`, `status-update`, `"status"`, `"state"`, "data:", "TASK_STATE_COMPLETED", `"completed"`}
			name := []byte(names[r.IntN(len(names))])
			if i := bytes.Index(out[at:], name); i >= 0 {
				out[at+i+len(name)/2] = 'x'
			}
		default: // swap, repeat or remove whole events
			blocks := bytes.SplitAfter(out, []byte("\n\n"))
			i, j := r.IntN(len(blocks)), r.IntN(len(blocks))
			switch r.IntN(3) {
			case 0:
				blocks[i], blocks[j] = blocks[j], blocks[i]
			case 1:
				blocks = slices.Insert(blocks, i, blocks[j])
			default:
				blocks = slices.Delete(blocks, i, i+1)
			}
			out = bytes.Join(blocks, nil)
		}
	}
	return out
}

// TestCorruptedStreamLosesNoOutput checks that, with a corrupted stream of any server, a
// turn has all output or fails.
func TestCorruptedStreamLosesNoOutput(t *testing.T) {
	t.Parallel()
	const seed = 12
	const runs = 500
	for at, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := []byte(r.body(t))
			random := rand.New(rand.NewPCG(seed, uint64(at)))
			for i := range runs {
				bad := mutate(random, body)
				h, err := runCorrupted(t, &r, &corruptedTransport{body: bad, reset: i%2 == 0})
				if checkOutcome(t, h, err, bad); t.Failed() {
					t.Fatalf("mutation %d of seed %d:\n%q", i, seed, bad)
				}
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	for i, r := range recordings {
		f.Add(uint8(i), []byte(r.body(f)), false)
		f.Add(uint8(i), mutate(rand.New(rand.NewPCG(1, uint64(i))), []byte(r.body(f))), true)
	}
	f.Fuzz(func(t *testing.T, server uint8, body []byte, broken bool) {
		r := recordings[int(server)%len(recordings)]
		h, err := runCorrupted(t, &r, &corruptedTransport{body: body, reset: broken})
		checkOutcome(t, h, err, body)
	})
}
