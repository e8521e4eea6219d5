// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/aggregatecard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// call sends a JSON body to the directory agent.
func (w *world) call(t *testing.T, token, target, body string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder.Result()
}

// cardJSON has the members of a card of any version that the tests compare.
type cardJSON struct {
	Name, Description, URL string
	SupportedInterfaces    []struct{ URL, ProtocolBinding, ProtocolVersion string }
	Capabilities           struct {
		Streaming, ExtendedAgentCard bool
		Extensions                   []struct {
			URI    string
			Params struct {
				Agents     []map[string]string
				Total      int
				NextCursor string
			}
		}
	}
	SupportsAuthenticatedExtendedCard bool
	Skills                            []struct {
		ID, Name, Description string
		Tags, InputModes      []string
	}
	SecuritySchemes map[string]any
}

func readCard(t *testing.T, text string) *cardJSON {
	t.Helper()
	c := &cardJSON{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return c
}

func (c *cardJSON) skillIDs() []string {
	ids := []string{}
	for _, s := range c.Skills {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestPublicCardNeedsNoToken(t *testing.T) {
	w := newWorld(t, fleet(t))
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} {
		response := w.get(t, "", path)
		text := bodyOf(t, response)
		c := readCard(t, text)
		if response.StatusCode != http.StatusOK || c.URL != "http://registry.test/" || !c.SupportsAuthenticatedExtendedCard || !c.Capabilities.ExtendedAgentCard {
			t.Errorf("%s = %d %s", path, response.StatusCode, text)
		}
		if diff := cmp.Diff([]string{"find-agents", "get-card"}, c.skillIDs()); diff != "" {
			t.Errorf("%s: skills (-want +got):\n%s", path, diff)
		}
		if len(c.SecuritySchemes) != 1 || strings.Contains(text, "GRPC") {
			t.Errorf("%s = %s, want the bearer scheme and no gRPC", path, text)
		}
	}
	if vary := w.get(t, "", "/.well-known/agent.json").Header.Values("Vary"); !slices.Contains(vary, "Authorization") {
		t.Errorf("Vary = %q, want Authorization, because a token changes the response", vary)
	}
	if etag := w.get(t, "", "/.well-known/agent-card.json").Header.Get("ETag"); w.get(t, "", "/.well-known/agent-card.json", "If-None-Match", etag).StatusCode != http.StatusNotModified {
		t.Error("an unchanged card was sent again")
	}
}

// aggregateRequests has the requests for the aggregate card: one for each version and binding of
// A2A. Each function sends its request as the caller of token, and returns the card in the
// response.
var aggregateRequests = map[string]func(t *testing.T, w *world, token string) string{
	"agent.json of 0.1": func(t *testing.T, w *world, token string) string {
		return bodyOf(t, w.get(t, token, "/.well-known/agent.json"))
	},
	"path of 0.2": func(t *testing.T, w *world, token string) string {
		return bodyOf(t, w.get(t, token, "/agent/authenticatedExtendedCard"))
	},
	"JSON-RPC 0.3": func(t *testing.T, w *world, token string) string {
		return resultOf(t, w.call(t, token, "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`))
	},
	"JSON-RPC 1.0": func(t *testing.T, w *world, token string) string {
		return resultOf(t, w.call(t, token, "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "A2A-Version", "1.0"))
	},
	"REST 0.3": func(t *testing.T, w *world, token string) string { return bodyOf(t, w.get(t, token, "/v1/card")) },
	"REST 1.0": func(t *testing.T, w *world, token string) string {
		return bodyOf(t, w.get(t, token, "/extendedAgentCard", "A2A-Version", "1.0"))
	},
}

func resultOf(t *testing.T, response *http.Response) string {
	t.Helper()
	body := bodyOf(t, response)
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result == nil {
		t.Fatalf("%d %s: %v", response.StatusCode, body, err)
	}
	return string(answer.Result)
}

func TestAggregateCardHasTheSkillsThatItsCallerSees(t *testing.T) {
	w := newWorld(t, fleet(t))
	own := []string{"find-agents", "get-card"}
	for name, request := range aggregateRequests {
		for token, want := range map[string][]string{
			"admin": {"team-a.echo.echo", "team-a.writer.write", "team-a.writer.edit", "team-b.echo.echo", "team-b.echo.repeat", "team-c.painter.paint", "team-d.secret.echo"},
			"home":  {"team-a.echo.echo", "team-a.writer.write", "team-a.writer.edit"},
			"dev":   {"team-b.echo.echo", "team-b.echo.repeat", "team-c.painter.paint"},
			"none":  {},
		} {
			t.Run(name+" for "+token, func(t *testing.T) {
				text := request(t, w, token)
				c := readCard(t, text)
				if diff := cmp.Diff(slices.Concat(own, want), c.skillIDs()); diff != "" {
					t.Errorf("skills (-want +got):\n%s", diff)
				}
				if token != "admin" && strings.Contains(text, "team-d") {
					t.Errorf("a hidden agent is on the card: %s", text)
				}
				if token != "dev" {
					return
				}
				painter := c.Skills[len(c.Skills)-1]
				if painter.Description != "Does paint\nAgent team-c/painter at http://painter.team-c/" || !slices.Equal(painter.InputModes, []string{"text/plain"}) {
					t.Errorf("skill = %+v", painter)
				}
				extension := c.Capabilities.Extensions[0]
				if extension.URI != aggregatecard.AgentsExtension || extension.Params.Total != 2 || extension.Params.NextCursor != "" ||
					extension.Params.Agents[1]["url"] != "http://painter.team-c/" || extension.Params.Agents[1]["externalURL"] != "https://agents.example/painter" {
					t.Errorf("extension = %+v", extension)
				}
			})
		}
	}
}

// TestAggregateCardHidesAgents checks that the card of a cluster with hidden agents equals, byte
// by byte, the card of a cluster without them.
func TestAggregateCardHidesAgents(t *testing.T) {
	with := newWorld(t, fleet(t))
	without := newWorld(t, snapshotOf(
		makeEntry(t, index.Key{Namespace: "team-b", Name: "echo"}, true, "echo", "repeat"),
		makeEntry(t, index.Key{Namespace: "team-c", Name: "painter"}, true, "paint"),
	))
	for name, request := range aggregateRequests {
		if diff := cmp.Diff(request(t, without, "dev"), request(t, with, "dev")); diff != "" {
			t.Errorf("%s (-without +with hidden agents):\n%s", name, diff)
		}
	}
}

func TestAggregateCardNamesTheNextPage(t *testing.T) {
	var entries []*index.Entry
	for i := range 250 {
		entries = append(entries, makeEntry(t, index.Key{Namespace: "many", Name: fmt.Sprintf("agent-%03d", i)}, true, "work"))
	}
	w := newWorld(t, snapshotOf(entries...))
	c := readCard(t, aggregateRequests["JSON-RPC 1.0"](t, w, "admin"))
	params := c.Capabilities.Extensions[0].Params
	if len(c.Skills) != 202 || len(params.Agents) != 200 || params.Total != 250 || params.NextCursor == "" {
		t.Errorf("%d skills, %d agents, total %d, cursor %q", len(c.Skills), len(params.Agents), params.Total, params.NextCursor)
	}
	if !strings.Contains(c.Description, "200 of the 250 agents") || !strings.Contains(c.Description, params.NextCursor) {
		t.Errorf("description = %s", c.Description)
	}
	page := w.find(t, "admin", `{"data":{"cursor":"`+params.NextCursor+`"}}`)
	if len(page.Items) != 50 || page.Items[0].Name != "agent-200" || page.Total != 250 {
		t.Errorf("the rest = %d items of %d, the first %+v", len(page.Items), page.Total, page.Items[0])
	}
}

// send10 sends a message of A2A 1.0. parts is the JSON of its parts, and more is the JSON of
// further members of the message, such as getCard.
func (w *world) send10(t *testing.T, token, parts, more string) (status int, body string) {
	t.Helper()
	response := w.call(t, token, "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[`+parts+`]`+more+`}}}`, "A2A-Version", "1.0")
	return response.StatusCode, bodyOf(t, response)
}

const getCard = `,"metadata":{"a2a-operator.dev/skill":"get-card"}`

// find calls the skill find-agents with a message of A2A 1.0, and returns the data of the answer.
func (w *world) find(t *testing.T, token, parts string) listing {
	t.Helper()
	status, body := w.send10(t, token, parts, "")
	var answer struct {
		Result struct {
			Message struct {
				Parts []struct {
					Data json.RawMessage
					Text string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Message.Parts) != 2 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	var l listing
	if err := json.Unmarshal(answer.Result.Message.Parts[0].Data, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFindAgentsIsASearch compares the answers of the skill find-agents with the responses of
// GET /v1/agents.
func TestFindAgentsIsASearch(t *testing.T) {
	w := newWorld(t, fleet(t))
	for name, test := range map[string]struct{ token, parts, query string }{
		"all":         {"admin", `{"data":{}}`, ""},
		"skill":       {"admin", `{"data":{"skill":"echo"}}`, "?skill=echo"},
		"two skills":  {"admin", `{"data":{"skill":["echo","repeat"]}}`, "?skill=echo&skill=repeat"},
		"ranked":      {"admin", `{"text":"the painter of team-c"}`, "?q=the+painter+of+team-c"},
		"text, ready": {"admin", `{"data":{"ready":true}},{"text":"echo"}`, "?q=echo&ready=true"},
		"a page":      {"admin", `{"data":{"limit":2}}`, "?limit=2"},
		"own":         {"home", `{"data":{"skill":"echo"}}`, "?skill=echo"},
		"by RBAC":     {"dev", `{"text":"echo"}`, "?q=echo"},
		"hidden":      {"dev", `{"data":{"namespace":"team-d"}}`, "?namespace=team-d"},
		"nothing":     {"none", `{"data":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := w.list(t, test.token, "/v1/agents"+test.query)
			want.Revision = ""
			if diff := cmp.Diff(want, w.find(t, test.token, test.parts)); diff != "" {
				t.Errorf("(-GET /v1/agents +find-agents):\n%s", diff)
			}
		})
	}
}

func TestGetCardReturnsTheCardOfTheClientsVersion(t *testing.T) {
	w := newWorld(t, fleet(t))
	want := func(version string) string {
		return bodyOf(t, w.get(t, "dev", "/v1/agents/team-c/painter/card", "A2A-Version", version))
	}
	_, body := w.send10(t, "dev", `{"data":{"namespace":"team-c","name":"painter"}}`, getCard)
	if !strings.Contains(body, `{"data":`+want("1.0")) {
		t.Errorf("1.0: %s", body)
	}
	body = bodyOf(t, w.call(t, "dev", "/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user",`+
		`"parts":[{"kind":"text","text":"team-c/painter"}]`+getCard+`}}}`))
	if !strings.Contains(body, `"data":`+want("0.3")) {
		t.Errorf("0.3: %s", body)
	}
	_, hidden := w.send10(t, "dev", `{"text":"team-d/secret"}`, getCard)
	_, missing := newWorld(t, snapshotOf()).send10(t, "dev", `{"text":"team-d/secret"}`, getCard)
	if hidden != missing || !strings.Contains(hidden, `"reason":"INVALID_PARAMS"`) {
		t.Errorf("hidden: %s\nmissing: %s", hidden, missing)
	}
}

func TestOldVersionsFindAgents(t *testing.T) {
	w := newWorld(t, fleet(t))
	const message03 = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"skill":"paint"}}]}}`
	const message01 = `{"id":"t-1","message":{"role":"user","parts":[{"type":"data","data":{"skill":"paint"}}]}}`
	for name, test := range map[string]struct {
		path, body, version string
		want                []string
	}{
		"0.1":             {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":` + message01 + `}`, "", []string{`"result":{"id":"t-1"`, `"state":"completed"`, `"type":"data"`}},
		"0.1, stream":     {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/sendSubscribe","params":` + message01 + `}`, "", []string{"data: ", `"final":true`, `"type":"data"`}},
		"0.2":             {"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message03 + `}`, "0.2", []string{`"kind":"message"`, `"kind":"data"`}},
		"0.3":             {"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + message03 + `}`, "0.3", []string{`"kind":"message"`, `"kind":"data"`}},
		"0.3, stream":     {"/", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":` + message03 + `}`, "0.3", []string{"data: ", `"kind":"message"`}},
		"0.3, REST":       {"/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"data":{"data":{"skill":"paint"}}}]}}`, "", []string{`"role":"ROLE_AGENT"`}},
		"1.0, REST":       {"/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"skill":"paint"}}]}}`, "1.0", []string{`"role":"ROLE_AGENT"`}},
		"1.0, stream":     {"/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"skill":"paint"}}]}}`, "1.0", []string{"data: ", `"role":"ROLE_AGENT"`}},
		"task of 0.1":     {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t-1"}}`, "0.1", []string{`"code":-32001`}},
		"task of 0.3":     {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t-1"}}`, "0.3", []string{`"code":-32001`}},
		"cancel of 1.0":   {"/tasks/t-1:cancel", `{}`, "1.0", []string{`"reason":"TASK_NOT_FOUND"`}},
		"push of 0.3":     {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"t-1","pushNotificationConfig":{"url":"https://x.test/"}}}`, "0.3", []string{`"code":-32003`}},
		"push of 1.0":     {"/", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t-1","url":"https://x.test/"}}`, "1.0", []string{`"code":-32003`}},
		"unknown version": {"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`, "7.0", []string{`"reason":"VERSION_NOT_SUPPORTED"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var header []string
			if test.version != "" {
				header = []string{"A2A-Version", test.version}
			}
			body := bodyOf(t, w.call(t, "admin", test.path, test.body, header...))
			for _, want := range test.want {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
			if !strings.Contains(body, "error") && (!strings.Contains(body, `"painter"`) || strings.Contains(body, `"writer"`)) {
				t.Errorf("the answer is another one: %s", body)
			}
		})
	}
}

func TestMistakesAreErrorsOfA2A(t *testing.T) {
	w := newWorld(t, fleet(t))
	for name, test := range map[string]struct{ parts, more, want string }{
		"unknown parameter": {`{"data":{"skil":"x"}}`, "", "skil: is not a parameter of this search"},
		"limit":             {`{"data":{"limit":999}}`, "", "limit: must be a number from 1 to 200"},
		"a watch":           {`{"data":{"watch":true}}`, "", "watch: is not a parameter of this search"},
		"cursor":            {`{"data":{"cursor":"x"}}`, "", "cursor: is not a cursor of this registry"},
		"cursor of a build": {`{"data":{"cursor":"M3RlYW0vYQ"}}`, "", "cursor: is not a cursor of this registry"},
		"wrong type":        {`{"data":{"limit":{"x":1}}}`, "", "limit: must be a string, a number"},
		"no object":         {`{"data":[1]}`, "", "must be an object with parameters"},
		"repeated":          {`{"data":{"limit":1,"limit":2}}`, "", "Invalid JSON"},
		"twice":             {`{"data":{"namespace":["a","b"]}}`, "", "namespace: is repeated 2 times"},
		"another case":      {`{"data":{"Skill":"x"}}`, "", "Skill: is not a parameter"},
		"long value":        {`{"data":{"tag":"` + strings.Repeat("x", 513) + `"}}`, "", "tag: is longer than 512 bytes"},
		"long name":         {`{"data":{"` + strings.Repeat("x", 60<<10) + `":1}}`, "", "xxx…: is not a parameter"},
		"two queries":       {`{"data":{"q":"x"}},{"text":"y"}`, "", "send one of them"},
		"no word":           {`{"text":"?!"}`, "", "q: has no word"},
		"a long text":       {`{"text":"` + strings.Repeat("x ", 300) + `"}`, "", "q: is longer than 512 bytes"},
		"card of two":       {`{"data":{"namespace":"team-c","name":"painter"}},{"text":"team-c/other"}`, getCard, "send one of them"},
		"unknown card data": {`{"data":{"namespace":"team-c","name":"painter","version":"1.0"}}`, getCard, "version: is not a member"},
		"card of a number":  {`{"data":{"namespace":3,"name":"painter"}}`, getCard, "namespace: must be a string"},
		"card of a path":    {`{"text":"../../etc"}`, getCard, "must name one agent"},
		"unknown skill":     {`{"text":"x"}`, `,"metadata":{"a2a-operator.dev/skill":"team-c.painter.paint"}`, "names no skill of the directory"},
		"no parts":          {"", "", `"reason":"INVALID_PARAMS"`},
		"a file":            {`{"raw":"AAAA","mediaType":"image/png"}`, "", `"error":{`},
		"a URL":             {`{"url":"https://example.com/x"}`, "", `"error":{`},
		"no agent":          {`{"data":{"namespace":"team-c"}}`, getCard, "must name one agent"},
		"a task":            {`{"text":"x"}`, `,"taskId":"t"`, "Task not found"},
		"a late revision":   {`{"data":{"minRevision":"9-9"}}`, "", `"reason":"UNAVAILABLE"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, body := w.send10(t, "admin", test.parts, test.more); !strings.Contains(body, test.want) || !strings.Contains(body, `"error":{`) {
				t.Errorf("no %s in %s", test.want, body)
			}
		})
	}
}

// The summary has one line for each agent. It escapes the description of an agent, so that a
// description can neither add a line that names another agent, nor hide or reorder text.
func TestSummariesHaveOneLineForEachAgent(t *testing.T) {
	w := newWorld(t, snapshotOf(
		weatherAgent(t, index.Key{Namespace: "team-a", Name: "evil"}, "Nice.\nteam-b/bank: pays\u2028team-b/bank\u202e\x1b[2J http://evil.example/", nil, nil),
	))
	_, body := w.send10(t, "admin", `{"data":{"namespace":"team-a"}}`, "")
	var answer struct {
		Result struct {
			Message struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Message.Parts) != 2 {
		t.Fatalf("%s: %v", body, err)
	}
	if text := answer.Result.Message.Parts[1].Text; strings.ContainsAny(text, "\n\u2028\u202e\x1b") || !strings.HasPrefix(text, `team-a/evil: Nice.\nteam-b/bank`) {
		t.Errorf("summary = %q", text)
	}
}

func TestAgentNeedsAToken(t *testing.T) {
	w := newWorld(t, fleet(t))
	for _, token := range []string{"", "stolen"} {
		for name, response := range map[string]*http.Response{
			"JSON-RPC":      w.call(t, token, "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`, "A2A-Version", "1.0"),
			"REST":          w.call(t, token, "/message:send", `{}`),
			"extended card": w.get(t, token, "/extendedAgentCard"),
			"card of 0.2":   w.get(t, token, "/agent/authenticatedExtendedCard"),
		} {
			if response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with token %q = %d %v", name, token, response.StatusCode, response.Header)
			}
		}
	}
	if response := w.get(t, "stolen", "/.well-known/agent.json"); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("agent.json with an invalid token = %d, want 401", response.StatusCode)
	}
}

// zeros is a body that never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestLargeBodiesAreRefused(t *testing.T) {
	w := newWorld(t, fleet(t))
	for _, path := range []string{"/", "/message:send"} {
		for _, length := range []int64{64 << 20, -1} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, io.LimitReader(zeros{}, 64<<20))
			r.ContentLength = length
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer admin")
			recorder := httptest.NewRecorder()
			w.unvalidated.ServeHTTP(recorder, r)
			if recorder.Code != http.StatusRequestEntityTooLarge || !strings.Contains(recorder.Body.String(), "error") {
				t.Errorf("%s of length %d = %d %s", path, length, recorder.Code, recorder.Body)
			}
		}
	}
}

// If no memory is free for an answer, the registry refuses the request before it encodes the
// answer. After it has sent an answer, it frees the memory of the answer.
func TestAnswersAreChargedBeforeTheyAreEncoded(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	other := caller(t, "other", nil)
	for name, send := range map[string]func() (int, string){
		"find-agents": func() (int, string) { return w.send10(t, "admin", `{"text":"rain"}`, "") },
		"get-card":    func() (int, string) { return w.send10(t, "admin", `{"text":"team-a/rain"}`, getCard) },
		"aggregate card": func() (int, string) {
			response := w.get(t, "admin", "/extendedAgentCard")
			return response.StatusCode, bodyOf(t, response)
		},
	} {
		w.api.searchLimits.responses = limit.NewBudget(1<<10, time.Millisecond)
		full, err := w.api.searchLimits.reserve(t.Context(), principalOf(&other), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := send(); !strings.Contains(body, "too many large responses") {
			t.Errorf("%s without memory = %d %s", name, status, body)
		}
		full()
		w.api.searchLimits.responses.Set(1 << 20)
		if status, body := send(); status != http.StatusOK || strings.Contains(body, `"error"`) {
			t.Errorf("%s with memory = %d %s", name, status, body)
		}
		if used := w.api.searchLimits.responses.Used(); used != 0 {
			t.Errorf("%s: %d bytes stay charged", name, used)
		}
	}
}
