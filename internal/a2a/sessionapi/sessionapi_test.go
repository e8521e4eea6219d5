// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// readings counts the readings of the clocks of all fixtures: each is a second after the one before.
var readings atomic.Int64

// fixture is a handler over a store.
type fixture struct {
	*Handler
	t     *testing.T
	store *memory.Store
}

func open(t *testing.T, s *memory.Store) *fixture {
	t.Helper()
	clock := func() time.Time { return time.Unix(readings.Add(1), 0).UTC() }
	return &fixture{New(Options{Store: s, Bodies: limit.NewBudget(64<<20, time.Second), Log: slog.New(slog.DiscardHandler), Now: clock}), t, s}
}

// begin begins a turn of alice in the conversation c1. task is the container's id of its task, "" for none.
func (f *fixture) begin(task string) (end func()) {
	return f.Begin(&backend.Turn{Owner: "alice", ContextID: "of c1"}, task, "c1", "alice")
}

// call sends a request, and returns the status and the response. header are names and values.
func (f *fixture) call(method, path, body string, header ...string) (int, string) {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// data sends a request that must succeed, and decodes the member data of the response.
func (f *fixture) data(method, path, body string, to any) {
	f.t.Helper()
	code, text := f.call(method, path, body)
	var envelope struct {
		Error   *bool
		Data    json.RawMessage
		Message string
	}
	if err := json.Unmarshal([]byte(text), &envelope); err != nil || code/100 != 2 || envelope.Error == nil || *envelope.Error || envelope.Message == "" {
		f.t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	if to != nil {
		if err := json.Unmarshal(envelope.Data, to); err != nil {
			f.t.Fatalf("%s %s: %s: %v", method, path, envelope.Data, err)
		}
	}
}

// refused sends a request that must be refused with a status and a text in the reason.
func (f *fixture) refused(status int, reason, method, path, body string, header ...string) {
	f.t.Helper()
	code, text := f.call(method, path, body, header...)
	var refusal struct{ Error string }
	if err := json.Unmarshal([]byte(text), &refusal); err != nil || code != status || !strings.Contains(refusal.Error, reason) {
		f.t.Errorf("%s %s: %d %s, want %d with %q", method, path, code, text, status, reason)
	}
}

func TestSession(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	end := f.begin("")
	f.refused(http.StatusNotFound, "no session yet", "GET", "/api/sessions/c1?user_id=alice", "")
	f.refused(http.StatusNotFound, "no session yet", "POST", "/api/sessions/c1/events", `{"id":"e0","data":"{}"}`)
	var created session
	f.data("POST", "/api/sessions?user_id=alice", `{"id":"c1","user_id":"alice","agent_ref":"team__NS__echo","name":"Hello"}`, &created)
	if created.ID != "c1" || created.UserID != "alice" || *created.Name != "Hello" {
		t.Errorf("session %+v", created)
	}
	var added [4]event
	for i := range added {
		f.data("POST", "/api/sessions/c1/events?user_id=alice", fmt.Sprintf(`{"id":"e%d","data":"{\"n\":%d}"}`, i, i), &added[i])
	}
	end()
	// Another process continues the conversation.
	f = open(t, f.store)
	defer f.begin("")()
	events := func(query string) []string {
		var got struct {
			Session session
			Events  []event
		}
		f.data("GET", "/api/sessions/c1?user_id=alice"+query, "", &got)
		if got.Session.ID != "c1" || got.Session.UserID != "alice" {
			t.Errorf("session %+v", got.Session)
		}
		var ids []string
		for _, e := range got.Events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for query, want := range map[string][]string{
		"":                    {"e0", "e1", "e2", "e3"},
		"&limit=-1&order=asc": {"e0", "e1", "e2", "e3"},
		"&limit=0":            {"e0", "e1", "e2", "e3"},
		"&limit=2":            {"e2", "e3"},
		"&limit=2&order=asc":  {"e0", "e1"},
		"&after=" + added[1].CreatedAt.Format(time.RFC3339): {"e2", "e3"},
	} {
		if diff := cmp.Diff(want, events(query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	f.refused(http.StatusBadRequest, "limit", "GET", "/api/sessions/c1?limit=x", "")
	f.refused(http.StatusBadRequest, "after", "GET", "/api/sessions/c1?after=x", "")
	f.data("DELETE", "/api/sessions/c1?user_id=alice", "", nil)
	f.refused(http.StatusNotFound, "no session yet", "GET", "/api/sessions/c1", "")
	// The session begins again without the former events.
	f.data("POST", "/api/sessions", `{"id":"c1"}`, nil)
	if got := events(""); len(got) > 0 {
		t.Errorf("events of a deleted session: %v", got)
	}
}

func TestTasks(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	end := f.begin("")
	f.refused(http.StatusNotFound, "task_id", "GET", "/api/tasks/t1", "")
	f.data("POST", "/api/tasks", `{"id":"t1","context_id":"c1","status":{"state":"working"}}`, nil)
	f.data("POST", "/api/tasks", `{"id":"t1","contextId":"c1","status":{"state":"input-required"}}`, nil)
	var task struct{ Status struct{ State string } }
	f.data("GET", "/api/tasks/t1", "", &task)
	if task.Status.State != "input-required" {
		t.Errorf("state %q", task.Status.State)
	}
	end()
	f.refused(http.StatusNotFound, "task_id", "GET", "/api/tasks/t1", "")

	// Another process continues the task, and keeps a bounded number of them.
	f = open(t, f.store)
	defer f.begin("t1")()
	f.data("GET", "/api/tasks/t1", "", &task)
	for i := range maxTasks {
		f.data("POST", "/api/tasks", fmt.Sprintf(`{"id":"n%d","context_id":"c1"}`, i), nil)
	}
	f.refused(http.StatusNotFound, "newest", "GET", "/api/tasks/t1", "")
	var all []struct{ ID string }
	f.data("GET", "/api/sessions/c1/tasks", "", &all)
	if len(all) != maxTasks || all[0].ID != "n0" {
		t.Errorf("%d tasks, the first %q", len(all), all[0].ID)
	}
	f.data("DELETE", "/api/tasks/n0", "", nil)
	f.refused(http.StatusNotFound, "not stored", "GET", "/api/tasks/n0", "")
}

func TestCheckpoints(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	defer f.begin("")()
	put := func(namespace, id string) {
		f.data("POST", "/api/langgraph/checkpoints", fmt.Sprintf(`{"thread_id":"c1","checkpoint_ns":%q,"checkpoint_id":%q,"parent_checkpoint_id":null,"checkpoint":"YQ==","metadata":"e30=","type_":"msgpack","version":4}`, namespace, id), nil)
	}
	type tuple struct {
		ID     string `json:"checkpoint_id"`
		Type   string `json:"type_"`
		Writes writes
	}
	list := func(query string) []tuple {
		var all []tuple
		f.data("GET", "/api/langgraph/checkpoints?thread_id=c1"+query, "", &all)
		return all
	}
	if got := list("&limit=1"); len(got) > 0 {
		t.Errorf("checkpoints before the first: %v", got)
	}
	put("", "00")
	// Writes of two tasks, of which one is repeated.
	f.data("POST", "/api/langgraph/checkpoints/writes", `{"thread_id":"c1","checkpoint_ns":"","checkpoint_id":"00","task_id":"b","writes":[{"idx":0,"channel":"x","type_":"json","value":"MQ=="}]}`, nil)
	f.data("POST", "/api/langgraph/checkpoints/writes", `{"thread_id":"c1","checkpoint_ns":"","checkpoint_id":"00","task_id":"a","writes":[{"idx":-3,"channel":"__interrupt__","type_":"json","value":"Mg=="}]}`, nil)
	f.data("POST", "/api/langgraph/checkpoints/writes", `{"thread_id":"c1","checkpoint_ns":"","checkpoint_id":"00","task_id":"b","writes":[{"idx":0,"channel":"x","type_":"json","value":"Mw=="}]}`, nil)
	got := list("&checkpoint_ns=&limit=1")
	want := []tuple{{ID: "00", Type: "msgpack", Writes: writes{ThreadID: "c1", ID: "00", TaskID: "b", Writes: []write{
		{-3, "__interrupt__", "json", "Mg=="}, {0, "x", "json", "Mw=="},
	}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range 3 * maxCheckpoints {
		put("sub", fmt.Sprintf("s%02d", i))
	}
	for i := range 3 * maxCheckpoints {
		put(fmt.Sprintf("sub:%d", i), fmt.Sprintf("u%02d", i))
	}
	if got := list(""); len(got) != 1 || got[0].ID != "00" || len(got[0].Writes.Writes) != 2 {
		t.Errorf("the newest checkpoint of the graph was dropped: %v", got)
	}
	put("", "01")
	if got := list("&limit=1"); len(got) != 1 || got[0].ID != "01" || len(got[0].Writes.Writes) != 0 {
		t.Errorf("newest checkpoint: %v", got)
	}
	if got := list("&checkpoint_id=01"); len(got) != 1 || got[0].ID != "01" {
		t.Errorf("checkpoint by id: %v", got)
	}
	c, err := f.find(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), "", "c1")
	if err != nil {
		t.Fatal(err)
	}
	d, _, _, err := f.read(t.Context(), c)
	if err != nil || len(d.names(checkpointPrefix)) != maxCheckpoints || len(d.artifacts) > maxCheckpoints+4 {
		t.Errorf("%d checkpoints in %d artifacts, %v", len(d.names(checkpointPrefix)), len(d.artifacts), err)
	}
	f.data("DELETE", "/api/langgraph/checkpoints/c1", "", nil)
	if got := list(""); len(got) > 0 {
		t.Errorf("deleted checkpoints: %v", got)
	}
}

func TestCrewAI(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	defer f.begin("")()
	for _, task := range []string{"Plan a trip", "Book it", "Plan a feast"} {
		f.data("POST", "/api/crewai/memory", fmt.Sprintf(`{"thread_id":"c1","user_id":"admin@kagent.dev","memory_data":{"task_description":%q,"score":1}}`, task), nil)
	}
	var found []crewMemory
	f.data("GET", "/api/crewai/memory?thread_id=c1&q=plan&limit=1", "", &found)
	if len(found) != 1 || !strings.Contains(string(found[0].Memory), "feast") {
		t.Errorf("memory %v", found)
	}
	f.data("DELETE", "/api/crewai/memory?thread_id=c1", "", nil)
	f.data("GET", "/api/crewai/memory?thread_id=c1&q=plan", "", &found)
	if len(found) != 0 {
		t.Errorf("memory after its deletion: %v", found)
	}
	f.refused(http.StatusBadRequest, "q is required", "GET", "/api/crewai/memory?thread_id=c1", "")
	f.refused(http.StatusNotFound, "no state of a flow", "GET", "/api/crewai/flows/state?thread_id=c1&flow_uuid=c1", "")
	f.data("POST", "/api/crewai/flows/state", `{"thread_id":"c1","flow_uuid":"c1","method_name":"first","state_data":{"n":1}}`, nil)
	f.data("POST", "/api/crewai/flows/state", `{"thread_id":"c1","flow_uuid":"c1","method_name":"second","state_data":{"n":2}}`, nil)
	var state flow
	f.data("GET", "/api/crewai/flows/state?thread_id=c1&flow_uuid=c1", "", &state)
	if state.Method != "second" || state.UUID != "c1" || string(state.State) != `{"n":2}` {
		t.Errorf("flow %+v", state)
	}
}

// A container can use the state of running turns only, and cannot choose whose it is.
func TestIdentity(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	alice := f.begin("")
	bob := f.Begin(&backend.Turn{Owner: "bob", ContextID: "of c1"}, "", "c2", "bob")
	f.data("POST", "/api/sessions", `{"id":"c1","agent_ref":"x"}`, nil)
	f.data("POST", "/api/tasks", `{"id":"t1","context_id":"c1"}`, nil)

	// Both callers chose the same id of their context.
	f.refused(http.StatusNotFound, "no session yet", "GET", "/api/sessions/c2", "")
	f.refused(http.StatusConflict, "another conversation", "POST", "/api/tasks", `{"id":"t1","context_id":"c2"}`)
	for _, user := range []string{"bob", "root", "A2A_USER_c2"} {
		f.refused(http.StatusForbidden, "another caller", "GET", "/api/sessions/c1", "", "X-User-ID", user)
		f.refused(http.StatusForbidden, "another caller", "GET", "/api/tasks/t1?user_id="+user, "")
		f.refused(http.StatusForbidden, "another caller", "POST", "/api/tasks", `{"id":"t1","context_id":"c1"}`, "X-User-ID", user)
	}
	for _, user := range []string{"", "alice", defaultUser, "A2A_USER_c1"} {
		if code, text := f.call("GET", "/api/sessions/c1", "", "X-User-ID", user); code != http.StatusOK {
			t.Errorf("user %q: %d %s", user, code, text)
		}
	}
	// A list has the sessions of running turns of the user, and none of other users.
	for query, want := range map[string][]string{
		"?user_id=alice": {"c1"}, "?user_id=A2A_USER_c1": {"c1"}, "?user_id=bob": {}, "?user_id=root": {}, "?user_id=" + defaultUser: {}, "": {}, "?user_id=": {},
	} {
		var listed []session
		f.data("GET", "/api/sessions"+query, "", &listed)
		got := []string{}
		for _, s := range listed {
			got = append(got, s.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sessions%s: %s", query, diff)
		}
	}
	f.refused(http.StatusForbidden, "another caller", "GET", "/api/sessions?user_id=alice", "", "X-User-ID", "bob")
	for _, id := range []string{"of%20c1", "c3", "..%2Fc1"} {
		f.refused(http.StatusNotFound, "no turn", "GET", "/api/sessions/"+id, "")
	}
	f.refused(http.StatusBadRequest, "at most", "POST", "/api/sessions", `{"id":"`+strings.Repeat("x", maxID+1)+`"}`)
	f.refused(http.StatusBadRequest, "required", "POST", "/api/tasks", `{"context_id":"c1"}`)
	f.refused(http.StatusBadRequest, "not valid", "POST", "/api/tasks", `{`)
	f.refused(http.StatusNotImplemented, "nothing else", "POST", "/api/memories/search", `{}`)

	// Two turns of one conversation.
	second := f.begin("t1")
	alice()
	f.data("GET", "/api/tasks/t1", "", nil)
	second()
	f.refused(http.StatusNotFound, "no turn", "GET", "/api/sessions/c1", "")
	f.refused(http.StatusNotFound, "no running turn", "GET", "/api/tasks/t1", "")
	bob()
	if len(f.conversations)+len(f.tasks) > 0 {
		t.Errorf("%d conversations and %d tasks without a turn", len(f.conversations), len(f.tasks))
	}
	// No client finds the state among its tasks.
	page, err := f.store.List(t.Context(), &store.Query{Owner: "alice"})
	if err != nil || len(page.Tasks) > 0 {
		t.Errorf("%d tasks, %v", len(page.Tasks), err)
	}
}

// TestEmptyWrites checks that memory is reserved for writes that take more than their text.
func TestEmptyWrites(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	defer f.begin("")()
	body := func(count int) string {
		return `{"thread_id":"c1","checkpoint_id":"1","task_id":"1","writes":[` + strings.Repeat(`{},`, count-1) + `{}]}`
	}
	f.refused(statusTooLarge, "of memory", "POST", "/api/langgraph/checkpoints/writes", body(1_000_000))
	f.data("POST", "/api/langgraph/checkpoints/writes", body(1000), nil)
}

// 50 MB of checkpoints, in one request and in many, are bounded.
func TestBounds(t *testing.T) {
	f := open(t, memory.New(memory.Options{}))
	defer f.begin("")()
	body := func(id, namespace string, size int) string {
		return fmt.Sprintf(`{"thread_id":"c1","checkpoint_ns":%q,"checkpoint_id":%q,"checkpoint":%q,"metadata":"","type_":"json","version":1}`, namespace, id, strings.Repeat("x", size))
	}
	f.refused(statusTooLarge, "is the limit", "POST", "/api/langgraph/checkpoints", body("0", "", 50<<20))
	// The newest checkpoint of each of many namespaces is kept as long as there is room.
	refused := 0
	for i := range 50 {
		code, text := f.call("POST", "/api/langgraph/checkpoints", body(fmt.Sprintf("%03d", i), "", 1<<20))
		if code == statusTooLarge && strings.Contains(text, "begin a new conversation") {
			refused++
		} else if code != http.StatusCreated {
			t.Fatalf("%d %s", code, text)
		}
	}
	if refused == 0 {
		t.Error("no checkpoint above the limit was refused")
	}
	if bytes := f.store.Bytes(); bytes > 2*maxState {
		t.Errorf("the store has %d MiB", bytes>>20)
	}
	// The conversation can be emptied, and then goes on.
	f.data("DELETE", "/api/langgraph/checkpoints/c1", "", nil)
	f.data("POST", "/api/langgraph/checkpoints", body("100", "", 1<<20), nil)

	small := open(t, memory.New(memory.Options{MaxBytes: 1 << 20}))
	defer small.begin("")()
	small.refused(http.StatusInsufficientStorage, "no room", "POST", "/api/langgraph/checkpoints", body("0", "", 900<<10))
}

// Concurrent writes of two replicas lose nothing.
func TestReplicas(t *testing.T) {
	s := memory.New(memory.Options{})
	replicas := []*fixture{open(t, s), open(t, s)}
	for _, f := range replicas {
		defer f.begin("")()
	}
	replicas[0].data("POST", "/api/sessions", `{"id":"c1"}`, nil)
	var wg sync.WaitGroup
	const each = 20
	for i, f := range replicas {
		wg.Go(func() {
			for n := range each {
				for {
					code, text := f.call("POST", "/api/sessions/c1/events", fmt.Sprintf(`{"id":"%d-%d","data":"{}"}`, i, n))
					if code == http.StatusCreated {
						break
					}
					if code != http.StatusServiceUnavailable {
						t.Errorf("%d %s", code, text)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	var got struct{ Events []event }
	replicas[0].data("GET", "/api/sessions/c1", "", &got)
	if n := len(slices.CompactFunc(got.Events, func(a, b event) bool { return a.ID == b.ID })); n != 2*each {
		t.Errorf("%d events", n)
	}
}
