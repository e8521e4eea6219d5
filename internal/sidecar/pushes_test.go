// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// pushing maps each version to a message that contains a push configuration, and to the
// expected response.
var pushing = map[string]struct{ message, version, want string }{
	"0.3": {
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hello"}]},` +
			`"configuration":{"blocking":false,"pushNotificationConfig":{"url":"%s","token":"tok","authentication":{"schemes":["Bearer"],"credentials":"cred"}}}}}`,
		"", `{"kind":"task"`,
	},
	"1.0": {
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m10","role":"ROLE_USER","parts":[{"text":"Hello"}]},` +
			`"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"%s","token":"tok","authentication":{"scheme":"Bearer","credentials":"cred"}}}}}`,
		"1.0", `{"statusUpdate":{`,
	},
}

func TestPushNotifications(t *testing.T) {
	type received struct {
		header http.Header
		body   string
	}
	posts := make(chan received, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- received{r.Header, string(body)}
	}))
	defer receiver.Close()
	url := standalone(t, "127.0.0.0/8")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, test := range pushing {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(test.message, receiver.URL+"/hook")))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if test.version != "" {
				r.Header.Set("A2A-Version", test.version)
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			for {
				select {
				case post := <-posts:
					if post.header.Get("Authorization") != "Bearer cred" || post.header.Get("X-A2A-Notification-Token") != "tok" {
						t.Errorf("header = %v", post.header)
					}
					if !strings.HasPrefix(post.body, test.want) && !strings.HasPrefix(post.body, `{"artifactUpdate"`) {
						t.Errorf("body = %s, want it to begin with %s", post.body, test.want)
					}
					if strings.Contains(strings.ToLower(post.body), "completed") {
						return
					}
				case <-time.After(30 * time.Second):
					t.Fatalf("the end of the task was not pushed; the answer was %s", answer)
				}
			}
		})
	}
}

// In a pod, a caller cannot register a webhook at the pod, its node or the API server, whatever
// targets the Agent allows.
func TestWebhooksAtThePodTheNodeAndTheAPIServerAreRefused(t *testing.T) {
	here := nonLoopbackIP(t)
	t.Setenv(sidecarconfig.APIServerVariable, "10.96.0.1")
	t.Setenv(sidecarconfig.HostAddressesVariable, "10.0.0.5,fd00:a::5")
	url := standalone(t, "*", "0.0.0.0/0", "::/0")
	register := func(target string) string {
		message := fmt.Sprintf(pushing["1.0"].message, target)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Version", "1.0")
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return string(answer)
	}
	for _, target := range []string{
		"http://" + here.String() + ":8642/drain", "http://10.0.0.5:10250/pods", "https://[fd00:a::5]:10250/pods",
		"https://10.96.0.1/api", "https://kubernetes.default.svc/api", "https://kubernetes/api",
	} {
		if answer := register(target); !strings.Contains(answer, `"code":-32602`) || !strings.Contains(answer, "url") {
			t.Errorf("%s is registered: %s", target, answer)
		}
	}
	if answer := register("http://10.0.0.6:10250/hook"); strings.Contains(answer, `"error"`) {
		t.Errorf("an allowed target is refused: %s", answer)
	}
}

// standaloneOptions returns the options of a sidecar in standalone mode.
func standaloneOptions(t *testing.T, agent http.HandlerFunc) *settings.Options {
	t.Helper()
	backend := httptest.NewServer(agent)
	t.Cleanup(backend.Close)
	card := filepath.Join(t.TempDir(), "card.yaml")
	text := "displayName: Echo\ndescription: d\nversion: 1\nskills: [{id: a, name: a, description: a, tags: [a]}]\n"
	if err := os.WriteFile(card, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &settings.Options{BackendURL: backend.URL, CardFile: card, Anonymous: true, Listen: "127.0.0.1:0"}
}

// standalone runs a sidecar in standalone mode and returns its address.
func standalone(t *testing.T, allowed ...string) string {
	t.Helper()
	return "http://" + standaloneBefore(t, respondHi, allowed...).Addresses().Agent + "/"
}

// standaloneBefore runs a sidecar in standalone mode in front of an agent. allowed are
// the targets of push notifications.
func standaloneBefore(t *testing.T, agent http.HandlerFunc, allowed ...string) *Sidecar {
	t.Helper()
	o := standaloneOptions(t, agent)
	o.AllowedPushTargets = allowed
	return standaloneWith(t, o)
}

// standaloneWith runs a sidecar in standalone mode with these options.
func standaloneWith(t *testing.T, o *settings.Options) *Sidecar {
	t.Helper()
	s, err := Open(t.Context(), o, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve() error = %v", err)
		}
	})
	return s
}

// TestLargePushesAreCharged checks that a large notification is charged to the memory
// budget of responses until the receiver has responded.
func TestLargePushesAreCharged(t *testing.T) {
	arrived, answer := make(chan struct{}, 10), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if size, _ := io.Copy(io.Discard, r.Body); size > 200<<10 {
			arrived <- struct{}{}
			<-answer
		}
	}))
	defer receiver.Close()
	s := standaloneBefore(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"`+strings.Repeat("x", 200<<10)+`"}`)
	}, "127.0.0.0/8")
	response, err := http.Post("http://"+s.Addresses().Agent+"/", "application/json",
		strings.NewReader(fmt.Sprintf(pushing["0.3"].message, receiver.URL)))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	<-arrived
	memory := s.limits.HTTP().Answers
	if used := memory.Used(); used < 200<<10 {
		t.Errorf("%d bytes are charged for a notification of more than 200 KiB", used)
	}
	close(answer)
	if err := s.turns.pushes.Drain(t.Context()); err != nil || memory.Used() != 0 {
		t.Errorf("Drain() error = %v; %d bytes are charged after the answer", err, memory.Used())
	}
}

// TestInterruptedTurnsArePushed ends the grace period while a turn runs. The notification
// of the turn's last status is still sent.
func TestInterruptedTurnsArePushed(t *testing.T) {
	posts := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- string(body)
	}))
	defer receiver.Close()
	s := standaloneBefore(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // after the end of the body, the server detects that the caller disconnects
		<-r.Context().Done()
	}, "127.0.0.0/8")
	response, err := http.Post("http://"+s.Addresses().Agent+"/", "application/json",
		strings.NewReader(fmt.Sprintf(pushing["1.0"].message, receiver.URL)))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.turns.Drain(over); err == nil {
		t.Error("Drain() has no error")
	}
	for {
		select {
		case post := <-posts:
			if strings.Contains(post, "TASK_STATE_FAILED") {
				return
			}
		default:
			t.Fatal("the end of the task was not pushed")
		}
	}
}

func TestPushNotificationsAreOffAndBounded(t *testing.T) {
	reached := false
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer receiver.Close()
	p := newPod(t, respondHi, nil)
	send := func(version, url string) string {
		test := pushing[version]
		_, body := p.do("POST", p.agent(), fmt.Sprintf(test.message, url), "Authorization", "Bearer "+p.token("team"), "A2A-Version", version)
		return body
	}
	metric := func(want string) bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, want)
	}
	capability := func() bool {
		_, body := p.do("GET", p.agent()+".well-known/agent-card.json", "")
		return strings.Contains(body, `"pushNotifications":true`)
	}
	for version := range pushing {
		if body := send(version, "https://hooks.example.com/"); !strings.Contains(body, "-32003") {
			t.Errorf("%s while off: %s", version, body)
		}
	}
	if capability() {
		t.Error("the card offers push notifications while they are off")
	}

	// A pod does not post to itself, whatever targets the configuration allows.
	p.config.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{
		{Host: "hooks.example.com"}, {CIDR: "0.0.0.0/0"}, {CIDR: "127.0.0.0/8"},
	}}
	p.mount(p.encode())
	p.eventually("the configuration is reloaded", func() bool { return metric(`a2a_reloads_total{result="applied",source="configuration"} 1`) })
	if !capability() {
		t.Error("the card does not offer push notifications")
	}
	for version, field := range map[string]string{
		"0.3": "configuration.pushNotificationConfig.url", "1.0": "configuration.taskPushNotificationConfig.url",
	} {
		for _, url := range []string{receiver.URL, "http://169.254.169.254/", "http://hooks.example.com@127.0.0.1/", "https://127.1/"} {
			if body := send(version, url); !strings.Contains(body, "-32602") || !strings.Contains(body, field) {
				t.Errorf("%s to %s: %s, want -32602 and %s", version, url, body, field)
			}
		}
	}
	if reached {
		t.Error("the receiver was reached")
	}
}

func TestWire10_PushConfigsBelongToTheirOwner(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Namespaces = []string{"*"}
		c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{Host: "hooks.example.com"}}}
	})
	call := func(caller, method, params string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		_, answer := p.do("POST", p.agent(), body, "Authorization", "Bearer "+p.token(caller))
		return answer
	}
	_, sent, _ := strings.Cut(call("team", "message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`), `"id":"`)
	task, _, _ := strings.Cut(sent, `"`)
	const webhook = `"url":"https://hooks.example.com/"`
	for _, each := range []struct{ method, params, want string }{
		{"tasks/pushNotificationConfig/set", `{"taskId":"TASK","pushNotificationConfig":{` + webhook + `}}`, webhook},
		{"tasks/pushNotificationConfig/get", `{"id":"TASK"}`, webhook},
		{"tasks/pushNotificationConfig/list", `{"id":"TASK"}`, webhook},
		{"CreateTaskPushNotificationConfig", `{"taskId":"TASK","id":"x",` + webhook + `}`, webhook},
		{"GetTaskPushNotificationConfig", `{"taskId":"TASK","id":"x"}`, webhook},
		{"ListTaskPushNotificationConfigs", `{"taskId":"TASK"}`, webhook},
		{"tasks/pushNotification/set", `{"id":"TASK","pushNotificationConfig":{` + webhook + `}}`, webhook},
		{"tasks/pushNotification/get", `{"id":"TASK"}`, webhook},
		{"tasks/pushNotificationConfig/delete", `{"id":"TASK","pushNotificationConfigId":"TASK"}`, `"result":null`},
		{"DeleteTaskPushNotificationConfig", `{"taskId":"TASK","id":"x"}`, `"result":{}`},
		{"tasks/pushNotificationConfig/get", `{"id":"TASK"}`, "push notification config not found"},
	} {
		foreign := call("other", each.method, strings.ReplaceAll(each.params, "TASK", task))
		unknown := call("team", each.method, strings.ReplaceAll(each.params, "TASK", strings.Repeat("0", len(task))))
		if foreign = strings.ReplaceAll(foreign, task, strings.Repeat("0", len(task))); foreign != unknown || !strings.Contains(foreign, "-32001") {
			t.Errorf("%s: a foreign task is answered with %s, an unknown one with %s", each.method, foreign, unknown)
		}
		if own := call("team", each.method, strings.ReplaceAll(each.params, "TASK", task)); !strings.Contains(own, each.want) {
			t.Errorf("%s: %s, want %s", each.method, own, each.want)
		}
	}
}
