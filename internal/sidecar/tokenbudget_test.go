// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// respondWithUsage is an agent that reports 60 input and 40 output tokens for each turn.
func respondWithUsage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"completed"},"metadata":{"a2a-operator.dev/usage":{"prompt_tokens":60,"completion_tokens":40}}}`+"\n")
}

// withTokens gives each caller of any namespace a token budget.
func withTokens(perCaller, total int64) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		c.Access.Namespaces = []string{"*"}
		c.Limits.Tokens = sidecarconfig.TokenBudgets{PerHour: total, PerCallerPerHour: perCaller}
	}
}

func (p *pod) sendAs(namespace string) (status int, body string) {
	p.t.Helper()
	response, body := p.do("POST", p.agent(), hello, p.tokenHeaders(namespace)...)
	return response.StatusCode, body
}

func (p *pod) wantSend(namespace string, want int, text string) {
	p.t.Helper()
	if status, body := p.sendAs(namespace); status != want || !strings.Contains(body, text) {
		p.t.Errorf("message of %s = %d %s, want %d with %q", namespace, status, body, want, text)
	}
}

const (
	usedBudget      = "This caller has used its token budget: limits.tokens.perCallerPerHour is 100; the budget is available again at "
	usedTotalBudget = "The callers of this agent have used its token budget: limits.tokens.perHour is 150; the budget is available again at "
)

// A caller that has used its token budget cannot send a message, in any version and
// binding. All other operations still work.
func TestMessagesBeyondTheTokenBudgetAreRefusedInEveryBinding(t *testing.T) {
	p := newPod(t, respondWithUsage, withTokens(100, 0))
	p.wantSend("team", http.StatusOK, "completed")
	conn, refused := p.dial(), 0
	for _, method := range slices.Sorted(maps.Keys(everyMethod)) {
		requests, sends := everyMethod[method], method == a2a.MethodSendMessage || method == a2a.MethodSendStreamingMessage
		check := func(what string, response *http.Response, body string) {
			t.Helper()
			if !sends {
				if response.StatusCode == http.StatusTooManyRequests || strings.Contains(body, "token budget") {
					t.Errorf("%s: %d %s, want that the budget does not refuse it", what, response.StatusCode, body)
				}
				return
			}
			refused++
			wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			if response.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, usedBudget) || wait < 3500 || wait > 3600 {
				t.Errorf("%s: %d, Retry-After %q, %s", what, response.StatusCode, response.Header.Get("Retry-After"), body)
			}
		}
		for name, params := range requests.rpc {
			response, body := p.do("POST", p.agent(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, name, params), p.tokenHeaders("team")...)
			check(name, response, body)
		}
		for request, content := range requests.rest {
			verb, path, _ := strings.Cut(request, " ")
			response, body := p.do(verb, p.agent()+path, content, p.tokenHeaders("team")...)
			check(request, response, body)
		}
		for name, message := range requests.grpc {
			service, rpc, _ := strings.Cut(name, "/")
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+p.token("team"))
			err := conn.Invoke(ctx, "/"+service+".A2AService/"+rpc, message, &emptypb.Empty{})
			if sends {
				refused++
			}
			if (status.Code(err) == codes.ResourceExhausted) != sends || sends && !strings.Contains(status.Convert(err).Message(), usedBudget) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if response, body := p.do("GET", p.agent()+".well-known/agent-card.json", ""); response.StatusCode != http.StatusOK {
		t.Errorf("card = %d %s", response.StatusCode, body)
	}
	p.wantSend("other", http.StatusOK, "completed")
	p.metric(`a2a_limited_total{limit="tokens"} ` + strconv.Itoa(refused))
	p.metric(`a2a_limited_total{limit="total_tokens"} 0`)
	p.metric(`gen_ai_client_token_usage_sum{gen_ai_token_type="input"} 120`)
	p.metric(`gen_ai_client_token_usage_count{gen_ai_token_type="output"} 2`)
}

// The budget of all callers refuses a caller that has sent nothing. After a reload with a
// larger budget, the caller is admitted at once.
func TestTokenBudgetOfAllCallers(t *testing.T) {
	p := newPod(t, respondWithUsage, withTokens(0, 150))
	p.wantSend("a", http.StatusOK, "completed")
	p.wantSend("b", http.StatusOK, "completed") // this turn exceeds the budget
	p.wantSend("c", http.StatusTooManyRequests, usedTotalBudget)
	p.metric(`a2a_limited_total{limit="total_tokens"} 1`)
	p.config.Limits.Tokens.PerHour = 1_000
	p.mount(p.encode())
	p.eventually("the larger budget", func() bool {
		status, _ := p.sendAs("c")
		return status == http.StatusOK
	})
}

// Replicas without Redis do not share their counts of tokens. When a reload in the middle
// of an hour changes or removes the budgets, each replica keeps its counts.
func TestReloadKeepsTheCountsOfTokens(t *testing.T) {
	replicas := []*pod{newPod(t, respondWithUsage, withTokens(0, 1_000)), newPod(t, respondWithUsage, withTokens(0, 1_000))}
	reload := func(perCaller, total int64) {
		t.Helper()
		for _, p := range replicas {
			former := p.sidecar.current()
			withTokens(perCaller, total)(p.config)
			p.mount(p.encode())
			p.eventually("the configuration is reloaded", func() bool { return p.sidecar.current() != former })
		}
	}
	for _, p := range replicas {
		p.wantSend("team", http.StatusOK, "completed") // 100 tokens
	}
	reload(0, 0)
	for _, p := range replicas {
		p.wantSend("team", http.StatusOK, "completed") // not counted, because there is no budget
	}
	reload(100, 0)
	for _, p := range replicas {
		p.wantSend("team", http.StatusTooManyRequests, usedBudget)
		p.wantSend("other", http.StatusOK, "completed") // 200 tokens of all callers
	}
	reload(150, 150)
	for _, p := range replicas {
		p.wantSend("team", http.StatusTooManyRequests, usedTotalBudget)
	}
	reload(201, 201)
	for _, p := range replicas {
		p.wantSend("team", http.StatusOK, "completed")
		p.wantSend("team", http.StatusTooManyRequests, "limits.tokens.perHour is 201")
	}
}

func TestAnonymousCallersOfOneAddressShareATokenBudget(t *testing.T) {
	p := newPod(t, respondWithUsage, func(c *sidecarconfig.Config) {
		withTokens(100, 0)(c)
		c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
	})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if response, body := p.do("POST", p.agent(), hello); response.StatusCode != want {
			t.Errorf("anonymous message = %d %s, want %d", response.StatusCode, body, want)
		}
	}
	p.wantSend("team", http.StatusOK, "completed")
}

// A client that cancels its turns is charged for the tokens that the agent has reported.
func TestTokensOfACanceledTurnCount(t *testing.T) {
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"working"},"metadata":{"a2a-operator.dev/usage":{"prompt_tokens":60,"completion_tokens":40}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, withTokens(100, 0))
	stream := p.open("POST", p.agent(), helloStream, p.tokenHeaders("team")...)
	defer stream.Body.Close()
	first := make([]byte, 4096)
	n, err := stream.Body.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(string(first[:n]), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	p.eventually("the charge", func() bool {
		status, _ := p.sendAs("team")
		return status == http.StatusTooManyRequests
	})
	response, body := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"`+id+`"}}`, p.tokenHeaders("team")...)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "canceled") {
		t.Errorf("tasks/cancel = %d %s", response.StatusCode, body)
	}
	p.metric(`gen_ai_client_token_usage_sum{gen_ai_token_type="output"} 40`)
}

// A turn whose reported usage cannot be read is charged nothing, but counted: the budget of one token
// is never used up.
func TestUnreadableUsageIsCounted(t *testing.T) {
	usages := []string{
		`{"prompt_tokens":-60}`, `{"prompt_tokens":"60","completion_tokens":"40"}`, `{"total_tokens":100}`, `[60,40]`, `null`, `{"prompt_tokens":60.5}`,
	}
	next := make(chan string, len(usages))
	p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"completed"},"metadata":{"a2a-operator.dev/usage":`+<-next+`}}`+"\n")
	}, withTokens(1, 1))
	for _, usage := range usages {
		next <- usage
		p.wantSend("team", http.StatusOK, "completed")
	}
	p.metric(`a2a_unreported_usage_total{cause="unreadable"} 5`)
	p.metric(`a2a_unreported_usage_total{cause="absent"} 1`)
}

// The sidecars of an agent share the counts of used tokens in Redis. Without Redis, no turn begins,
// and the error is not that of an exceeded budget.
func TestReplicasShareTokenBudgets(t *testing.T) {
	server := redistest.Start(t)
	open := func(replica string) *pod {
		return newPodWith(t, respondWithUsage, withTokens(100, 150), func(o *settings.Options) { o.Store, o.Replica = "redis://"+server.Address(), replica })
	}
	a := open("a")
	a.wantSend("team", http.StatusOK, "completed")
	b := open("b")
	b.wantSend("team", http.StatusTooManyRequests, usedBudget)
	b.wantSend("other", http.StatusOK, "completed")
	a.wantSend("third", http.StatusTooManyRequests, usedTotalBudget)
	server.Kill()
	a.wantSend("third", http.StatusServiceUnavailable, "The task store is not available")
}

// An agent whose backend protocol is A2A may leave the usage of the previous turn in the
// metadata of its task. The next turn is not charged for it again.
func TestA2AAgentIsNotChargedForEarlierTurnsAgain(t *testing.T) {
	const usage = `"metadata":{"a2a-operator.dev/usage":{"prompt_tokens":%d,"completion_tokens":%d}}`
	const task = `"id":"theirs","contextId":"c",` + usage
	first := fmt.Sprintf(`{"kind":"task","status":{"state":"input-required","message":{"kind":"message","role":"agent","messageId":"q","parts":[{"kind":"text","text":"which?"}]}},`+task+`}`, 60, 40)
	next := []string{
		fmt.Sprintf(`{"kind":"task","status":{"state":"working"},`+task+`}`, 60, 40),
		fmt.Sprintf(`{"kind":"status-update","taskId":"theirs","contextId":"c","final":true,"status":{"state":"completed"},`+usage+`}`, 3, 2),
	}
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"name":"a","url":"http://`+r.Host+`/","version":"1","protocolVersion":"0.3.0","capabilities":{"streaming":true},"skills":[]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		events := []string{first}
		if strings.Contains(string(body), `"theirs"`) {
			events = next
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", request.ID, event)
		}
	}, func(c *sidecarconfig.Config) {
		withTokens(150, 0)(c)
		c.Backend.Protocol = sidecarconfig.ProtocolA2A
	})
	_, body := p.sendAs("team")
	var response struct{ Result struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &response); err != nil || !strings.Contains(body, "input-required") {
		t.Fatalf("first message = %s, %v", body, err)
	}
	answer := strings.Replace(hello, `"messageId":"`, `"taskId":"`+response.Result.ID+`","messageId":"second-`, 1)
	if response, body := p.do("POST", p.agent(), answer, p.tokenHeaders("team")...); response.StatusCode != http.StatusOK || !strings.Contains(body, "completed") {
		t.Fatalf("second message = %d %s", response.StatusCode, body)
	}
	p.metric(`gen_ai_client_token_usage_sum{gen_ai_token_type="input"} 63`)
	p.metric(`gen_ai_client_token_usage_sum{gen_ai_token_type="output"} 42`)
	third := strings.Replace(hello, `"messageId":"`, `"messageId":"third-`, 1)
	if response, body := p.do("POST", p.agent(), third, p.tokenHeaders("team")...); response.StatusCode != http.StatusOK {
		t.Errorf("message after 105 tokens of 150 = %d %s", response.StatusCode, body)
	}
}

// A client that has received the whole response of a model, and cancels before the usage
// arrives, is charged one token for each chunk.
func TestChunksOfACanceledCompletionCount(t *testing.T) {
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			newCompletionServer()(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Repeat(`data: {"choices":[{"delta":{"content":"Q"}}]}`+"\n\n", 100))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p := newPod(t, nil, func(c *sidecarconfig.Config) {
		calls(url)(c)
		withTokens(100, 0)(c)
	})
	stream := p.open("POST", p.agent(), helloStream, p.tokenHeaders("team")...)
	defer stream.Body.Close()
	received := ""
	for buffer := make([]byte, 4096); strings.Count(received, "Q") < 100; {
		n, err := stream.Body.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		received += string(buffer[:n])
	}
	_, id, _ := strings.Cut(received, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	response, body := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"`+id+`"}}`, p.tokenHeaders("team")...)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "canceled") {
		t.Errorf("tasks/cancel = %d %s", response.StatusCode, body)
	}
	p.eventually("the charge", func() bool {
		message := strings.Replace(hello, `"params":{`, `"params":{"configuration":{"blocking":false},`, 1)
		_, body := p.do("POST", p.agent(), message, p.tokenHeaders("team")...)
		return strings.Contains(body, usedBudget)
	})
	if _, metrics := p.do("GET", p.health("/metrics"), ""); strings.Contains(metrics, "gen_ai_client_token_usage_count") {
		t.Error("the metric has a usage that the model did not report")
	}
}
