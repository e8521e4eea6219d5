// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inputform

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func extended(object string) *a2a.Message {
	return &a2a.Message{Extensions: []string{Extension}, Metadata: a2a.Object(`{"` + Extension + `":` + object + `}`)}
}

func confirming(data string) *a2a.Message {
	return &a2a.Message{Parts: []a2a.Part{a2a.TextPart("Please"), {Content: a2a.ContentData, Data: a2a.Value(data), Metadata: a2a.Object(`{"adk_type":"function_call","adk_is_long_running":true}`)}}}
}

// answered returns the parts, the extensions and the metadata of a message.
func answered(m *a2a.Message) string {
	var out strings.Builder
	for i := range m.Parts {
		fmt.Fprintf(&out, "%s%s %s\n", m.Parts[i].Text, m.Parts[i].Data, m.Parts[i].Metadata)
	}
	fmt.Fprintf(&out, "%v %s", m.Extensions, m.Metadata)
	return out.String()
}

func TestAnApprovalNamesEachCall(t *testing.T) {
	decided := []Decision{{ID: "t-1", Approved: true}, {ID: "t-2", Reason: "not production"}}
	for name, test := range map[string]struct {
		asked     *a2a.Message
		decisions []Decision
		want      string
	}{
		"extension": {
			extended(`{"type":"tool_approval_request","hint":"Allow?","tools":[{"id":"t-1","call_id":"c-1","name":"deploy","args":{"to":"test"}},{"id":"t-2","call_id":"c-2","name":"deploy","args":{"to":"prod"}}]}`),
			decided,
			"Approved: deploy\nRejected: deploy (not production) \n[" + Extension + `] {"` + Extension +
				`":{"approvals":[{"approved":true,"id":"t-1"},{"approved":false,"id":"t-2","rejection_reason":"not production"}],"type":"tool_approval_response"}}`,
		},
		"call of another agent": {
			extended(`{"type":"tool_approval_request","tools":[{"id":"outer","name":"call_agent","args":{}}],"nested":{"subagent_name":"deployer","task_id":"x","tools":[{"id":"t-1","name":"deploy","args":null},{"id":"t-2","name":"undo"}]}}`),
			decided,
			"Approved: deploy\nRejected: undo (not production) \n[" + Extension + `] {"` + Extension +
				`":{"approvals":[{"approved":true,"id":"t-1"},{"approved":false,"id":"t-2","rejection_reason":"not production"}],"type":"tool_approval_response"}}`,
		},
		"ADK": {
			confirming(`{"id":"adk-1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"id":"o-1","name":"book_table","args":{"people":4}},"toolConfirmation":{"hint":"Sure?","confirmed":false}}}`),
			[]Decision{{ID: "adk-1", Approved: true}},
			`{"id":"adk-1","name":"adk_request_confirmation","response":{"confirmed":true}} {"adk_type":"function_response"}` + "\n[] ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Of(test.asked)
			if f == nil || len(f.Calls) != len(test.decisions) || f.Calls[0].Tool == "" || !json.Valid(f.Calls[0].Arguments) {
				t.Fatalf("the form is %+v", f)
			}
			m := &a2a.Message{}
			if err := f.Decide(m, test.decisions); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, answered(m)); diff != "" {
				t.Error(diff)
			}
			for _, bad := range [][]Decision{nil, test.decisions[1:], append(test.decisions, test.decisions[0]), append(test.decisions[1:], Decision{ID: "t-9", Approved: true})} {
				if err := f.Decide(&a2a.Message{}, bad); err == nil {
					t.Errorf("the decisions %v are accepted", bad)
				}
			}
			if err := f.Answer(&a2a.Message{}, []string{"yes"}); err == nil {
				t.Error("a text decides")
			}
		})
	}
}

// TestADigestCoversAllThatIsAsked uses the id of a call again.
func TestADigestCoversAllThatIsAsked(t *testing.T) {
	digest := func(object string) string { return Of(extended(object)).Digest() }
	const asked = `{"type":"tool_approval_request","hint":"h","tools":[{"id":"t","name":"delete","args":{"path":"/tmp"}}]}`
	ordered := func(args string) string { return digest(strings.Replace(asked, `"path":"/tmp"`, args, 1)) }
	if ordered(`"a":9007199254740993,"b":2`) != ordered(`"b":2, "a":9007199254740993`) || ordered(`"a":9007199254740993`) == ordered(`"a":9007199254740992`) {
		t.Error("the order changes the digest, or a number does not")
	}
	for _, part := range []string{`"h"`, `"t"`, "delete", "/tmp"} {
		if digest(asked) == digest(strings.Replace(asked, part, strings.Replace(part, part[1:2], "x", 1), 1)) {
			t.Errorf("another %s has the same digest", part)
		}
	}
}

func TestARejectionHasAReasonOnlyIfTheAgentTakesIt(t *testing.T) {
	f := Of(confirming(`{"id":"adk-1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"name":"book_table"}}}`))
	if err := f.Decide(&a2a.Message{}, []Decision{{ID: "adk-1", Reason: "no"}}); err == nil {
		t.Error("the reason would be lost")
	}
}

func TestQuestionsAreAnsweredByTextOrByNumber(t *testing.T) {
	f := Of(extended(`{"type":"ask_user_request","id":"q-1","questions":[{"question":"Where?","choices":["us","eu"],"multiple":false},{"question":"Who?"},{"question":"What?","choices":["a","b","c"],"multiple":true}]}`))
	if f == nil {
		t.Fatal("no form")
	}
	m := &a2a.Message{Metadata: a2a.Object(`{"kept":1}`)}
	if err := f.Answer(m, []string{"2", "Ann", "1, 3"}); err != nil {
		t.Fatal(err)
	}
	want := "eu\nAnn\na, c \n[" + Extension + `] {"` + Extension + `":{"answers":[{"answer":["eu"]},{"answer":["Ann"]},{"answer":["a","c"]}],"id":"q-1","type":"ask_user_response"},"kept":1}`
	if diff := cmp.Diff(want, answered(m)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range [][]string{nil, {"us", "Ann"}, {"3", "Ann", "1"}, {"0", "Ann", "1"}, {"1,2", "Ann", "1"}, {"us", " ", "1"}} {
		if err := f.Answer(&a2a.Message{}, bad); err == nil {
			t.Errorf("the answers %q are accepted", bad)
		}
	}
	if got, err := f.Questions[0].Read("somewhere else"); err != nil || len(got) != 1 || got[0] != "somewhere else" {
		t.Errorf("an answer beside the choices is %q, %v", got, err)
	}
	nested := Of(extended(`{"type":"ask_user_request","id":"outer","questions":[{"question":"Where?"}],"nested":{"subagent_name":"deployer","tools":[{"id":"inner","name":"ask_user"}]}}`))
	m = &a2a.Message{}
	if err := nested.Answer(m, []string{"eu"}); err != nil || nested.Agent != "deployer" || !strings.Contains(string(m.Metadata), `"id":"inner"`) {
		t.Errorf("the answer to another agent is %s, %v", m.Metadata, err)
	}
}

// TestAChoiceThatIsANumberIsNotTakenForAnother chooses the replicas "3" of "2" to "4", in fields and as a text.
func TestAChoiceThatIsANumberIsNotTakenForAnother(t *testing.T) {
	f := Of(extended(`{"type":"ask_user_request","id":"q","questions":[{"question":"How many?","choices":["2","3","4"]},{"question":"Ports?","choices":["80","443"],"multiple":true}]}`))
	for name, answer := range map[string]func(*a2a.Message) error{
		"fields": func(m *a2a.Message) error { return f.Reply(m, []Reply{{Choices: []int{1}}, {Choices: []int{1, 0}}}) },
		"text":   func(m *a2a.Message) error { return f.Answer(m, []string{"3", "443, 80"}) },
	} {
		m := &a2a.Message{}
		if err := answer(m); err != nil || m.Parts[0].Text != "3\n443, 80" {
			t.Errorf("%s: %v, %v", name, m.Parts, err)
		}
	}
	m := &a2a.Message{}
	if err := f.Reply(m, []Reply{{Text: " 1 "}, {Choices: []int{0}, Text: "22"}}); err != nil || m.Parts[0].Text != "1\n22" {
		t.Errorf("other answers: %v, %v", m.Parts, err)
	}
	if err := f.Answer(&a2a.Message{}, []string{"5", "80,22"}); err != nil {
		t.Errorf("an answer beside the choices: %v", err)
	}
	for _, bad := range [][]Reply{nil, {{}, {}}, {{Choices: []int{3}}, {Text: "x"}}, {{Choices: []int{-1}}, {Text: "x"}}, {{Choices: []int{0, 1}}, {Text: "x"}}} {
		if err := f.Reply(&a2a.Message{}, bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

func TestAMessageWithoutAnAnswerableFormHasNone(t *testing.T) {
	undeclared := extended(`{"type":"tool_approval_request","tools":[{"id":"t-1","name":"deploy"}]}`)
	undeclared.Extensions = nil
	for name, m := range map[string]*a2a.Message{
		"nil":                     nil,
		"text":                    {Parts: []a2a.Part{a2a.TextPart("yes?")}},
		"undeclared extension":    undeclared,
		"no object":               extended(`["x"]`),
		"unknown type":            extended(`{"type":"other"}`),
		"no calls":                extended(`{"type":"tool_approval_request","tools":[]}`),
		"no id":                   extended(`{"type":"tool_approval_request","tools":[{"name":"deploy"}]}`),
		"no tool":                 extended(`{"type":"tool_approval_request","tools":[{"id":"t-1"}]}`),
		"one id for two calls":    extended(`{"type":"tool_approval_request","tools":[{"id":"t-1","name":"read"},{"id":"t-1","name":"delete"}]}`),
		"no questions":            extended(`{"type":"ask_user_request","id":"q"}`),
		"another call of ADK":     confirming(`{"id":"adk-1","name":"adk_request_credential","args":{}}`),
		"more than yes or no":     confirming(`{"id":"adk-1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"name":"pay"},"toolConfirmation":{"payload":{"amount":0}}}}`),
		"confirmation of nothing": confirming(`{"id":"adk-1","name":"adk_request_confirmation","args":{}}`),
	} {
		if f := Of(m); f != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestADigestNeedsLittleMemory has texts that become six times as long in JSON.
func TestADigestNeedsLittleMemory(t *testing.T) {
	text := strings.Repeat("<", 1<<20)
	f := &Form{Hint: text, Calls: []Call{{ID: text, Tool: text, Source: text, Arguments: json.RawMessage(`{}`)}}, Questions: []Question{{Text: text, Choices: []string{text}}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.Digest()
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
		t.Errorf("a digest of %d bytes allocated %d", f.Length(), allocated)
	}
	if f.Length() != 6<<20+len(`{}`) {
		t.Errorf("Length() = %d", f.Length())
	}
}

// FuzzOf checks that a form of any message has calls with ids of their own, which can be decided.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"type":"tool_approval_request","tools":[{"id":"t-1","name":"deploy"}]}`))
	f.Add([]byte(`{"id":"adk-1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"name":"pay"}}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		if !json.Valid(object) {
			return
		}
		for _, m := range []*a2a.Message{extended(string(object)), confirming(string(object))} {
			form := Of(m)
			if form == nil || len(form.Calls) == 0 {
				continue
			}
			var all []Decision
			for i := range form.Calls {
				all = append(all, Decision{ID: form.Calls[i].ID})
			}
			if err := form.Decide(&a2a.Message{}, all); err != nil {
				t.Errorf("%s: %v", object, err)
			}
		}
	})
}
