// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// serve starts the sidecar of an agent, which the page can call.
func (f *registry) serve(t *testing.T, name string, agent http.HandlerFunc) {
	t.Helper()
	f.set(name, map[string]any{"url": "http://" + name + ".team.svc.cluster.local/"})
	f.sidecars[name] = sidecartest.Start(t, agent).URL
}

// connect returns a client for the sidecar of an agent.
func (f *registry) connect(ctx context.Context, _, name string) (*client.Client, func(), error) {
	f.mu.Lock()
	unreachable := f.unreachable
	f.mu.Unlock()
	if unreachable {
		return nil, nil, failure.New(failure.Unreachable, "%s cannot be reached", name)
	}
	address, ok := f.sidecars[name]
	if !ok {
		return nil, nil, failure.New(failure.AuthFailed, "you may not call %s", name).WithHint("ask for a Role")
	}
	card, err := a2aclient.ReadCard(ctx, http.DefaultClient, address)
	if err != nil {
		return nil, nil, err
	}
	client, err := a2aclient.New(card, a2aclient.Options{HTTP: http.DefaultClient})
	return client, func() {}, err
}

// setUnreachable sets whether connections to agents are refused.
func (f *registry) setUnreachable(unreachable bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unreachable = unreachable
}

// post sends a form to the page of an agent, and returns the response and a function that reads
// the next update.
func post(t *testing.T, p *page, path string, fields map[string]string, header ...string) (*http.Response, func() update) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"agents/team/"+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	decoder := json.NewDecoder(response.Body)
	return response, func() update {
		t.Helper()
		var u update
		if err := decoder.Decode(&u); err != nil {
			t.Fatalf("no further update: %v", err)
		}
		return u
	}
}

// lastOf reads all updates, and returns the last one and the texts of all of them.
func lastOf(t *testing.T, next func() update) (last update, text string) {
	t.Helper()
	var all strings.Builder
	rest := map[string]string{}
	for {
		u := next()
		for _, part := range u.Parts {
			all.WriteString(part.Text + part.HTML + part.Data)
			if part.Markdown {
				rest[u.Artifact] = part.Rest
			}
		}
		if u.Ended {
			for _, html := range rest {
				all.WriteString(html)
			}
			return u, all.String()
		}
	}
}

func TestAnAnswerArrivesWhileTheAgentWritesIt(t *testing.T) {
	proceed := make(chan struct{})
	p := startPage(t)
	p.serve(t, "held", sidecartest.HeldAgent(proceed))
	_, next := post(t, p, "held/send", map[string]string{"text": "Hello"})
	for u := next(); len(u.Parts) == 0; u = next() {
		if u.Ended {
			t.Fatalf("the answer ends with %+v", u)
		}
	}
	close(proceed)
	if last, text := lastOf(t, next); last.State != "completed" || !strings.Contains(text, "two") {
		t.Errorf("the answer ends with %+v, %q", last, text)
	}
}

func TestAnAnsweredQuestionContinuesTheTask(t *testing.T) {
	p := startPage(t)
	p.serve(t, "asking", sidecartest.AskingAgent)
	_, next := post(t, p, "asking/send", map[string]string{"text": "Hello"})
	asked, text := lastOf(t, next)
	if !asked.Waits || text != "<p>Which?</p>\n" || asked.Task == "" {
		t.Fatalf("the question is %+v, %q", asked, text)
	}
	_, next = post(t, p, "asking/send", map[string]string{"text": "This", "task": asked.Task, "context": asked.Context})
	if last, text := lastOf(t, next); last.State != "completed" || last.Task != asked.Task || !strings.Contains(text, "That one") {
		t.Errorf("the answer is %+v, %q", last, text)
	}
}

func TestATaskIsCanceled(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	p := startPage(t)
	p.serve(t, "held", sidecartest.HeldAgent(proceed))
	_, next := post(t, p, "held/send", map[string]string{"text": "Hello"})
	var u update
	for u.Task == "" || len(u.Parts) == 0 {
		u = next()
	}
	_, result := post(t, p, "held/tasks/"+u.Task+"/cancel", nil)
	if got := result(); got.State != "canceled" || !got.Ended {
		t.Errorf("the cancel is %+v", got)
	}
	if last, _ := lastOf(t, next); last.State != "canceled" {
		t.Errorf("the answer ends with %+v", last)
	}
	if _, result = post(t, p, "held/tasks/none/cancel", nil); result().Problem == "" {
		t.Error("the cancel of an unknown task has no error")
	}
}

func TestFailedMessagesReportTheCause(t *testing.T) {
	p := startPage(t)
	p.serve(t, "echo", sidecartest.TextAgent)
	for name, test := range map[string]struct {
		path, text, want string
	}{
		"no right": {"closed/send", "Hello", "you may not call closed"},
		"empty":    {"echo/send", " ", "empty"},
		"too long": {"echo/send", strings.Repeat("a", maxMessage), "too large"},
	} {
		_, next := post(t, p, test.path, map[string]string{"text": test.text})
		if u := next(); !strings.Contains(u.Problem, test.want) || u.Hint == "" && name != "empty" || !u.Ended {
			t.Errorf("%s: %+v", name, u)
		}
	}
	_, next := post(t, p, "echo/send", map[string]string{"text": "Hello"})
	if last, _ := lastOf(t, next); last.State != "completed" {
		t.Errorf("afterwards: %+v", last)
	}
}

func TestOtherPagesSendNoMessage(t *testing.T) {
	p := startPage(t)
	p.serve(t, "echo", sidecartest.TextAgent)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		for _, path := range []string{"echo/send", "echo/tasks/t/cancel"} {
			response, _ := post(t, p, path, map[string]string{"text": "Hello"}, header...)
			if response.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v has the status %d", path, header, response.StatusCode)
			}
			_, _ = io.Copy(io.Discard, response.Body)
		}
	}
}

func TestFilesOfAnAgentAreImagesByTheirContentOnly(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for name, test := range map[string]struct {
		part a2a.Part
		want shownPart
	}{
		"image":      {a2a.Part{Content: a2a.ContentRaw, Raw: png, Filename: "a.png", MediaType: "image/png"}, shownPart{Name: "a.png", Type: "image/png", Content: png, Image: true}},
		"no image":   {a2a.Part{Content: a2a.ContentRaw, Raw: []byte("<script>"), Filename: "a.png", MediaType: "image/png"}, shownPart{Name: "a.png", Type: "application/octet-stream", Content: []byte("<script>")}},
		"svg":        {a2a.Part{Content: a2a.ContentRaw, Raw: []byte("<svg onload=x>"), MediaType: "image/svg+xml"}, shownPart{Name: "file", Type: "application/octet-stream", Content: []byte("<svg onload=x>")}},
		"path":       {a2a.Part{Content: a2a.ContentRaw, Filename: `..\..//.bashrc`}, shownPart{Name: "bashrc", Type: "application/octet-stream"}},
		"other host": {a2a.Part{Content: a2a.ContentURL, URL: "https://evil.example/\u202ea.png"}, shownPart{URL: `https://evil.example/\u202ea.png`}},
		"data":       {a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"a":"\u202e"}`), Filename: "report.json"}, shownPart{Name: "report.json", Data: "{\n  \"a\": \"\\u202e\"\n}"}},
		"text":       {a2a.Part{Content: a2a.ContentText, Text: "a\x1b[2J\nb", MediaType: "text/plain"}, shownPart{Text: "a\\x1b[2J\nb"}},
	} {
		if got := newTranscript().message([]a2a.Part{test.part})[0]; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is %+v, want %+v", name, got, test.want)
		}
	}
}

func TestASnapshotReplacesArtifactsAndEndsWithTheState(t *testing.T) {
	task := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateCompleted}}
	for _, id := range []string{"a", "b"} {
		task.Artifacts = append(task.Artifacts, a2a.Artifact{ID: id, Parts: []a2a.Part{{Content: a2a.ContentText, Text: id}}})
	}
	got := newTranscript().updates(&a2a.Event{Task: task})
	if len(got) != 3 || got[0].Artifact != "t/a" || got[1].Artifact != "t/b" || got[0].Append || got[1].Ended || got[2].State != "completed" || !got[2].Ended {
		t.Errorf("the updates are %+v", got)
	}
}

func TestTheBrowserShowsAConversation(t *testing.T) {
	proceed := make(chan struct{})
	p := startPage(t)
	p.serve(t, "held", sidecartest.HeldAgent(proceed))
	p.serve(t, "asking", sidecartest.AskingAgent)
	p.serve(t, "painter", sidecartest.NDJSONAgent(
		`{"text":"<img src=x onerror=alert(1)>"}`,
		`{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"file","file":{"name":"dot.png","mimeType":"image/png","bytes":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}}`))
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base+"agents/team/held"), chromedp.SendKeys("#message", "Hello, it's me"))
	b.awaitText(t, "#code-kubectl", `kubectl a2a send team/held 'Hello, it'\''s me'`)
	b.awaitText(t, "#code-curl", "SendStreamingMessage")
	b.run(t, chromedp.Click("#submit"))
	b.awaitText(t, "#log", "one") // the agent has not written the rest
	close(proceed)
	b.awaitText(t, "#log", "one two")
	b.awaitText(t, "#log", "completed")
	b.run(t, chromedp.Navigate(p.base+"agents/team/asking"), chromedp.SendKeys("#message", "Hello"), chromedp.Click("#submit"))
	b.awaitText(t, "#task", "waits for your answer")
	b.run(t, chromedp.SendKeys("#message", "This"), chromedp.Click("#submit"))
	b.awaitText(t, "#log", "That one")
	b.run(t, chromedp.Navigate(p.base+"agents/team/painter"), chromedp.SendKeys("#message", "Draw"), chromedp.Click("#submit"))
	b.awaitText(t, "#log", "Download dot.png (70 bytes)")
	b.awaitText(t, "#log", "<img src=x")
	b.run(t, chromedp.Poll(`document.querySelector('#log img')?.naturalWidth === 1`, nil))
	b.clean(t)
}

func TestTheBrowserKeepsAPausedTaskWhenCallsFail(t *testing.T) {
	p := startPage(t)
	p.serve(t, "asking", sidecartest.AskingAgent)
	b := startBrowser(t)
	visible := chromedp.Poll(`!document.getElementById('cancel').hidden`, nil, chromedp.WithPollingTimeout(pollTimeout))
	b.run(t, chromedp.Navigate(p.base+"agents/team/asking"), chromedp.SendKeys("#message", "Hello"), chromedp.Click("#submit"))
	b.awaitText(t, "#task", "waits for your answer")
	p.setUnreachable(true)
	b.run(t, chromedp.SendKeys("#message", "This"), chromedp.Click("#submit"))
	b.awaitText(t, "#log", "asking cannot be reached")
	b.awaitText(t, "#task", "waits for your answer")
	b.run(t, visible, chromedp.Click("#cancel"),
		chromedp.Poll(`document.querySelectorAll('#log .bad').length === 2`, nil, chromedp.WithPollingTimeout(pollTimeout)), visible)
	p.setUnreachable(false)
	b.run(t, chromedp.SendKeys("#message", "This"), chromedp.Click("#submit"))
	b.awaitText(t, "#log", "That one")
	b.awaitText(t, "#tasks", "completed")
	var tasks int
	b.run(t, chromedp.Evaluate(`document.querySelectorAll('#tasks button.open').length`, &tasks))
	if tasks != 1 {
		t.Errorf("the answer began a task of its own: %d tasks", tasks)
	}
	b.clean(t)
}

func TestTheBrowserShowsEachWordBeforeTheAgentWritesTheNext(t *testing.T) {
	words := []string{"The ", "answer ", "comes ", "word ", "by ", "word."}
	proceed := make(chan struct{})
	p := startPage(t)
	p.serve(t, "writer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, word := range words {
			line, _ := json.Marshal(map[string]string{"text": word})
			_, _ = w.Write(append(line, '\n'))
			_ = http.NewResponseController(w).Flush()
			<-proceed
		}
	})
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base+"agents/team/writer"), chromedp.SendKeys("#message", "Hello"), chromedp.Click("#submit"))
	shown := ""
	for _, word := range words {
		shown += word
		// Wait until an element of the answer contains exactly the words that the agent has written so far.
		b.run(t, chromedp.Poll(fmt.Sprintf(`[...document.querySelectorAll('#log .said:not(.mine)')].some((e) => e.textContent.trim() === %q)`, strings.TrimSpace(shown)), nil, chromedp.WithPollingTimeout(pollTimeout)))
		proceed <- struct{}{}
	}
	b.awaitText(t, "#log", "completed")
	b.clean(t)
}
