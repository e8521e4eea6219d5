// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

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
	tab, stop := context.WithTimeout(tab, 2*time.Minute)
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
		t.Fatal(err)
	}
}

// awaitText waits until an element contains a text.
func (b *browser) awaitText(t *testing.T, selector, text string) {
	t.Helper()
	b.run(t, chromedp.Poll(fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%q)`, selector, text), nil, chromedp.WithPollingTimeout(30*time.Second)))
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

// screenshot writes docs/images/<name>.png if UPDATE_SCREENSHOTS is set.
func (b *browser) screenshot(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("UPDATE_SCREENSHOTS") == "" {
		return
	}
	var image []byte
	b.run(t, chromedp.CaptureScreenshot(&image))
	directory := filepath.Join("..", "..", "..", "docs", "images")
	if err := os.MkdirAll(directory, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, name+".png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
}

// examples adds agents to the registry that are typical of a cluster.
func (f *registry) examples() {
	skill := func(id, name string) map[string]any {
		return map[string]any{"id": id, "name": name, "description": name + ", with the source of each fact.", "tags": []string{"text"}, "examples": []string{"What changed last week?"}}
	}
	now := time.Now().UTC()
	for i, agent := range []map[string]any{
		{"name": "editor", "displayName": "Editor", "description": "Corrects the language of a text and explains each change.", "skills": []any{skill("correct", "Correct"), skill("shorten", "Shorten")}},
		{"name": "painter", "displayName": "Painter", "description": "Draws a picture from a description.", "ready": false, "reason": "ImagePullFailed", "skills": []any{skill("draw", "Draw")}},
		{"name": "rates", "displayName": "Exchange rates", "description": "Converts amounts between currencies by the rates of the central bank.", "remote": true, "skills": []any{skill("convert", "Convert"), skill("history", "History")}},
		{
			"name": "researcher", "displayName": "Researcher", "description": "Answers questions from the documents of the company, and names its sources.", "version": "2.1.0",
			"url": "http://researcher.team.svc.cluster.local/", "externalURL": "https://agents.example.com/researcher/", "provider": map[string]any{"organization": "Example Corp."},
			"capabilities": map[string]any{"streaming": true, "pushNotifications": true}, "defaultInputModes": []string{"text/plain", "application/pdf"}, "defaultOutputModes": []string{"text/markdown"},
			"skills": []any{skill("answer", "Answer questions"), skill("summarize", "Summarize documents"), skill("compare", "Compare"), skill("cite", "Cite"), skill("watch", "Watch topics")},
		},
		{"name": "translator", "displayName": "Translator", "description": "Translates between 40 languages.", "ready": false, "reason": "ReplicasUnavailable", "skills": []any{skill("translate", "Translate")}},
	} {
		agent["updatedAt"] = now.Add(-time.Duration(i*i+1) * 7 * time.Minute).Format(time.RFC3339)
		f.set(agent["name"].(string), agent)
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
	b.awaitText(t, "#fragment", "Archivist")
	t.Logf("a change is visible after %d ms", time.Since(began).Milliseconds())
	p.set("painter", map[string]any{"displayName": "Painter", "ready": false, "reason": "NewReason"})
	b.awaitText(t, "#fragment", "NewReason")
	b.run(t, chromedp.SendKeys("#q", "curren"))
	b.awaitText(t, "#count", "1 agent for “curren”")
	b.run(t, chromedp.Navigate(p.base+"agents/team/researcher"))
	b.awaitText(t, "#fragment", "Summarize documents")
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

func TestThePageFits320Pixels(t *testing.T) {
	p := startPage(t)
	p.examples()
	p.set(strings.Repeat("long", 15), map[string]any{"description": strings.Repeat("word", 60), "ready": false, "reason": "ReplicasUnavailable"})
	b := startBrowser(t)
	dark := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})
	for _, path := range []string{"", "agents/team/researcher", "agents/team/researcher/card"} {
		var width int
		b.run(t, dark, chromedp.EmulateViewport(320, 640), chromedp.Navigate(p.base+path), chromedp.WaitVisible("h1"), chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
		if width > 320 {
			t.Errorf("%q is %d pixels wide", path, width)
		}
	}
	b.clean(t)
}

func TestTenThousandAgentsDoNotDelayTheFirstPaint(t *testing.T) {
	p := startPage(t)
	p.mu.Lock()
	for i := range 10_000 {
		p.agents = append(p.agents, map[string]any{"namespace": "team", "name": fmt.Sprint("agent-", i), "description": strings.Repeat("words ", 30), "ready": true})
	}
	p.mu.Unlock()
	b := startBrowser(t)
	best := math.Inf(1) // the best of three attempts counts, because other tests use the processor at the same time
	for range 3 {
		var paint float64
		b.run(t, chromedp.Navigate(p.base), chromedp.WaitVisible("#a-team-agent-99"),
			chromedp.Poll(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`, &paint))
		best = min(best, paint)
	}
	t.Logf("first contentful paint after %.0f ms", best)
	if best > 1000 {
		t.Errorf("the first paint is after %.0f ms", best)
	}
	b.clean(t)
}

// picture sets the color scheme and the size of the tab, and disables animations.
func picture(scheme string, width, height int64) chromedp.Tasks {
	return chromedp.Tasks{
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.EmulateViewport(width, height),
	}
}

// TestTheBrowserWritesTheScreenshots writes the screenshots of the documentation if UPDATE_SCREENSHOTS is set.
func TestTheBrowserWritesTheScreenshots(t *testing.T) {
	if os.Getenv("UPDATE_SCREENSHOTS") == "" {
		t.Skip("UPDATE_SCREENSHOTS writes docs/images")
	}
	p := startPage(t)
	p.example(t)
	b := startBrowser(t)
	for name, view := range map[string]struct {
		scheme        string
		width, height int64
		path          string
	}{
		"ui-list":   {"light", 1200, 560, ""},
		"ui-dark":   {"dark", 1200, 560, ""},
		"ui-narrow": {"light", 320, 640, ""},
		"ui-agent":  {"light", 1200, 1100, "agents/team/researcher"},
		"ui-broken": {"dark", 1200, 760, "agents/team/painter"},
	} {
		b.run(t, picture(view.scheme, view.width, view.height), chromedp.Navigate(p.base+view.path), chromedp.WaitVisible("h1"))
		b.awaitText(t, "#live", "Live")
		if name == "ui-agent" {
			b.run(t, chromedp.SendKeys("#message", "What changed last week?"), chromedp.Click("#submit"))
			b.awaitText(t, "#log", "completed")
			b.awaitText(t, "#tasks", "completed")
			b.run(t, chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		}
		b.screenshot(t, name)
	}
}

// example calls examples, and makes one of these agents callable.
func (f *registry) example(t *testing.T) {
	t.Helper()
	f.examples()
	var researcher map[string]any
	for _, agent := range f.agents {
		if agent["name"] == "researcher" {
			researcher = agent
		}
	}
	f.serve(t, "researcher", sidecartest.NDJSONAgent(`{"text":"Two things changed:\n\n"}`, `{"text":"1. The travel policy allows trains of the first class (policy.pdf, page 4).\n"}`, `{"text":"2. The holidays of 2027 are fixed (intranet, 18 November)."}`))
	f.set("researcher", researcher)
}
