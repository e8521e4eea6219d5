// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// message is a message of a conversation as the model gets it.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// serveModel answers a request of a replica: the next answer of the script in the last message of the client. It checks the conversation.
func (w *world) serveModel(rw http.ResponseWriter, r *http.Request, from *replica) {
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(rw, `{"data":[{"id":"m"}]}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sidecar was killed
	}
	var request struct {
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		w.verdict.violationf("a request to the model is not JSON: %v", err)
		return
	}
	found := slices.Compact(slices.Sorted(slices.Values(tokens.FindAllString(string(body), -1))))
	if len(found) != 1 {
		w.verdict.violationf("a request to the model has the data of the conversations %q", found)
		return
	}
	token := found[0]
	w.moved(token, from)
	answer := &modelAnswer{world: w, rw: rw, token: token, size: len(body)}
	if strings.HasPrefix(request.Messages[0].Content, "Summarize the conversation") {
		w.mu.Lock()
		w.summarized[token] = true
		w.mu.Unlock()
		if !w.reach(compaction, token) {
			answer.write("A summary of "+token, nil, nil)
		}
		return
	}
	s, step, problem := w.read(request.Messages)
	if problem != "" {
		w.verdict.violationf("the conversation of %s is corrupt: %s\n%.3000s", token, problem, body)
		return
	}
	if n := strings.Count(string(body), fmt.Sprintf(`SCRIPT {\"Token\":\"%s\",\"Task\":%d,`, token, s.Task)); n != 1 && !w.isRefused(token) {
		w.verdict.violationf("the conversation of %s has the message of the task %d %d times:\n%.3000s", token, s.Task, n, body)
	}
	if w.reach(beforeAnswer, token) {
		return
	}
	if w.reach(modelAway, token) {
		panic(http.ErrAbortHandler)
	}
	answer.kills = true
	if step == len(s.Steps) {
		answer.write(s.says(step), s, nil)
		return
	}
	answer.step = step
	answer.write(s.says(step), s, s.Steps[step])
}

// read returns the script of a conversation, and the number of the next answer. problem says what is wrong with the conversation.
func (w *world) read(all []message) (s *script, step int, problem string) {
	for i, m := range slices.Backward(all) {
		if _, text, ok := strings.Cut(m.Content, "SCRIPT "); ok && m.Role == "user" {
			// Consecutive messages of the client are one: the script is the last one.
			for rest, isMore := text, true; isMore; {
				text = rest
				_, rest, isMore = strings.Cut(rest, "SCRIPT ")
			}
			s = &script{}
			if err := json.NewDecoder(strings.NewReader(text)).Decode(s); err != nil {
				return nil, 0, err.Error()
			}
			all = all[i+1:]
			break
		}
	}
	if s == nil {
		return nil, 0, "it has no message of the client"
	}
	for len(all) > 0 {
		m := all[0]
		all = all[1:]
		switch {
		case step >= len(s.Steps):
			return nil, 0, "it goes on after the last answer"
		case m.Role != "assistant" || m.Content != s.says(step) || len(m.Calls) != len(s.Steps[step]):
			return nil, 0, fmt.Sprintf("its answer %d is %+v", step, m)
		case len(all) < len(m.Calls):
			return nil, 0, fmt.Sprintf("the answer %d has %d results", step, len(all))
		}
		for i, call := range m.Calls {
			key := s.key(step, i)
			if call.Function.Name != s.Steps[step][i] || !strings.Contains(call.Function.Arguments, key) || all[i].Role != "tool" || all[i].CallID != call.ID {
				return nil, 0, fmt.Sprintf("its call %s is %+v, with %+v", key, call, all[i])
			}
			if problem := w.note(key, call.Function.Name, all[i].Content); problem != "" {
				return nil, 0, problem
			}
		}
		all = all[len(m.Calls):]
		step++
	}
	return s, step, ""
}

// The outcomes of calls, as the model reads them.
const (
	outcomeDone     = "done"
	outcomeUnknown  = "unknown"
	outcomeRejected = "rejected"
	// outcomeFailed: the call did not run, because the MCP server was away.
	outcomeFailed = "failed"
)

// note checks the result of a call, and that it is the same in all requests.
func (w *world) note(key, tool, text string) (problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.faults[tokens.FindString(key)]
	if f == nil {
		return "" // a process that is gone sent this request after the task had ended
	}
	var outcome string
	switch {
	case text == result(tool, key):
		outcome = outcomeDone
	case strings.HasPrefix(text, "(This result was removed"):
		return ""
	case strings.HasPrefix(text, "The outcome of this call is not known") && ((isOnce(tool) || tool == toolHelper) && f.interruptions > 0 || tool != toolHelper && f.serverKills > 0 || w.seen[key] == outcomeUnknown):
		outcome = outcomeUnknown
	case strings.HasPrefix(text, "The call was not approved") && tool == toolDeploy:
		outcome = outcomeRejected
	case (f.serverKills > 0 || w.seen[key] == outcomeFailed) && tool != toolHelper && w.runs[key] == 0:
		outcome = outcomeFailed
	default:
		return fmt.Sprintf("the result of %s %s is %q", tool, key, text)
	}
	if before := w.seen[key]; before != "" && before != outcome {
		return fmt.Sprintf("the call %s was %s, and is %s", key, before, outcome)
	}
	w.seen[key] = outcome
	if n := w.runs[key]; outcome == outcomeDone && n == 0 || outcome == outcomeRejected && n > 0 {
		return fmt.Sprintf("the call %s is %s, and ran %d times", key, outcome, n)
	}
	return ""
}

// modelAnswer writes an answer of the model as a stream.
type modelAnswer struct {
	world *world
	rw    http.ResponseWriter
	token string
	// size is that of the request.
	size int
	step int
	// kills is true if sidecars are killed during the answer and after it.
	kills bool
}

func (a *modelAnswer) write(text string, s *script, tools []string) {
	a.rw.Header().Set("Content-Type", "text/event-stream")
	for len(text) > 0 {
		n := min(len(text), 16)
		a.chunk(map[string]any{"content": text[:n]})
		text = text[n:]
		if a.kills && a.world.reach(duringStream, a.token) {
			return
		}
		if a.kills && a.world.reach(modelInAnswer, a.token) {
			panic(http.ErrAbortHandler)
		}
	}
	finish := "stop"
	for i, tool := range tools {
		key := s.key(a.step, i)
		a.chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprint("c", a.step, "-", i), "function": map[string]string{"name": tool, "arguments": arguments(tool, key)}}}})
		finish = "tool_calls"
	}
	_, _ = fmt.Fprintf(a.rw, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", finish, a.size/4)
	_ = http.NewResponseController(a.rw).Flush()
	if a.kills {
		pauseBriefly()
		a.world.reach(afterAnswer, a.token)
	}
}

func (a *modelAnswer) chunk(delta any) {
	text, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta}}})
	a.world.must(err)
	_, _ = fmt.Fprintf(a.rw, "data: %s\n\n", text)
	_ = http.NewResponseController(a.rw).Flush()
}

// pauseBriefly lets the sidecar take its next steps, as far as it gets.
func pauseBriefly() { time.Sleep(time.Duration(time.Now().UnixNano()%4) * time.Millisecond) }
