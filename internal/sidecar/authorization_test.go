// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// withRules sets the authorization rules, and admits callers of all namespaces.
func withRules(rules ...sidecarconfig.Rule) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		c.Access.Namespaces = []string{"*"}
		c.Access.Authorization = &sidecarconfig.Authorization{Rules: rules}
		c.Card.Skills = []card.Skill{
			{ID: "open", Name: "Open", Description: "d", Tags: []string{"t"}},
			{ID: "secret", Name: "Secret", Description: "d", Tags: []string{"t"}, Extended: true},
		}
		c.PushNotifications = &sidecarconfig.PushNotifications{
			ClusterDomain: "cluster.local", AllowedTargets: []sidecarconfig.PushTarget{{Host: "hooks.example.com"}},
		}
	}
}

func compiled(t *testing.T, text string) *sidecarconfig.Expression {
	t.Helper()
	checked, err := celcompile.Compile("", text)
	if err != nil {
		t.Fatal(err)
	}
	return &sidecarconfig.Expression{Text: text, Checked: checked}
}

// tokenHeaders returns the Authorization header of a ServiceAccount in a namespace.
func (p *pod) tokenHeaders(namespace string) []string {
	return []string{"Authorization", "Bearer " + p.token(namespace)}
}

const forbidden = "Forbidden: you may not make this call, or the skill that it names does not exist"

// everyMethod maps each method to requests of the method in each binding.
var everyMethod = map[a2a.Method]struct {
	// rpc maps JSON-RPC methods to their params, rest maps HTTP methods and paths to bodies,
	// and grpc maps procedures to their messages.
	rpc, rest map[string]string
	grpc      map[string]proto.Message
}{
	a2a.MethodSendMessage: {
		rpc: map[string]string{
			"tasks/send":   `{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"x"}]}}`,
			"message/send": `{"message":{"kind":"message","messageId":"a","role":"user","parts":[{"kind":"text","text":"x"}]}}`,
			"SendMessage":  `{"message":{"messageId":"b","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		},
		rest: map[string]string{"POST message:send": helloREST10, "POST v1/message:send": helloREST03},
		grpc: map[string]proto.Message{"lf.a2a.v1/SendMessage": hello10, "a2a.v1/SendMessage": hello03},
	},
	a2a.MethodSendStreamingMessage: {
		rpc: map[string]string{
			"tasks/sendSubscribe":  `{"id":"u","message":{"role":"user","parts":[{"type":"text","text":"x"}]}}`,
			"message/stream":       `{"message":{"kind":"message","messageId":"c","role":"user","parts":[{"kind":"text","text":"x"}]}}`,
			"SendStreamingMessage": `{"message":{"messageId":"d","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		},
		rest: map[string]string{"POST message:stream": helloREST10, "POST v1/message:stream": helloREST03},
		grpc: map[string]proto.Message{"lf.a2a.v1/SendStreamingMessage": hello10, "a2a.v1/SendStreamingMessage": hello03},
	},
	a2a.MethodGetTask: {
		rpc:  map[string]string{"tasks/get": `{"id":"t"}`, "GetTask": `{"id":"t"}`},
		rest: map[string]string{"GET tasks/t": "", "GET v1/tasks/t": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/GetTask": &v10.GetTaskRequest{Id: "t"}, "a2a.v1/GetTask": &v03.GetTaskRequest{Name: "tasks/t"}},
	},
	a2a.MethodListTasks: {
		rpc:  map[string]string{"tasks/list": `{}`, "ListTasks": `{}`},
		rest: map[string]string{"GET tasks": "", "GET v1/tasks": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/ListTasks": &v10.ListTasksRequest{}},
	},
	a2a.MethodCancelTask: {
		rpc:  map[string]string{"tasks/cancel": `{"id":"t"}`, "CancelTask": `{"id":"t"}`},
		rest: map[string]string{"POST tasks/t:cancel": "", "POST v1/tasks/t:cancel": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/CancelTask": &v10.CancelTaskRequest{Id: "t"}, "a2a.v1/CancelTask": &v03.CancelTaskRequest{Name: "tasks/t"}},
	},
	a2a.MethodSubscribeToTask: {
		rpc:  map[string]string{"tasks/resubscribe": `{"id":"t"}`, "SubscribeToTask": `{"id":"t"}`},
		rest: map[string]string{"POST tasks/t:subscribe": "", "GET tasks/t:subscribe": "", "GET v1/tasks/t:subscribe": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/SubscribeToTask": &v10.SubscribeToTaskRequest{Id: "t"}, "a2a.v1/TaskSubscription": &v03.TaskSubscriptionRequest{Name: "tasks/t"}},
	},
	a2a.MethodCreatePushConfig: {
		rpc: map[string]string{
			"tasks/pushNotification/set":       `{"id":"t","pushNotificationConfig":{"url":"https://hooks.example.com/"}}`,
			"tasks/pushNotificationConfig/set": `{"taskId":"t","pushNotificationConfig":{"url":"https://hooks.example.com/"}}`,
			"CreateTaskPushNotificationConfig": `{"taskId":"t","url":"https://hooks.example.com/"}`,
		},
		rest: map[string]string{"POST tasks/t/pushNotificationConfigs": `{"url":"https://hooks.example.com/"}`},
		grpc: map[string]proto.Message{"lf.a2a.v1/CreateTaskPushNotificationConfig": &v10.TaskPushNotificationConfig{TaskId: "t", Url: "https://hooks.example.com/"}},
	},
	a2a.MethodGetPushConfig: {
		rpc:  map[string]string{"tasks/pushNotificationConfig/get": `{"id":"t"}`, "GetTaskPushNotificationConfig": `{"taskId":"t","id":"p"}`},
		rest: map[string]string{"GET tasks/t/pushNotificationConfigs/p": "", "GET v1/tasks/t/pushNotificationConfigs/p": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/GetTaskPushNotificationConfig": &v10.GetTaskPushNotificationConfigRequest{TaskId: "t", Id: "p"}},
	},
	a2a.MethodListPushConfigs: {
		rpc:  map[string]string{"tasks/pushNotificationConfig/list": `{"id":"t"}`, "ListTaskPushNotificationConfigs": `{"taskId":"t"}`},
		rest: map[string]string{"GET tasks/t/pushNotificationConfigs": "", "GET v1/tasks/t/pushNotificationConfigs": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/ListTaskPushNotificationConfigs": &v10.ListTaskPushNotificationConfigsRequest{TaskId: "t"}},
	},
	a2a.MethodDeletePushConfig: {
		rpc:  map[string]string{"tasks/pushNotificationConfig/delete": `{"id":"t","pushNotificationConfigId":"p"}`, "DeleteTaskPushNotificationConfig": `{"taskId":"t","id":"p"}`},
		rest: map[string]string{"DELETE tasks/t/pushNotificationConfigs/p": ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/DeleteTaskPushNotificationConfig": &v10.DeleteTaskPushNotificationConfigRequest{TaskId: "t", Id: "p"}},
	},
	a2a.MethodGetExtendedCard: {
		rpc:  map[string]string{"agent/getAuthenticatedExtendedCard": `{}`, "GetExtendedAgentCard": `{}`},
		rest: map[string]string{"GET extendedAgentCard": "", "GET v1/card": "", "GET " + strings.TrimPrefix(wellknown.ExtendedPath, "/"): ""},
		grpc: map[string]proto.Message{"lf.a2a.v1/GetExtendedAgentCard": &v10.GetExtendedAgentCardRequest{}, "a2a.v1/GetAgentCard": &v03.GetAgentCardRequest{}},
	},
}

// TestEveryMethodIsAuthorizedInEveryBinding denies each method by a rule for the callers
// of one namespace. The namespace is the name of the method in lower case.
func TestEveryMethodIsAuthorizedInEveryBinding(t *testing.T) {
	var rules []sidecarconfig.Rule
	for method := range everyMethod {
		rules = append(rules, sidecarconfig.Rule{
			Action: sidecarconfig.ActionDeny, Namespaces: []string{strings.ToLower(string(method))}, Methods: []string{string(method)},
		})
	}
	p := newPod(t, respondHi, withRules(append(rules, sidecarconfig.Rule{Action: sidecarconfig.ActionAllow})...))
	conn := p.dial()
	for method, requests := range everyMethod {
		for _, denied := range []bool{true, false} {
			namespace := "friend"
			if denied {
				namespace = strings.ToLower(string(method))
			}
			check := func(what string, response *http.Response, body string) {
				t.Helper()
				if (response.StatusCode == http.StatusForbidden) != denied || strings.Contains(body, forbidden) != denied {
					t.Errorf("%s of %s, denied %v: %d %s", what, method, denied, response.StatusCode, body)
				}
			}
			for name, params := range requests.rpc {
				response, body := p.do("POST", p.agent(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, name, params), p.tokenHeaders(namespace)...)
				check(name, response, body)
				if strings.Contains(body, `"code":-32602`) {
					t.Errorf("%s: the test asks wrongly: %s", name, body)
				}
			}
			for request, content := range requests.rest {
				verb, path, _ := strings.Cut(request, " ")
				response, body := p.do(verb, p.agent()+path, content, p.tokenHeaders(namespace)...)
				check(request, response, body)
			}
			for name, message := range requests.grpc {
				service, rpc, _ := strings.Cut(name, "/")
				ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+p.token(namespace))
				err := conn.Invoke(ctx, "/"+service+".A2AService/"+rpc, message, &emptypb.Empty{})
				if (status.Code(err) == codes.PermissionDenied) != denied || denied && status.Convert(err).Message() != forbidden {
					t.Errorf("%s, denied %v: %v", name, denied, err)
				}
			}
		}
	}
}

// TestRuleForSubscriptionsNeedsNoOtherMethod resumes a stream. The binding then reads the
// task internally, and the caller needs no permission for GetTask.
func TestRuleForSubscriptionsNeedsNoOtherMethod(t *testing.T) {
	p := newPod(t, respondHi, withRules(
		sidecarconfig.Rule{Action: sidecarconfig.ActionAllow, Methods: []string{"SendMessage", "SubscribeToTask"}}))
	_, body := p.do("POST", p.agent()+"message:send", helloREST10, p.tokenHeaders("team")...)
	_, id, _ := strings.Cut(body, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	for name, ask := range map[string]func() (*http.Response, string){
		"JSON-RPC": func() (*http.Response, string) {
			return p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{"id":"`+id+`"}}`, append(p.tokenHeaders("team"), "Last-Event-ID", "1")...)
		},
		"REST": func() (*http.Response, string) {
			return p.do("GET", p.agent()+"v1/tasks/"+id+":subscribe", "", append(p.tokenHeaders("team"), "Last-Event-ID", "1")...)
		},
	} {
		if response, body := ask(); response.StatusCode != http.StatusOK || !strings.Contains(body, "completed") && !strings.Contains(body, "COMPLETED") {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
	}
	if response, _ := p.do("GET", p.agent()+"tasks/"+id, "", p.tokenHeaders("team")...); response.StatusCode != http.StatusForbidden {
		t.Errorf("GetTask = %d", response.StatusCode)
	}
}

// TestDeniedSkillIsReportedAsUnknown checks that the response for a denied skill is the
// same, byte for byte, as the response for a skill that does not exist.
func TestDeniedSkillIsReportedAsUnknown(t *testing.T) {
	p := newPod(t, respondHi, withRules(
		sidecarconfig.Rule{Action: sidecarconfig.ActionDeny, Skills: []string{"secret"}, Namespaces: []string{"guest"}},
		sidecarconfig.Rule{Action: sidecarconfig.ActionAllow}))
	conn := p.dial()
	const name = `"a2a-operator.dev/skill":`
	answers := map[string][]string{}
	for _, skill := range []string{"open", "secret", "nosuch"} {
		quoted := `"` + skill + `"`
		asks := map[string]func() string{}
		for what, body := range map[string]string{
			"0.1, params":    `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"` + skill + `","message":{"role":"user","parts":[{"type":"text","text":"x"}]},"metadata":{` + name + quoted + `}}}`,
			"0.3, params":    `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"a","role":"user","parts":[{"kind":"text","text":"x"}]},"metadata":{` + name + quoted + `}}}`,
			"0.3, message":   `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"b","role":"user","parts":[{"kind":"text","text":"x"}],"metadata":{` + name + quoted + `}}}}`,
			"1.0, escaped":   `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"c","role":"ROLE_USER","parts":[{"text":"x"}]},"metadata":{"\u0061` + name[2:] + quoted + `}}}`,
			"1.0, slash":     `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"d","role":"ROLE_USER","parts":[{"text":"x"}]},"metadata":{"a2a-operator.dev\/skill":` + quoted + `}}}`,
			"1.0, streaming": `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"e","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{` + name + quoted + `}}}}`,
		} {
			asks[what] = func() string {
				response, answer := p.do("POST", p.agent(), body, p.tokenHeaders("guest")...)
				return fmt.Sprint(response.StatusCode, " ", answer)
			}
		}
		asks["REST"] = func() string {
			response, answer := p.do("POST", p.agent()+"message:send", strings.TrimSuffix(helloREST10, "}")+`,"metadata":{`+name+quoted+`}}`, p.tokenHeaders("guest")...)
			return fmt.Sprint(response.StatusCode, " ", answer)
		}
		asks["gRPC"] = func() string {
			message := proto.CloneOf(hello10)
			message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{a2a.SkillName: structpb.NewStringValue(skill)}}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+p.token("guest"))
			if err := conn.Invoke(ctx, "/lf.a2a.v1.A2AService/SendMessage", message, &emptypb.Empty{}); err != nil {
				return err.Error()
			}
			return "200"
		}
		for what, ask := range asks {
			answers[what] = append(answers[what], ask())
		}
	}
	for what, got := range answers {
		if !strings.HasPrefix(got[0], "200") || strings.Contains(got[0], forbidden) {
			t.Errorf("%s: a skill that is allowed is answered with %s", what, got[0])
		}
		if !strings.Contains(got[1], forbidden) || got[1] != got[2] {
			t.Errorf("%s: a denied skill is answered with %s, one that is not there with %s", what, got[1], got[2])
		}
	}
	// Other callers may use the skill. If the metadata are ambiguous, the request is
	// refused.
	for metadata, want := range map[string]int{
		name + `"secret"`:                 200,
		name + `7`:                        -32602,
		name + `""`:                       -32602,
		`"A2A-Operator.dev/Skill":"open"`: -32602,
		name + `"open"`:                   -32602,
	} {
		response, body := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"z`+fmt.Sprint(len(metadata))+
			`","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{`+name+`"secret"}},"metadata":{`+metadata+`}}}`, p.tokenHeaders("friend")...)
		if got := strings.Contains(body, `"code":-32602`); response.StatusCode != http.StatusOK || got != (want == -32602) {
			t.Errorf("%s: %d %s", metadata, response.StatusCode, body)
		}
	}
}

func TestPushConfigurationOfAMessageNeedsPermission(t *testing.T) {
	p := newPod(t, respondHi, withRules(
		sidecarconfig.Rule{Action: sidecarconfig.ActionDeny, Methods: []string{"CreateTaskPushNotificationConfig"}},
		sidecarconfig.Rule{Action: sidecarconfig.ActionAllow}))
	for version, push := range pushing {
		response, body := p.do("POST", p.agent(), fmt.Sprintf(push.message, "https://hooks.example.com/"), append(p.tokenHeaders("team"), "A2A-Version", push.version)...)
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d %s", version, response.StatusCode, body)
		}
	}
}

// TestExtendedCardOfACaller checks that each caller sees only the skills that it may use.
func TestExtendedCardOfACaller(t *testing.T) {
	p := newPod(t, respondHi, withRules(
		sidecarconfig.Rule{Name: "guests", Action: sidecarconfig.ActionAllow, Namespaces: []string{"guest"}, Skills: []string{"open"}},
		sidecarconfig.Rule{Name: "staff", Action: sidecarconfig.ActionAllow, Expression: compiled(t, `caller.claims["kubernetes.io"].namespace == "staff"`)},
		sidecarconfig.Rule{Name: "nobody", Action: sidecarconfig.ActionDeny}))
	url := strings.TrimSuffix(p.agent(), "/") + wellknown.ExtendedPath
	tags := map[string]string{}
	for namespace, want := range map[string]string{"guest": "open", "staff": "open secret"} {
		for what, ask := range map[string]func() (*http.Response, string){
			"0.2": func() (*http.Response, string) { return p.do("GET", url, "", p.tokenHeaders(namespace)...) },
			"0.3 REST": func() (*http.Response, string) {
				return p.do("GET", p.agent()+"v1/card", "", p.tokenHeaders(namespace)...)
			},
			"1.0 REST": func() (*http.Response, string) {
				return p.do("GET", p.agent()+"extendedAgentCard", "", p.tokenHeaders(namespace)...)
			},
			"1.0 JSON-RPC": func() (*http.Response, string) {
				return p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, p.tokenHeaders(namespace)...)
			},
		} {
			response, body := ask()
			var shown []string
			for _, id := range []string{"open", "secret"} {
				if strings.Contains(body, `"id":"`+id+`"`) {
					shown = append(shown, id)
				}
			}
			if got := strings.Join(shown, " "); response.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s for %s: %d, skills %q, want %q", what, namespace, response.StatusCode, got, want)
			}
			if cached := response.Header.Get("Cache-Control"); cached != "private, no-store" {
				t.Errorf("%s: Cache-Control = %q", what, cached)
			}
		}
		response, _ := p.do("GET", url, "", p.tokenHeaders(namespace)...)
		tags[namespace] = response.Header.Get("ETag")
	}
	if tags["guest"] == "" || tags["guest"] == tags["staff"] {
		t.Errorf("ETags are %v", tags)
	}
	for namespace, want := range map[string]int{"guest": http.StatusNotModified, "staff": http.StatusOK} {
		if response, _ := p.do("GET", url, "", append(p.tokenHeaders(namespace), "If-None-Match", tags["guest"])...); response.StatusCode != want {
			t.Errorf("%s with the guest's tag: %d, want %d", namespace, response.StatusCode, want)
		}
	}
	if response, body := p.do("GET", url, "", p.tokenHeaders("stranger")...); response.StatusCode != http.StatusForbidden || strings.Contains(body, "secret") {
		t.Errorf("a stranger gets %d %s", response.StatusCode, body)
	}
	if _, body := p.do("GET", p.health("/metrics"), ""); !strings.Contains(body, `a2a_refused_calls_total{result="denied",rule="nobody"} 1`) {
		t.Errorf("metrics lack the refusal: %s", body)
	}
}

// TestRulesAreReloaded changes the rules without a restart. If the new rules cannot be
// evaluated, the former rules stay in use.
func TestRulesAreReloaded(t *testing.T) {
	p := newPod(t, respondHi, withRules(sidecarconfig.Rule{Action: sidecarconfig.ActionAllow, Namespaces: []string{"team"}}))
	status := func(namespace string) int {
		response, _ := p.do("POST", p.agent(), hello, p.tokenHeaders(namespace)...)
		return response.StatusCode
	}
	if team, other := status("team"), status("other"); team != 200 || other != 403 {
		t.Fatalf("team %d, other %d", team, other)
	}
	// A rule that reads a claim which the token does not have refuses the call. Its failure
	// is logged once.
	p.config.Access.Authorization.Rules = []sidecarconfig.Rule{
		{Name: "tiers", Action: sidecarconfig.ActionAllow, Expression: compiled(t, `caller.claims.tier == "gold"`)}, {Action: sidecarconfig.ActionAllow},
	}
	p.mount(p.encode())
	p.eventually("the rule that fails", func() bool { return status("team") == 403 })
	if _, body := p.do("GET", p.health("/metrics"), ""); !strings.Contains(body, `a2a_refused_calls_total{result="failed",rule="tiers"} 1`) {
		t.Errorf("metrics lack the failure: %s", body)
	}
	p.config.Access.Authorization.Rules = []sidecarconfig.Rule{{Action: sidecarconfig.ActionAllow, Expression: &sidecarconfig.Expression{Text: "x", Checked: []byte("garbage")}}}
	p.mount(p.encode())
	p.eventually("a refused configuration", func() bool {
		_, body := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(body, `a2a_reloads_total{result="refused",source="configuration"} 1`)
	})
	if got := status("team"); got != 403 {
		t.Errorf("status %d, want the former rules", got)
	}
	p.config.Access.Authorization, p.config.Access.Namespaces = nil, []string{"other"}
	p.mount(p.encode())
	p.eventually("the end of the rules", func() bool { return status("other") == 200 && status("team") == 403 })
}
