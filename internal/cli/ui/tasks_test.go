// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// events reads the updates of a task.
func events(t *testing.T, p *page, agent, task string) func() update {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"agents/team/"+agent+"/tasks/"+task+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	decoder := json.NewDecoder(response.Body)
	return func() update {
		t.Helper()
		var u update
		if err := decoder.Decode(&u); err != nil {
			t.Fatalf("no further update: %v", err)
		}
		return u
	}
}

func TestATaskThatRunsIsListedFirstAndItsEventsFollow(t *testing.T) {
	proceed := make(chan struct{})
	p := startPage(t)
	p.serve(t, "held", sidecartest.HeldAgent(proceed))
	if _, body := get(t, p.base+"agents/team/held/tasks"); !strings.Contains(body, "There are no tasks") {
		t.Errorf("without tasks, the list is %s", body)
	}
	_, next := post(t, p, "held/send", map[string]string{"text": "Hello"})
	var sent update
	for sent.Task == "" || len(sent.Parts) == 0 {
		sent = next()
	}
	if _, body := get(t, p.base+"agents/team/held/tasks"); !strings.Contains(body, sent.Task) || !strings.Contains(body, ">Hello</button>") || !strings.Contains(body, "working") || !strings.Contains(body, "data-open") {
		t.Errorf("the list is %s", body)
	}
	follow := events(t, p, "held", sent.Task)
	var own, states []string
	for len(states) == 0 || states[len(states)-1] != "working" {
		u := follow()
		if u.Own {
			own = append(own, u.Parts[0].Text)
		}
		if u.State != "" {
			states = append(states, u.State)
		}
	}
	if len(own) != 1 || own[0] != "Hello" {
		t.Errorf("the messages of the caller are %q", own)
	}
	close(proceed)
	if last, text := lastOf(t, follow); last.State != "completed" || last.Time == "" || !strings.Contains(text, "two") {
		t.Errorf("the events end with %+v, %q", last, text)
	}
	if _, body := get(t, p.base+"agents/team/held/tasks"); strings.Contains(body, "data-open") || !strings.Contains(body, "completed") {
		t.Errorf("afterwards the list is %s", body)
	}
	// A task that has ended has the same events as the running task.
	if last, text := lastOf(t, events(t, p, "held", sent.Task)); last.State != "completed" || !strings.Contains(text, "two") {
		t.Errorf("the events of an ended task end with %+v, %q", last, text)
	}
	if u := events(t, p, "held", "none")(); !u.Ended || u.Problem == "" {
		t.Errorf("an unknown task has %+v", u)
	}
	if _, body := get(t, p.base+"agents/team/closed/tasks"); !strings.Contains(body, "you may not call closed") || !strings.Contains(body, "ask for a Role") {
		t.Errorf("without a right, the list is %s", body)
	}
}

// TestAnOpenedTaskShowsItsSteps opens a task of an agent without code while it works and after its end: the steps are those that the page shows
// live.
func TestAnOpenedTaskShowsItsSteps(t *testing.T) {
	proceed := make(chan struct{})
	p := startPage(t)
	line := func(w http.ResponseWriter, text string) {
		_, _ = io.WriteString(w, text+"\n")
		w.(http.Flusher).Flush()
	}
	p.serve(t, "stepping", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		line(w, `{"kind":"status-update","status":{"state":"working"}}`)
		for i := range 3 {
			line(w, stepOf(fmt.Sprintf(`"tool":"look","source":"the test","outcome":"done","durationMilliseconds":%d00`, i+1)))
		}
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		line(w, stepOf(`"tool":"look","source":"the test","outcome":"done","durationMilliseconds":400`))
		line(w, `{"text":"It is tea."}`)
	})
	stepsOf := func(next func() update, until func(update) bool) (steps []string) {
		t.Helper()
		for {
			u := next()
			if u.Step != "" {
				steps = append(steps, u.Step)
			}
			if until(u) {
				return steps
			}
		}
	}
	third := "look: done after 300ms"
	_, next := post(t, p, "stepping/send", map[string]string{"text": "Look"})
	task := ""
	live := stepsOf(next, func(u update) bool { task = u.Task; return u.Step == third })
	opened := events(t, p, "stepping", task)
	if steps := stepsOf(opened, func(u update) bool { return u.Step == third }); !slices.Equal(steps, live) {
		t.Errorf("a task that works shows %q, live %q", steps, live)
	}
	close(proceed)
	hasEnded := func(u update) bool { return u.Ended }
	live = append(live, stepsOf(next, hasEnded)...)
	if len(live) != 4 {
		t.Fatalf("live, the page shows %q", live)
	}
	if steps := stepsOf(opened, hasEnded); !slices.Equal(steps, live[3:]) {
		t.Errorf("the opened task then shows %q", steps)
	}
	if steps := stepsOf(events(t, p, "stepping", task), hasEnded); !slices.Equal(steps, live) {
		t.Errorf("a task that has ended shows %q, live %q", steps, live)
	}
}

func TestTheBrowserOpensATaskAndAnswersItsQuestion(t *testing.T) {
	p := startPage(t)
	p.serve(t, "asking", sidecartest.AskingAgent)
	_, next := post(t, p, "asking/send", map[string]string{"text": "Find it"})
	asked, _ := lastOf(t, next)
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base+"agents/team/asking"), chromedp.WaitVisible("#tasks button.open"))
	b.awaitText(t, "#tasks", "input-required")
	b.run(t, chromedp.Click("#tasks button.open"))
	b.awaitText(t, "#log", "Find it")
	b.awaitText(t, "#task", "waits for your answer")
	b.awaitText(t, "#code-python", asked.Task)
	b.run(t, chromedp.SendKeys("#message", "This"), chromedp.Click("#submit"))
	b.awaitText(t, "#log", "That one")
	b.awaitText(t, "#tasks", "completed")
	b.clean(t)
}
