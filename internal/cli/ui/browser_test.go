// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// pollTimeout bounds the wait for a change of the page, and tabTimeout all that a test does in the tab. A machine with other
// work is slow.
const pollTimeout, tabTimeout = 2 * time.Minute, 10 * time.Minute

// browser is Chromium with one tab.
type browser struct {
	context.Context //nolint:containedctx // it is how chromedp passes the tab
	mu              sync.Mutex
	// problems are the errors in the console. They include violations of the content security policy.
	problems []string
}

// startBrowser starts Chromium. It skips the test if Chromium is missing, and with -short.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil || testing.Short() {
		t.Skip("needs Chromium: apt-get install -y chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1200, 800))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	tab, stop := context.WithTimeout(tab, tabTimeout)
	t.Cleanup(stop)
	b := &browser{Context: tab}
	chromedp.ListenTarget(tab, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				b.problems = append(b.problems, string(e.Entry.Source)+": "+e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		}
	})
	b.run(t, log.Enable(), runtime.Enable())
	return b
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		b.clean(t)
		t.Fatal(err)
	}
}

// awaitText waits until an element contains a text.
func (b *browser) awaitText(t *testing.T, selector, text string) {
	t.Helper()
	b.run(t, chromedp.Poll(fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%q)`, selector, text), nil, chromedp.WithPollingTimeout(pollTimeout)))
}

// clean fails the test if the console contains an error.
func (b *browser) clean(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Errorf("the console has errors:\n%s", strings.Join(b.problems, "\n"))
	}
}

func TestTheBrowserShowsChangesAndSearches(t *testing.T) {
	p := startPage(t)
	p.examples()
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.server.Address()), chromedp.WaitVisible("#a-team-editor"))
	<-p.watched
	b.awaitText(t, "#live", "Live")
	began := time.Now()
	p.set("archivist", map[string]any{"displayName": "Archivist"})
	b.awaitText(t, "#agents", "Archivist")
	t.Logf("a change is visible after %d ms", time.Since(began).Milliseconds())
	p.set("painter", map[string]any{"displayName": "Painter", "ready": false, "reason": "NewReason"})
	b.awaitText(t, "#agents", "NewReason")
	b.run(t, chromedp.SendKeys("#q", "curren"))
	b.awaitText(t, "#count", "1 agent for “curren”")
	b.run(t, chromedp.Navigate(p.base+"agents/team/researcher"))
	b.awaitText(t, "#description", "Summarize documents")
	b.awaitText(t, "#live", "Live")
	p.set("researcher", map[string]any{"displayName": "Renamed"})
	b.awaitText(t, "h1", "Renamed")
	b.clean(t)
	p.setDown(true)
	b.awaitText(t, "#live", "Connection lost")
	p.setDown(false)
	b.awaitText(t, "#live", "Live")
}

// hostile is a corpus of texts that a page must not execute. Each one would set the title of the page.
var hostile = []string{
	`<script>document.title='bad'</script>`, `<img src=x onerror="document.title='bad'">`, `"><svg onload="document.title='bad'">`,
	`javascript:document.title='bad'`, `'-alert(1)-'`, `</textarea></title></style></pre><script>document.title='bad'</script>`,
	`<iframe srcdoc="<script>parent.document.title='bad'</script>">`, `<style>@import url(https://evil.example/x.css)</style>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<base href=https://evil.example/>`, `<form action=https://evil.example/><button autofocus>`,
	`<a href="javascript:document.title='bad'">x</a>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=document.title='bad'>`,
	`${document.title='bad'}{{constructor.constructor("document.title='bad'")()}}`, `@literal@");document.title='bad';//`, "\u2028document.title='bad'",
	`data:text/html,<script>document.title='bad'</script>`, `<details open ontoggle=document.title='bad'>`, `<!--><img src=x onerror=document.title='bad'>-->`,
}

// TestTheBrowserRunsNoTextOfAnAgent shows the corpus in cards, conditions, answers, questions, files and tasks.
func TestTheBrowserRunsNoTextOfAnAgent(t *testing.T) {
	p := startPage(t)
	for i, text := range hostile {
		line, err := json.Marshal(map[string]string{"text": text + " "})
		if err != nil {
			t.Fatal(err)
		}
		file, err := json.Marshal(map[string]any{"kind": "artifact-update", "artifact": map[string]any{"artifactId": text, "name": text, "parts": []any{
			map[string]any{"kind": "file", "file": map[string]any{"name": text, "mimeType": "text/html", "bytes": "PHNjcmlwdD4="}},
			map[string]any{"kind": "file", "file": map[string]any{"name": text, "mimeType": "image/svg+xml", "uri": "https://evil.example/a.svg"}},
			map[string]any{"kind": "data", "data": map[string]any{text: text}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("evil-", i)
		p.serve(t, name, sidecartest.NDJSONAgent(string(line), string(file)))
		p.set(name, map[string]any{
			"displayName": text, "description": text, "documentationUrl": text, "ready": false, "reason": text, "version": text,
			"externalURL": text, "provider": map[string]any{"organization": text},
			"skills": []any{map[string]any{"id": text, "name": text, "description": text, "tags": []string{text}, "examples": []string{text}}},
		})
	}
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base), chromedp.WaitVisible(fmt.Sprint("#a-team-evil-", len(hostile)-1)))
	<-p.watched
	p.set("last", nil) // the stream of changes sends it as a fragment of the page
	b.run(t, chromedp.WaitVisible("#a-team-last"))
	var title string
	for i, text := range hostile {
		b.run(t, chromedp.Navigate(fmt.Sprint(p.base, "agents/team/evil-", i)), chromedp.WaitVisible("#h-skills"),
			chromedp.SetValue("#message", text), chromedp.Click("#submit"))
		b.awaitText(t, "#log", "completed")
		b.run(t, chromedp.Title(&title))
		if strings.Contains(title, "bad") {
			t.Errorf("the title is %s", title)
		}
		var foreign int
		b.run(t, chromedp.Evaluate(`document.querySelectorAll('#log script, #log iframe, #log svg, #log form, #log style, main img, main base, main meta, main [onerror]').length`, &foreign))
		if foreign != 0 {
			t.Errorf("%s makes %d elements", text, foreign)
		}
	}
	b.clean(t) // a violation of the policy is an error of the console
}

// TestTenThousandAgentsAreShownInPages also changes 50 of them in a second, while the page is open and while it is hidden.
func TestTenThousandAgentsAreShownInPages(t *testing.T) {
	p := startPage(t)
	agents := make([]map[string]any, 10_000)
	for i := range agents {
		agents[i] = map[string]any{"namespace": "team", "name": fmt.Sprint("agent-", i), "description": strings.Repeat("words ", 30), "ready": true, "updatedAt": time.Now().UTC().Add(-time.Hour)}
	}
	p.mu.Lock()
	p.agents = agents
	p.mu.Unlock()
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base), chromedp.WaitVisible("#a-team-agent-99"))
	var paint float64
	b.run(t, chromedp.Poll(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`, &paint))
	t.Logf("first contentful paint after %.0f ms", paint)
	b.awaitText(t, "#live", "Live")
	<-p.watched
	changed := 0
	change := func(span time.Duration) int64 {
		before := p.sent.Load()
		ticker := time.NewTicker(time.Second / 50)
		defer ticker.Stop()
		for end := time.Now().Add(span); time.Now().Before(end); <-ticker.C {
			i := changed * 7919 % len(agents)
			if changed%100 == 0 {
				i = changed / 100 % 100 // a visible one
			}
			changed++
			p.mu.Lock()
			agents[i] = map[string]any{"namespace": "team", "name": fmt.Sprint("agent-", i), "description": fmt.Sprint(strings.Repeat("words ", 30), changed), "ready": true, "updatedAt": time.Now().UTC()}
			p.mu.Unlock()
			p.notify(fmt.Sprint("agent-", i))
		}
		return p.sent.Load() - before
	}
	open := change(20 * time.Second)
	last := fmt.Sprintf("words %d", (changed-1)/100*100+1)
	b.awaitText(t, "#agents", last)
	b.awaitText(t, "#a-team-agent-99", "agent-99")
	var ages string
	b.run(t, chromedp.Evaluate(`[...document.querySelectorAll('.agents time')].map((time) => time.textContent).find((text) => text.endsWith('m ago'))`, &ages))
	if ages == "" {
		t.Error("no row has the age of an unchanged agent")
	}
	b.run(t, chromedp.Evaluate(`Object.defineProperty(document, 'hidden', { get: () => true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`, nil))
	hidden := change(3 * time.Second)
	b.run(t, chromedp.Evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`, nil))
	b.awaitText(t, "#agents", fmt.Sprintf("words %d", (changed-1)/100*100+1))
	t.Logf("%d changes; %d bytes in 20 s, %d bytes in 3 s while hidden", changed, open, hidden)
	if open > 100_000 || hidden > 2_000 {
		t.Errorf("the page received %d bytes in 20 s, and %d bytes in 3 s while hidden", open, hidden)
	}
	b.clean(t)
}
