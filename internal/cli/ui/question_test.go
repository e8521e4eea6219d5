// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestADecisionReachesTheAgent(t *testing.T) {
	p := startPage(t)
	p.serve(t, "cleaner", deciding(approvalOf("delete_release")))
	for name, test := range map[string]struct{ text, decision, problem, want string }{
		"approved":      {"", `{"decisions":[{"id":"id-0","approved":true}]}`, "", `"type": "tool_approval_response"`},
		"rejected":      {"", `{"decisions":[{"id":"id-0","reason":"Not now"}]}`, "", `"rejection_reason": "Not now"`},
		"other call":    {"", `{"decisions":[{"id":"id-7","approved":true}]}`, "does not ask about the call", ""},
		"no decision":   {"", `{"decisions":[]}`, "there is no decision", ""},
		"only answers":  {"", `{"answers":[{"text":"yes"}]}`, "there is no decision", ""},
		"another form":  {"", `{"form":"x","decisions":[{"id":"id-0","approved":true}]}`, "asks for something else now", ""},
		"only a text":   {"yes, approved", "", "a text cannot make", ""},
		"not even JSON": {"", "yes", "read the message", ""},
	} {
		_, next := post(t, p, "cleaner/send", map[string]string{"text": "Hello"})
		asked, text := lastOf(t, next)
		if asked.Question == nil || len(asked.Question.Calls) != 1 || !strings.Contains(text, "OPS-17") || !strings.Contains(asked.Question.Calls[0].Arguments, "v1.2.3") {
			t.Fatalf("the question is %+v, %s", asked.Question, text)
		}
		fields := map[string]string{"text": test.text, "task": asked.Task}
		if test.decision != "" {
			fields["decision"] = strings.Replace(test.decision, "{", `{"form":"`+asked.Question.Form+`",`, 1)
			if name == "another form" {
				fields["decision"] = test.decision
			}
		}
		_, next = post(t, p, "cleaner/send", fields)
		last, text := lastOf(t, next)
		if test.problem == "" && (last.State != "completed" || !strings.Contains(text, test.want) || !strings.Contains(text, `"decides": true`)) || !strings.Contains(last.Problem, test.problem) {
			t.Errorf("%s: %+v, %s", name, last, text)
		}
	}
}

// TestTheBrowserDecidesByButtonsOnly rejects a call of a tool, approves one of two, answers questions with choices, and hides
// a sensitive answer. A text and the key Enter decide nothing.
func TestTheBrowserDecidesByButtonsOnly(t *testing.T) {
	p := startPage(t)
	p.serve(t, "one", deciding(approvalOf("delete_release")))
	p.serve(t, "two", deciding(approvalOf("delete_release", "archive_logs")))
	p.serve(t, "planner", deciding(`{"type":"ask_user_request","id":"q","questions":[{"question":"Which class?","choices":["2","3"]},{"question":"Why?"}]}`))
	p.serve(t, "bank", asking(`"metadata":{"inputRequest":{"requestId":"pin","sensitive":true}},"parts":[{"kind":"text","text":"PIN?"}]`))
	b := startBrowser(t)
	open := func(name string) {
		b.run(t, chromedp.Navigate(p.base+"agents/team/"+name), chromedp.SendKeys("#message", "Hello\r"))
		b.awaitText(t, "#task", "waits for your")
	}
	open("one")
	for _, want := range []string{"Approve delete_release?", "team/one", `"release": "v1.2.3"`, `"other-team"`, "OPS-17", "I need your decision."} {
		b.awaitText(t, "#log", want)
	}
	b.run(t, chromedp.Poll(`document.querySelector('#message').disabled && document.querySelector('#submit').disabled`, nil),
		chromedp.SendKeys(".ask [name=reason-0]", "Not now\r"), chromedp.Click(".ask button[value=reject]"))
	b.awaitText(t, "#log", "Rejected: delete_release (Not now)")
	b.awaitText(t, "#log", `"approved": false`)
	b.awaitText(t, "#log", "completed")
	b.run(t, chromedp.Poll(`!document.querySelector('#message').disabled && document.querySelectorAll('.mine').length === 2`, nil))

	open("two")
	b.run(t, chromedp.Click("[name=call-0][value=approve]"), chromedp.Click("[name=call-1][value=reject]"), chromedp.Click(".ask button"))
	b.awaitText(t, "#log", "Approved: delete_release\nRejected: archive_logs")
	b.awaitText(t, "#log", "completed")

	open("planner")
	b.run(t, chromedp.Click(`//label[normalize-space()="3"]`), chromedp.SendKeys("[name=other-1]", "It is cheaper"), chromedp.Click(".ask button"))
	b.awaitText(t, "#log", "It is cheaper")
	b.awaitText(t, "#log", `"type": "ask_user_response"`)
	b.awaitText(t, "#log", `"3\nIt is cheaper"`)

	open("bank")
	b.run(t, chromedp.SendKeys("#secret", "1234\r"))
	b.awaitText(t, "#log", "••••••")
	b.awaitText(t, "#log", "completed")
	b.clean(t)
}
