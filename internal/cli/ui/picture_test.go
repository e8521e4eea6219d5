// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	webui "github.com/a2a-operator/a2a-operator/internal/web/ui"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// picture sets the color scheme and the size of the tab, and disables animations.
func picture(scheme string, width, height int64) chromedp.Tasks {
	return chromedp.Tasks{
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.EmulateViewport(width, height),
	}
}

// situation is what a picture shows: a path, and what happens there.
type situation struct {
	path string
	// act brings the page into the situation. It may be nil.
	act func(t *testing.T, b *browser)
}

// say writes a message, sends it, and waits until the conversation contains a text.
func say(message, until string) func(*testing.T, *browser) {
	return func(t *testing.T, b *browser) {
		t.Helper()
		b.run(t, chromedp.SendKeys("#message", message+"\r"))
		b.awaitText(t, "#log", until)
		b.awaitText(t, "#tasks", strings.Fields(message)[0])
		b.run(t, chromedp.Poll(`document.getElementById('progress').hidden`, nil, chromedp.WithPollingTimeout(pollTimeout)))
	}
}

var situations = map[string]situation{
	"list":         {"", nil},
	"empty":        {"?q=nothing", nil},
	"agent":        {"agents/team/researcher", nil},
	"broken":       {"agents/team/painter", nil},
	"hostile":      {"agents/team/" + hostileName, nil},
	"conversation": {"agents/team/researcher", sayAndStep},
	"approval":     {"agents/team/cleaner", say("Clean up the old releases", "Approve delete_release?")},
	"decision":     {decisionPath, nil},
	"toolong":      {tooLongPath, nil},
	"choices":      {"agents/team/planner", say("Plan the trip", "Which class?")},
	"question":     {"agents/team/bank", say("Pay the bill", "What is the PIN?")},
}

// sayAndStep sends a message to an agent that shows its steps, which are folded, and opens the task again, which shows the same steps.
func sayAndStep(t *testing.T, b *browser) {
	t.Helper()
	say("What changed last week?", "completed")(t, b)
	for _, open := range []chromedp.Tasks{nil, {chromedp.Click("#fresh"), chromedp.WaitNotVisible("#log"), chromedp.Click("#tasks button.open")}} {
		b.run(t, open)
		b.awaitText(t, "details.steps:not([open]) summary", "3 steps, the last: read_document: failed after 300ms")
		b.awaitText(t, ".steps li", "calls search_documents (MCP server http://documents.team/mcp)")
		b.awaitText(t, "#log", "policy.pdf")
	}
}

// decisionPath is the path of the page of the manager on which people decide about calls, and tooLongPath that of one whose calls are too long.
// The base of pages with these paths is p.decisions.
const decisionPath, tooLongPath = "decision", "too-long"

// decisions starts a server that also serves the page on which people decide about calls, and returns its base URL.
func (p *page) decisions(t *testing.T) string {
	t.Helper()
	target, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
	}}
	shown := webui.Approval{
		Layout: webui.Layout{Title: "Approve calls of cleaner?", Heading: "A2A agents", Base: target.Path, Caller: "oidc:jane", Scope: "approvals"},
		Task:   "01a2281f-c46d-7be6-9cf1-b3d0206d7a0b", Owner: "jwt:https://login.example.com#jane", Until: "2026-11-29T18:00:00Z", Form: "x",
		Command: "kubectl a2a approve team/cleaner 01a2281f-c46d-7be6-9cf1-b3d0206d7a0b",
	}
	for i, tool := range []string{"delete_release", "archive_logs"} {
		shown.Calls = append(shown.Calls, webui.ApprovalCall{
			Index: i, Agent: "team/cleaner", Tool: tool, Source: "MCP server http://releases.team/mcp", Arguments: "{\n  \"release\": \"v1.2.3\",\n  \"force\": true\n}",
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/"+decisionPath) {
			webui.RenderApproval(w, http.StatusOK, &shown)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/"+tooLongPath) {
			other := shown
			other.Title = "Calls of cleaner"
			other.Calls = nil
			other.Outcome = "The calls and their arguments are too long for this page."
			webui.RenderApproval(w, http.StatusOK, &other)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + target.Path
}

// kept are the pictures of the documentation: a situation with the color scheme and the size.
var kept = map[string]struct {
	situation, scheme string
	width, height     int64
}{
	"ui-list":     {"list", "light", 1280, 620},
	"ui-dark":     {"list", "dark", 768, 760},
	"ui-narrow":   {"list", "light", 390, 700},
	"ui-empty":    {"empty", "dark", 1280, 260},
	"ui-agent":    {"conversation", "light", 1280, 1120},
	"ui-broken":   {"broken", "dark", 1280, 900},
	"ui-phone":    {"broken", "light", 390, 800},
	"ui-hostile":  {"hostile", "light", 768, 800},
	"ui-approval": {"approval", "light", 768, 860},
	"ui-wide":     {"conversation", "dark", 1920, 1000},
}

// brokenWords returns the words that a line break cuts. The names of types, reasons and agents are such words. Texts without a
// space that are longer than 36 characters may be cut, such as addresses.
const brokenWords = `(() => {
  const broken = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('pre, script')) continue;
    for (const { 0: text, index: start } of node.data.matchAll(/\S{2,}/g)) {
      for (const { 0: word, index } of text.length > 36 ? [] : text.matchAll(/[\p{L}\p{N}_]+/gu)) {
        range.setStart(node, start + index);
        range.setEnd(node, start + index + word.length);
        const tops = [...range.getClientRects()].map((rect) => Math.round(rect.top));
        if (tops.some((top) => top > tops[0] + 4)) broken.push(word);
      }
    }
  }
  return broken;
})()`

// TestNoWidthBreaksWords shows each situation at five widths, of which 320 pixels are those of a zoom of 400 %. With
// UPDATE_SCREENSHOTS, it writes the pictures of docs/images. UPDATE_SCREENSHOTS may name a directory, which then receives the
// pictures of all widths in both color schemes.
func TestNoWidthBreaksWords(t *testing.T) {
	p := startPage(t)
	p.example(t)
	b := startBrowser(t)
	update := os.Getenv("UPDATE_SCREENSHOTS")
	all := strings.ContainsRune(update, filepath.Separator)
	decisions := p.decisions(t)
	bases := map[string]string{decisionPath: decisions, tooLongPath: decisions}
	for name, s := range situations {
		b.run(t, picture("light", 1280, 900), chromedp.Navigate(cmp.Or(bases[s.path], p.base)+s.path), chromedp.WaitVisible("h1", chromedp.ByQuery))
		b.awaitText(t, "#live", "Live")
		if s.act != nil {
			s.act(t, b)
		}
		for _, width := range []int64{320, 390, 768, 1280, 1920} {
			var page struct {
				Width  int64
				Broken []string
			}
			b.run(t, picture("light", width, 900), chromedp.Evaluate(`({ width: document.documentElement.scrollWidth, broken: `+brokenWords+` })`, &page))
			if page.Width > width || len(page.Broken) > 0 {
				t.Errorf("%s at %d pixels: is %d wide, and breaks %q", name, width, page.Width, page.Broken)
			}
			for _, scheme := range []string{"light", "dark"} {
				if all {
					b.write(t, update, fmt.Sprintf("%s-%04d-%s", name, width, scheme), picture(scheme, width, 900), true)
				}
			}
		}
		for file, view := range kept {
			if update != "" && view.situation == name {
				b.write(t, filepath.Join("..", "..", "..", "docs", "images"), file, picture(view.scheme, view.width, view.height), false)
			}
		}
	}
	b.clean(t)
}

// write writes a picture of the tab, or of the whole page.
func (b *browser) write(t *testing.T, directory, name string, view chromedp.Action, whole bool) {
	t.Helper()
	var image []byte
	capture := chromedp.CaptureScreenshot(&image)
	if whole {
		capture = chromedp.FullScreenshot(&image, 100)
	}
	b.run(t, view, chromedp.Evaluate(`document.activeElement?.blur(); document.getElementById('log')?.scrollTo(0, 0); scrollTo(0, 0)`, nil), capture)
	if err := os.MkdirAll(directory, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, name+".png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hostileName is the name of an agent with texts that make a layout difficult.
const hostileName = "a-name-of-sixty-three-characters-which-is-the-longest-that-works"

// examples adds agents to the registry that are typical of a cluster.
func (f *registry) examples() {
	skill := func(id, name string) map[string]any {
		return map[string]any{"id": id, "name": name, "description": name + ", with the source of each fact.", "tags": []string{"text"}, "examples": []string{"What changed last week?", name + " of this month."}}
	}
	pulled := `The image "registry.example.com/images/painter:2026.11.3" of container "agent" cannot be pulled: Back-off pulling image "registry.example.com/images/painter:2026.11.3": failed to resolve reference: pull access denied, repository does not exist or may require authorization. Correct the image, or set imagePullSecrets in the template.`
	now := time.Now().UTC()
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-50 * time.Minute))}
	}
	for _, kind := range []string{"Accepted", "SkillsResolved", "Programmed", "Available", "CardPublished", "Exposed", "Ready"} {
		f.conditions["researcher"] = append(f.conditions["researcher"], condition(kind, "True", kind, ""))
	}
	f.conditions["painter"] = []metav1.Condition{
		condition("Accepted", "True", "Accepted", ""), condition("SkillsResolved", "True", "SkillsResolved", ""), condition("Programmed", "True", "Programmed", ""),
		condition("Available", "False", "ProgressDeadlineExceeded", pulled), condition("CardPublished", "Unknown", "ContainerConfigInvalid", "The card is published after the first pod is ready."),
		condition("Exposed", "False", "NetworkPolicyRejected", "The route waits for the Service."), condition("Ready", "False", "ProgressDeadlineExceeded", pulled), condition("Stalled", "True", "ProgressDeadlineExceeded", pulled),
	}
	many := make([]any, 0, 203)
	for i := range 203 {
		many = append(many, skill(fmt.Sprint("skill-", i), fmt.Sprint("Skill number ", i)))
	}
	many[0] = map[string]any{
		"id": strings.Repeat("long", 60), "name": "<b>Bold</b> & \u202ereversed\x1b[2J", "description": "مهارة تترجم النصوص الطويلة بين اللغات. " + strings.Repeat("Donaudampfschifffahrtsgesellschaft", 9),
		"tags": []string{strings.Repeat("tag", 20), "עברית"}, "examples": []string{"ترجم هذا النص", strings.Repeat("unbroken", 40)},
	}
	agents := []map[string]any{
		{"name": "editor", "displayName": "Editor", "description": "Corrects the language of a text and explains each change.", "skills": []any{skill("correct", "Correct"), skill("shorten", "Shorten")}},
		{"name": "painter", "displayName": "Painter", "description": "Draws a picture from a description.", "ready": false, "reason": "ProgressDeadlineExceeded", "skills": []any{skill("draw", "Draw")}},
		{"name": "rates", "displayName": "Exchange rates", "description": "Converts amounts between currencies by the rates of the central bank.", "remote": true, "skills": []any{skill("convert", "Convert"), skill("history", "History")}},
		{
			"name": "researcher", "displayName": "Researcher", "description": "Answers questions from the documents of the company, and names its sources.", "version": "2.1.0",
			"url": "http://researcher.team.svc.cluster.local/", "externalURL": "https://agents.example.com/researcher/", "provider": map[string]any{"organization": "Example Corp."},
			"capabilities": map[string]any{"streaming": true, "pushNotifications": true}, "defaultInputModes": []string{"text/plain", "application/pdf"}, "defaultOutputModes": []string{"text/markdown"},
			"skills": []any{skill("answer", "Answer questions"), skill("summarize", "Summarize documents"), skill("compare", "Compare"), skill("cite", "Cite"), skill("watch", "Watch topics")},
		},
		{"name": "scheduler", "displayName": "Scheduler", "description": "Finds a time at which everybody can meet.", "ready": false, "reason": "Suspended", "skills": []any{skill("meet", "Find a time")}},
		{"name": "translator", "displayName": "Translator", "description": "Translates between 40 languages.", "reason": "TaskStoreUnavailable", "skills": []any{skill("translate", "Translate")}},
		{
			"name": hostileName, "displayName": strings.Repeat("Name", 40), "description": "<script>alert(1)</script> " + strings.Repeat("https://example.com/a/very/long/address/", 8), "ready": false,
			"reason": "ImagePullFailed", "version": strings.Repeat("9", 90), "externalURL": "https://" + strings.Repeat("host", 50) + ".example/", "skills": many,
		},
	}
	for i, agent := range agents {
		agent["updatedAt"] = now.Add(-time.Duration(i*i+1) * 7 * time.Minute).Format(time.RFC3339)
		f.set(agent["name"].(string), agent)
	}
}

// answerInMarkdown is an answer with all that Markdown has, and an artifact with data.
var answerInMarkdown = []string{
	"Two things changed last week:\n\n", "1. The **travel policy** allows trains of the first class.\n", "2. The holidays of 2027 are [fixed](https://intranet.example.com/holidays?y=2027).\n\n",
	"| Route | Before | Now |\n|---|---:|---:|\n", "| Berlin to Munich | 2nd class | 1st class |\n| Hamburg to Berlin | 2nd class | 1st class |\n\n",
	"### How to book\n\n```sh\ntravel book --class 1 --from Berlin --to München\n```\n\n> All trips need `approval`.\n\nمرحبا بالعالم\n",
}

// example calls examples, and makes some agents callable.
func (f *registry) example(t *testing.T) {
	t.Helper()
	f.examples()
	var researcher map[string]any
	for _, agent := range f.agents {
		if agent["name"] == "researcher" {
			researcher = agent
		}
	}
	lines := []string{
		`{"kind":"status-update","status":{"state":"working"}}`,
		stepOf(`"tool":"search_documents","source":"MCP server http://documents.team/mcp"`),
		stepOf(`"tool":"search_documents","source":"MCP server http://documents.team/mcp","outcome":"done","durationMilliseconds":1240`),
		stepOf(`"tool":"read_document","source":"MCP server http://documents.team/mcp","outcome":"failed","durationMilliseconds":310`),
	}
	for _, text := range answerInMarkdown {
		line, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line), `{"kind":"status-update","status":{"state":"working"}}`)
	}
	lines = append(lines, `{"kind":"artifact-update","artifact":{"artifactId":"s","name":"Sources","parts":[{"kind":"data","data":{"documents":[{"name":"policy.pdf","page":4},{"name":"intranet","date":"2026-11-18"}]}}]}}`)
	f.serve(t, "researcher", sidecartest.NDJSONAgent(lines...))
	f.set("researcher", researcher)
	for _, name := range []string{"cleaner", "planner", "bank"} {
		f.conditions[name] = f.conditions["researcher"]
	}
	f.serve(t, "cleaner", deciding(approvalOf("delete_release", "archive_logs")))
	f.serve(t, "planner", deciding(`{"type":"ask_user_request","id":"q","questions":[{"question":"Which class?","choices":["First","Second"]},{"question":"Which days?","choices":["Monday","Tuesday"],"multiple":true},{"question":"Why?"}]}`))
	f.serve(t, "bank", asking(`"metadata":{"inputRequest":{"requestId":"pin","prompt":"PIN?","sensitive":true}},"parts":[{"kind":"text","text":"What is the **PIN**?"}]`))
}

// stepOf returns the event of a step of an agent without code.
func stepOf(members string) string {
	return `{"kind":"status-update","metadata":{"a2a-operator.dev/step":{"call":"call-1",` + members + `}},"status":{"state":"working"}}`
}

// approvalOf returns the content of a message that asks for the approval of tools.
func approvalOf(tools ...string) string {
	calls := make([]map[string]any, 0, len(tools))
	for i, name := range tools {
		calls = append(calls, map[string]any{"id": fmt.Sprint("id-", i), "call_id": "c", "name": name, "args": map[string]any{"release": "v1.2.3", "force": true, "namespaces": []string{"team", "other-team"}}})
	}
	text, _ := json.Marshal(map[string]any{"type": "tool_approval_request", "tools": calls}) // strings have a JSON form
	return string(text)
}

// deciding returns an agent that asks for a decision and then answers with the metadata of the message that decides.
func deciding(content string) http.HandlerFunc {
	return asking(`"extensions":["` + inputform.Extension + `"],"metadata":{"` + inputform.Extension + `":` + content + `},"parts":[{"kind":"text","text":"I need your decision."},{"kind":"data","data":{"ticket":"OPS-17"}}]`)
}

// asking returns an agent that asks with a message of these members. It answers with the metadata and the parts of the
// message that answers.
func asking(members string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			Task    json.RawMessage `json:"task"`
			Message struct {
				Parts      json.RawMessage `json:"parts"`
				Metadata   json.RawMessage `json:"metadata"`
				Extensions []string        `json:"extensions"`
			} `json:"message"`
		}
		_ = json.NewDecoder(r.Body).Decode(&turn)
		w.Header().Set("Content-Type", "application/x-ndjson")
		if turn.Task == nil {
			_, _ = fmt.Fprintf(w, `{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent",%s}}}`+"\n", members)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"metadata":%s,"decides":%t,"parts":%s}}]}}`+"\n",
			cmp.Or(string(turn.Message.Metadata), "null"), slices.Contains(turn.Message.Extensions, inputform.Extension), turn.Message.Parts)
	}
}
