// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// random returns a source that makes the same values in every run.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// generator makes domain values. They need not be valid: encoders must not fail
// for any value.
type generator struct{ *rand.Rand }

var texts = []string{
	"", "a", "t1", "Hello, world", "tasks/t1", "quote \" slash \\ / ", "tab\tnewline\nreturn\r nul\x00 bell\x07 del\x7f",
	"<a href='x'>&amp;</a>", "\u2028\u2029\ufeff", "é ü 漢字 \U0001F600", "invalid \xff\xfe utf8 \xed\xa0\x80", "12345678", "abcdefgh\"",
	strings.Repeat("long ", 60), strings.Repeat("é", 70), "https://example.com/a?b=c&d=<e>", "data:text/plain;base64,aGk=",
	"text/plain", "application/json; charset=utf-8", "aGk=", "YUdrPQ==", "TASK_STATE_WORKING", "Bearer", "Basic",
}

var values = []a2a.Value{
	nil, a2a.Value(`null`), a2a.Value(`true`), a2a.Value(`0`), a2a.Value(`-1.50`), a2a.Value(`1e400`), a2a.Value(`9007199254740993`),
	a2a.Value(`"x\u2028é\"\\"`), a2a.Value(`""`), a2a.Value(`[]`), a2a.Value(`[1,[null,{"a":[]}],"x"]`), a2a.Value(`{}`),
	a2a.Value(`{"value":1}`), a2a.Value(`{"a":{"b":[true,false]},"toolUseId":"u"}`), a2a.Value(`{"kind":"x"}`),
}

var objects = []a2a.Object{
	nil, nil, nil, a2a.Object(`{}`), a2a.Object(`{"k":"v"}`), a2a.Object(`{"data_part_compat":true}`),
	a2a.Object(`{"data_part_compat":true,"k":[1]}`), a2a.Object(`{"a2a.partKind":"tool-result","m":1}`), a2a.Object(`{"a2a.partKind":"tool-use"}`),
	a2a.Object(`{"inputRequest":{"type":"text"},"x":1}`), a2a.Object(`{"inputRequest":1}`), a2a.Object(`{"\u0061":1.0,"b":{"c":null}}`),
}

func one[T any](g generator, all []T) T { return all[g.IntN(len(all))] }

func some[T any](g generator, atMost int, one func() T) []T {
	var all []T
	for range g.IntN(atMost + 1) {
		all = append(all, one())
	}
	return all
}

func (g generator) text() string       { return one(g, texts) }
func (g generator) bool() bool         { return g.IntN(2) == 0 }
func (g generator) texts() []string    { return some(g, 3, g.text) }
func (g generator) object() a2a.Object { return one(g, objects) }

func (g generator) number() *int {
	if g.bool() {
		return nil
	}
	return new(one(g, []int{0, 1, 3, -1, 1 << 30}))
}

func (g generator) time() time.Time {
	return one(g, []time.Time{
		{},
		time.Unix(0, 0), time.Date(2026, 1, 2, 12, 30, 0, 250e6, time.UTC), time.Date(2026, 1, 2, 12, 30, 0, 999999999, time.FixedZone("x", 3600)),
		time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Unix(-1, 5e8),
	})
}

func (g generator) part() a2a.Part {
	p := a2a.Part{Content: a2a.Content(g.IntN(5)), Filename: g.text(), MediaType: g.text(), Metadata: g.object()}
	switch p.Content {
	case a2a.ContentRaw:
		p.Raw = []byte(g.text())
	case a2a.ContentURL:
		p.URL = g.text()
	case a2a.ContentData:
		p.Data = one(g, values)
	default:
		p.Text = g.text()
	}
	return p
}

func (g generator) parts() []a2a.Part { return some(g, 4, g.part) }

func (g generator) message() *a2a.Message {
	return &a2a.Message{
		ID: g.text(), ContextID: g.text(), TaskID: g.text(), Role: a2a.Role(g.IntN(3)), Parts: g.parts(),
		Metadata: g.object(), Extensions: g.texts(), ReferenceTasks: g.texts(),
	}
}

func (g generator) status() a2a.Status {
	s := a2a.Status{State: a2a.State(g.IntN(11)), Time: g.time()}
	if g.bool() {
		s.Message = g.message()
	}
	return s
}

func (g generator) artifact() a2a.Artifact {
	return a2a.Artifact{
		ID: g.text(), Name: g.text(), Description: g.text(), Parts: g.parts(), Metadata: g.object(), Extensions: g.texts(),
	}
}

func (g generator) task() *a2a.Task {
	return &a2a.Task{
		ID: g.text(), ContextID: g.text(), Status: g.status(), Artifacts: some(g, 2, g.artifact), History: some(g, 2, g.message),
		Metadata: g.object(), Note: g.text(),
	}
}

func (g generator) event() *a2a.Event {
	switch g.IntN(5) {
	case 0:
		return &a2a.Event{Task: g.task()}
	case 1:
		return &a2a.Event{Message: g.message()}
	case 2:
		return &a2a.Event{Artifact: &a2a.ArtifactUpdate{
			TaskID: g.text(), ContextID: g.text(), Artifact: g.artifact(), Index: g.IntN(3), Append: g.bool(), JoinText: g.bool(),
			LastChunk: g.bool(), Metadata: g.object(),
		}}
	default:
		return &a2a.Event{Status: &a2a.StatusUpdate{
			TaskID: g.text(), ContextID: g.text(), Status: g.status(), Paused: g.bool(), Metadata: g.object(), Note: g.text(),
		}}
	}
}

func (g generator) push() *a2a.PushConfig {
	return &a2a.PushConfig{ID: g.text(), TaskID: g.text(), URL: g.text(), Token: g.text(), Scheme: g.text(), Credentials: g.text()}
}

func (g generator) send() *a2a.SendRequest {
	r := &a2a.SendRequest{
		Message: g.message(), AcceptedOutputModes: g.texts(), HistoryLength: g.number(), ReturnImmediately: g.bool(),
		Metadata: g.object(), Tenant: g.text(),
	}
	if g.bool() {
		r.Push = g.push()
	}
	return r
}

// generate returns one value of a kind of the table encoders.
func (g generator) generate(kind string) any {
	switch kind {
	case "event":
		return g.event()
	case "answer":
		if g.bool() {
			return &a2a.Event{Task: g.task()}
		}
		return &a2a.Event{Message: g.message()}
	case "task":
		return g.task()
	case "message":
		return g.message()
	case "task page":
		return &a2a.TaskPage{Tasks: some(g, 3, g.task), NextPageToken: g.text(), PageSize: g.IntN(200), TotalSize: g.IntN(1000)}
	case "push":
		return g.push()
	case "push page":
		return &a2a.PushPage{Configs: some(g, 3, g.push), NextPageToken: g.text()}
	case "send":
		return g.send()
	case "get":
		return &a2a.GetRequest{TaskID: g.text(), Tenant: g.text(), HistoryLength: g.number()}
	case "cancel":
		return &a2a.CancelRequest{TaskID: g.text(), Tenant: g.text(), Metadata: g.object()}
	case "subscribe":
		return &a2a.SubscribeRequest{TaskID: g.text(), Tenant: g.text(), HistoryLength: g.number()}
	default:
		panic("no values of kind " + kind)
	}
}

// named returns the values of a kind that the corpus holds in full, by name.
func named(kind string) map[string]any {
	all := map[string]any{}
	switch kind {
	case "event":
		for name, e := range events() {
			all[name] = &e
		}
		all["none"] = &a2a.Event{}
	case "answer":
		all["task"], all["message"] = &a2a.Event{Task: codectest.Task()}, &a2a.Event{Message: codectest.Message()}
	case "task":
		all["whole"], all["empty"] = codectest.Task(), &a2a.Task{}
	case "message":
		all["whole"], all["empty"] = codectest.Message(), &a2a.Message{}
	}
	g := generator{random()}
	for i := range 4 {
		all[fmt.Sprintf("generated %d", i)] = g.generate(kind)
	}
	return all
}
