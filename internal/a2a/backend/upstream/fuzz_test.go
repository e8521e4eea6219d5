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

// damaged is a transport to a server whose stream arrives damaged, and that
// knows no tasks.
type damaged struct {
	body []byte
	// broken ends the body with an error, as a connection that was reset does.
	broken bool
}

func (d *damaged) RoundTrip(r *http.Request) (*http.Response, error) {
	var request []byte
	if r.Body != nil {
		request, _ = io.ReadAll(r.Body)
	}
	resp := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}}}
	switch {
	case strings.HasSuffix(r.URL.Path, "message:stream"), bytes.Contains(request, []byte(`"SendStreamingMessage"`)), bytes.Contains(request, []byte(`"message/stream"`)):
		resp.Header.Set("Content-Type", "text/event-stream")
		body := io.Reader(bytes.NewReader(d.body))
		if d.broken {
			body = io.MultiReader(body, reset{})
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

type reset struct{}

func (reset) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// hearStream runs a turn with a damaged stream.
func hearStream(t *testing.T, r *recording, d *damaged) (*heard, error) {
	t.Helper()
	b, err := upstream.New(upstream.Options{
		URL: "http://agent.test", Limits: stream.Limits{MaxEvent: 16 << 10},
		Remote: &upstream.Remote{Transport: d, Card: []byte(strings.ReplaceAll(r.card(), `"/rpc"`, `"http://agent.test/rpc"`))},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	h := &heard{}
	return h, b.Run(t.Context(), turn(), h.emit)
}

// judge holds the outcome of a turn with a damaged stream against what a second
// reader, of encoding/json, finds in it: the turn succeeds only if all that came before
// its end was understood and passed on, and else fails with a reason.
func judge(t *testing.T, h *heard, err error, body []byte) (success bool) {
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
		return false // the agent said itself that it failed
	}
	var said []string
	for i := range h.events {
		said = append(said, textsOf(&h.events[i])...)
	}
	second := secondReader(body)
	if second.strange != "" {
		t.Errorf("the turn succeeds, but %q was not understood", second.strange)
	}
	for _, text := range second.texts {
		if !slices.Contains(said, text) {
			t.Errorf("the turn succeeds without %q; said was %q", text, said)
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

// reading is what a second reader finds before the end of a task.
type reading struct {
	texts []string
	// strange is the first event that is none.
	strange string
}

// secondReader reads an event stream in another way than the product.
func secondReader(body []byte) *reading {
	r := &reading{}
	text := strings.TrimPrefix(strings.ReplaceAll(string(body), "\r\n", "\n"), "\uFEFF")
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
		if r.strange != "" {
			return r
		}
	}
	return r
}

// event reads one event, and reports whether the task ends or waits with it.
func (r *reading) event(text string) (over bool) {
	var e map[string]any
	if json.Unmarshal([]byte(text), &e) != nil {
		r.strange = text
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
		r.strange = text
	}
	return false
}

func (r *reading) status(status map[string]any, text string) (over bool) {
	if message, ok := status["message"].(map[string]any); ok {
		r.parts(message, text)
	}
	state, _ := status["state"].(string)
	state = strings.ToLower(state)
	return slices.ContainsFunc([]string{"completed", "failed", "canceled", "rejected", "required"}, func(s string) bool { return strings.HasSuffix(state, s) })
}

func (r *reading) parts(of map[string]any, text string) {
	parts, ok := of["parts"].([]any)
	if !ok {
		r.strange = text
	}
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if said, ok := part["text"].(string); ok {
			r.texts = append(r.texts, said)
			continue
		}
		if part["data"] == nil && part["file"] == nil && part["raw"] == nil && part["url"] == nil {
			r.strange = text
		}
	}
}

// A stream that is cut, by a reset or without a sign, ends the turn
// with the same parts as the whole one, or with a failure after some of them.
func TestCutStreams(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := []byte(r.body(t))
			// Under the race detector each byte would take minutes; FuzzStream goes on.
			step := 1 + len(body)/500
			good := 0
			for end := len(body); end >= 0; end -= step {
				for _, broken := range []bool{false, true} {
					h, err := hearStream(t, &r, &damaged{body: body[:end], broken: broken})
					got := content(h)
					if judge(t, h, err, body[:end]) {
						good++
					}
					if failure, ok := errors.AsType[*backend.TurnError](err); !ok && got != r.said || ok && !strings.HasPrefix(r.said, got) {
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

// An event that no decoder understands fails the turn, wherever in a stream it
// stands and whichever version its wrapper is from.
func TestStrangeEventInStream(t *testing.T) {
	for _, wrapper := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
		event := "data: {\"result\":{\"" + wrapper + "\":{\"strange\":{\"\":\"\"}}}}\n\n"
		for _, r := range recordings {
			body := strings.ReplaceAll(r.body(t), "\r\n", "\n")
			blocks := strings.SplitAfter(body, "\n\n")
			for i := range blocks {
				bad := []byte(strings.Join(slices.Insert(slices.Clone(blocks), i, event), ""))
				h, err := hearStream(t, &r, &damaged{body: bad})
				if judge(t, h, err, bad); t.Failed() {
					t.Fatalf("%s: a %s that is none before event %d", r.file, wrapper, i)
				}
			}
		}
	}
}

// mutate damages a stream: bytes or lines that are lost, doubled, swapped or
// changed, events that are renamed or moved.
func mutate(r *rand.Rand, body []byte) []byte {
	out := slices.Clone(body)
	for range 1 + r.IntN(3) {
		if len(out) < 4 {
			return out
		}
		at := r.IntN(len(out) - 1)
		size := min(1+r.IntN(8), len(out)-at)
		switch r.IntN(8) {
		case 0: // lost
			out = slices.Delete(out, at, at+size)
		case 1: // doubled
			out = slices.Insert(out, at, slices.Clone(out[at:at+size])...)
		case 2: // swapped
			out[at], out[at+1] = out[at+1], out[at]
		case 3: // changed
			out[at] = byte(r.IntN(256))
		case 4: // cut
			out = out[:at]
		case 5: // renamed
			names := []string{`"kind"`, `"artifact"`, `"parts"`, `"text"`, `"result"`, `"task"`, `"statusUpdate"`, `"artifactUpdate"`, `artifact-update`, `status-update`, `"status"`, `"state"`, "data:", "TASK_STATE_COMPLETED", `"completed"`}
			name := []byte(names[r.IntN(len(names))])
			if i := bytes.Index(out[at:], name); i >= 0 {
				out[at+i+len(name)/2] = 'x'
			}
		default: // whole blocks, moved, doubled or lost
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

// The streams of every server, damaged in many ways: no answer is lost behind a
// success.
func TestDamagedStreams(t *testing.T) {
	const seed = 12
	const runs = 500
	for at, r := range recordings {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := []byte(r.body(t))
			random := rand.New(rand.NewPCG(seed, uint64(at)))
			for i := range runs {
				bad := mutate(random, body)
				h, err := hearStream(t, &r, &damaged{body: bad, broken: i%2 == 0})
				if judge(t, h, err, bad); t.Failed() {
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
		h, err := hearStream(t, &r, &damaged{body: body, broken: broken})
		judge(t, h, err, body)
	})
}
