// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/html"
)

// get returns the status and the body of a page.
func get(t *testing.T, address string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s has no security headers: %v", address, response.Header)
	}
	return response.StatusCode, string(text)
}

func TestTheAddressOpensThePageOnce(t *testing.T) {
	p := startPage(t)
	p.set("echo", nil)
	if status, body := get(t, p.server.Address()); status != http.StatusOK || !strings.Contains(body, "team/echo") {
		t.Errorf("the address leads to %d %s", status, body)
	}
	if status, body := get(t, p.server.Address()); status != http.StatusGone || strings.Contains(body, p.server.secret) {
		t.Errorf("the second time it leads to %d %s", status, body)
	}
}

func TestRequestsWithoutTheSecretAndOfOtherHostsAreRefused(t *testing.T) {
	p := startPage(t)
	p.set("echo", nil)
	root := "http://" + p.server.host
	for name, test := range map[string]struct {
		address, host string
		want          int
	}{
		"root":         {root + "/", p.server.host, http.StatusNotFound},
		"other secret": {root + "/" + strings.Repeat("A", len(p.server.secret)) + "/", p.server.host, http.StatusNotFound},
		"static files": {root + "/static/ui.js", p.server.host, http.StatusNotFound},
		"other code":   {root + "/open/x", p.server.host, http.StatusNotFound},
		"rebound name": {p.base, "evil.example", http.StatusMisdirectedRequest},
		"other port":   {p.base, "127.0.0.1:1", http.StatusMisdirectedRequest},
		"localhost":    {p.base, strings.Replace(p.server.host, "127.0.0.1", "localhost", 1), http.StatusOK},
	} {
		if status, body := get(t, test.address, "Host", test.host); status != test.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, test.want)
		}
	}
}

func TestThePageLoadsItsOwnFilesOnly(t *testing.T) {
	p := startPage(t)
	for _, name := range []string{"static/ui.js", "static/ui.css", "static/icon.svg"} {
		if status, body := get(t, p.base+name); status != http.StatusOK || strings.Contains(body, "//fonts") || body == "" {
			t.Errorf("%s: %d", name, status)
		}
	}
}

func TestTheListHasPagesOf100AndSearchesInTheRegistry(t *testing.T) {
	p := startPage(t)
	for i := range 250 {
		p.set(fmt.Sprintf("agent-%03d", i), map[string]any{"ready": i != 7, "reason": "ImagePullFailed"})
	}
	_, body := get(t, p.base)
	if got := strings.Count(body, `id="a-`); got != 100 || !strings.Contains(body, "250 agents") || !strings.Contains(body, "ImagePullFailed") {
		t.Errorf("the first page has %d agents: %s", got, body)
	}
	next := attribute(t, body, "rel", "next", "href")
	if _, body = get(t, p.base+next); strings.Count(body, `id="a-`) != 100 || !strings.Contains(body, "agent-150") {
		t.Errorf("the next page %q is %s", next, body)
	}
	_, body = get(t, p.base+"?q=agent-07&ready=true", "Fragment", "1")
	if strings.Count(body, `id="a-`) != 10 || strings.Contains(body, "<html") || !strings.Contains(body, "best match first") {
		t.Errorf("the fragment is %s", body)
	}
	if last := p.searches[len(p.searches)-1]; last != "limit=100&namespace=team&q=agent-07&ready=true" {
		t.Errorf("the registry gets the query %q", last)
	}
	if status, _ := get(t, p.base+"?q="+strings.Repeat("%C3%A4", 2000)); status != http.StatusOK {
		t.Errorf("a long search has the status %d", status)
	}
}

func TestThePageOfAnAgentHasConditionsSkillsAndCards(t *testing.T) {
	p := startPage(t)
	p.set("echo", map[string]any{
		"displayName": "Echo", "url": "http://echo.team.svc.cluster.local/", "externalURL": "https://echo.example/", "version": "1.2.0",
		"skills": []any{map[string]any{"id": "say", "name": "Say it", "description": "Says it.", "tags": []string{"text"}, "examples": []string{"Hello"}}},
	})
	p.set("forbidden", nil)
	p.mu.Lock()
	p.card = `{"name":"VERSION","x":"\u202e"}`
	p.mu.Unlock()
	_, body := get(t, p.base+"agents/team/echo")
	for _, want := range []string{"ImagePullFailed", "image &lt;none&gt; cannot be pulled", "Say it", "https://echo.example/", "1.2.0", "Accepted", "card?version=1.0"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if _, body = get(t, p.base+"agents/team/forbidden"); !strings.Contains(body, "you may not get agents") || !strings.Contains(body, "ask for a Role") {
		t.Errorf("the page without the right to read the Agent is %s", body)
	}
	if status, body := get(t, p.base+"agents/team/nobody"); status != http.StatusNotFound || !strings.Contains(body, "no such agent") {
		t.Errorf("the page of an unknown agent is %d %s", status, body)
	}
	for version, want := range map[string]string{"?version=1.0": "&#34;1.0&#34;", "": "&#34;&#34;", "?version=7": "no card of version"} {
		if _, body := get(t, p.base+"agents/team/echo/card"+version); !strings.Contains(body, want) || strings.Contains(body, "\u202e") {
			t.Errorf("the card %q is %s", version, body)
		}
	}
	if _, body := get(t, p.base+"agents/team/echo/card?version=1.0&download"); body != `{"name":"1.0","x":"\u202e"}` {
		t.Errorf("the download is %s", body)
	}
}

// TestHostileTextsStayText renders pages with a corpus of hostile texts in every field.
func TestHostileTextsStayText(t *testing.T) {
	for name, text := range map[string]string{
		"script":    `<script>alert(1)</script>`,
		"attribute": `" onmouseover="alert(1)" x="`,
		"single":    `' onfocus='alert(1)`,
		"comment":   `--><img src=x onerror=alert(1)>`,
		"close":     `</textarea></title></style></pre><svg onload=alert(1)>`,
		"link":      `javascript:alert(1)`,
		"data":      `data:text/html,<script>alert(1)</script>`,
		"template":  `{{.Secret}}${alert(1)}`,
		"bidi":      "abc\u202egnp.exe\u2066",
		"control":   "\x1b[2J\x00\x07",
		"megabytes": strings.Repeat("A<b>", 1<<19),
		"no utf-8":  "\xff\xfe<img src=x>",
	} {
		t.Run(name, func(t *testing.T) {
			p := startPage(t)
			skill := map[string]any{"id": text, "name": text, "description": text, "tags": []string{text}, "examples": []string{text}}
			p.set("evil", map[string]any{
				"displayName": text, "description": text, "version": text, "provider": map[string]any{"organization": text, "url": text}, "reason": text, "ready": false,
				"documentationUrl": text, "url": text, "externalURL": text, "skills": []any{skill}, "defaultInputModes": []string{text}, "defaultOutputModes": []string{text},
			})
			card, err := json.Marshal(map[string]any{"name": text, text: text})
			if err != nil {
				t.Fatal(err)
			}
			p.mu.Lock()
			p.card = string(card)
			p.mu.Unlock()
			for _, path := range []string{"", "?q=" + strings.Repeat("%3Cscript%3E", 9), "agents/team/evil", "agents/team/evil/card", "?ready=%22%3E%3Cscript%3E"} {
				_, body := get(t, p.base+path)
				if strings.ContainsAny(body, "\u202e\u2066\x1b\x00\x07") || len(body) > 2<<20 {
					t.Errorf("%s: %d bytes with characters that hide others", path, len(body))
				}
				inert(t, body)
			}
		})
	}
}

// inert fails the test if a page has a script, an event handler, a style or a link that is not in the templates.
func inert(t *testing.T, body string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(body))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		switch token.Data {
		case "img", "svg", "iframe", "style", "object", "b":
			if token.Type == html.StartTagToken {
				t.Errorf("the page has %s", token)
			}
		}
		for _, a := range token.Attr {
			switch value := strings.ToLower(strings.TrimSpace(a.Val)); {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("the page has the attribute %s=%s", a.Key, a.Val)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "#") && !strings.HasPrefix(value, "?") {
					t.Errorf("the page links %s", a.Val)
				}
			}
		}
		if token.Data == "script" && token.Type == html.StartTagToken && len(token.Attr) != 2 {
			t.Errorf("the page has %s", token)
		}
	}
}

// attribute finds the element whose attribute `key` has the given value, and returns the value of its attribute `name`.
func attribute(t *testing.T, body, key, value, name string) string {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(body))
	for tokens.Next() != html.ErrorToken {
		found := map[string]string{}
		for _, a := range tokens.Token().Attr {
			found[a.Key] = a.Val
		}
		if found[key] == value {
			return found[name]
		}
	}
	t.Fatalf("no element has %s=%s", key, value)
	return ""
}

// change is the data of one event in the stream of changes.
type change struct {
	Changed bool
	Problem string
}

// stream reads the events of a page.
func stream(t *testing.T, p *page) func(until func(change) bool) change {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"changes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func(until func(change) bool) change {
		t.Helper()
		for lines.Scan() {
			text, ok := strings.CutPrefix(lines.Text(), "data: ")
			var got change
			if ok && json.Unmarshal([]byte(text), &got) == nil && until(got) {
				return got
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return change{}
	}
}

func TestAPageReceivesEachChange(t *testing.T) {
	p := startPage(t)
	next := stream(t, p)
	next(func(s change) bool { return s.Changed })
	<-p.watched
	p.set("echo", nil)
	next(func(s change) bool { return s.Changed })
}

func TestALostRegistryIsReportedAndTheWatchResumes(t *testing.T) {
	p := startPage(t)
	next := stream(t, p)
	next(func(s change) bool { return s.Changed })
	<-p.watched
	p.set("echo", nil)
	next(func(s change) bool { return s.Changed })
	p.setDown(true)
	lost := next(func(s change) bool { return s.Problem != "" })
	if !strings.Contains(lost.Problem, "registry") {
		t.Errorf("the problem is %q", lost.Problem)
	}
	if status, body := get(t, p.base); status != http.StatusBadGateway || !strings.Contains(body, `role="alert"`) {
		t.Errorf("the list without a registry is %d %s", status, body)
	}
	p.setDown(false)
	next(func(s change) bool { return s.Problem == "" })
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.resumed[len(p.resumed)-1]; last != "r1" {
		t.Errorf("the watch resumes with %q", last)
	}
}

func TestTheEndOfTheContextEndsOpenStreams(t *testing.T) {
	p := startPage(t)
	next := stream(t, p)
	next(func(s change) bool { return s.Changed })
	p.stop()
	err := <-p.stopped
	p.stopped <- err
	if err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// TestIdleConnectionsMakeRoom opens more connections than the server has memory for. Each of them is served, because the server
// closes idle ones.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	p := startPage(t)
	request := "GET /" + p.server.secret + "/static/icon.svg HTTP/1.1\r\nHost: " + p.server.host + "\r\n\r\n"
	var first *bufio.Reader
	for i := range 400 {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.server.host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(connection)
		if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("connection %d has the response %q %v", i, line, err)
		}
		if first == nil {
			first = reader
		}
	}
	if _, err := io.Copy(io.Discard, first); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the first connection is not closed: %v", err)
	}
}
