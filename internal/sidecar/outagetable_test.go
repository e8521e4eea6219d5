// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// storeCalls returns the calls of a client that need the store, by their binding and method. Each returns what the client gets:
// ok, UNAVAILABLE, RESOURCE_EXHAUSTED, or another text.
func storeCalls(t *testing.T, address, task string) map[string]func(n int) string {
	t.Helper()
	client := &http.Client{Timeout: 90 * time.Second}
	send := func(verb, url, body, version string) string {
		r, err := http.NewRequestWithContext(t.Context(), verb, url, strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Version", version)
		response, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		switch answer := string(text); {
		case err != nil:
			return err.Error()
		// 0.3 has no reasons.
		case strings.Contains(answer, `"RESOURCE_EXHAUSTED"`), version == "0.3" && strings.Contains(answer, "no room"):
			return "RESOURCE_EXHAUSTED"
		case strings.Contains(answer, `"UNAVAILABLE"`), version == "0.3" && strings.Contains(answer, "try again"):
			return "UNAVAILABLE"
		case response.StatusCode < http.StatusMultipleChoices && !strings.Contains(answer, `"error"`):
			return "ok"
		default:
			return fmt.Sprintf("status %d: %s", response.StatusCode, answer)
		}
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ofGRPC := func(err error) string {
		switch code := status.Code(err); code {
		case codes.OK:
			return "ok"
		case codes.Unavailable:
			return "UNAVAILABLE"
		case codes.ResourceExhausted:
			return "RESOURCE_EXHAUSTED"
		default:
			return err.Error()
		}
	}
	root := "http://" + address + "/"
	all := map[string]func(n int) string{}
	const config = `{"url":"http://127.0.0.1:9/hook"}`
	for method, params := range map[string]string{
		"SendMessage":                      `{"message":{"messageId":"j%d","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`,
		"GetTask":                          `{"id":"TASK"}`,
		"ListTasks":                        `{}`,
		"CreateTaskPushNotificationConfig": `{"taskId":"TASK","id":"j%d","url":"http://127.0.0.1:9/hook"}`,
		"GetTaskPushNotificationConfig":    `{"taskId":"TASK","id":"c"}`,
		"ListTaskPushNotificationConfigs":  `{"taskId":"TASK"}`,
		"DeleteTaskPushNotificationConfig": `{"taskId":"TASK","id":"none"}`,
	} {
		all["JSON-RPC 1.0 "+method] = func(n int) string {
			params := strings.ReplaceAll(strings.ReplaceAll(params, "TASK", task), "%d", fmt.Sprint(n))
			return send("POST", root, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "1.0")
		}
	}
	all["JSON-RPC 1.0 SendMessage with a configuration"] = func(n int) string {
		return send("POST", root, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"p%d","role":"ROLE_USER","parts":[{"text":"Hello"}]},"configuration":{"taskPushNotificationConfig":%s}}}`, n, config), "1.0")
	}
	for method, params := range map[string]string{
		"message/send":                        `{"message":{"kind":"message","messageId":"o%d","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`,
		"tasks/get":                           `{"id":"TASK"}`,
		"tasks/pushNotificationConfig/set":    `{"taskId":"TASK","pushNotificationConfig":{"id":"o%d","url":"http://127.0.0.1:9/hook"}}`,
		"tasks/pushNotificationConfig/get":    `{"id":"TASK","pushNotificationConfigId":"c"}`,
		"tasks/pushNotificationConfig/list":   `{"id":"TASK"}`,
		"tasks/pushNotificationConfig/delete": `{"id":"TASK","pushNotificationConfigId":"none"}`,
	} {
		all["JSON-RPC 0.3 "+method] = func(n int) string {
			params := strings.ReplaceAll(strings.ReplaceAll(params, "TASK", task), "%d", fmt.Sprint(n))
			return send("POST", root, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "0.3")
		}
	}
	all["REST send"] = func(n int) string {
		return send("POST", root+"message:send", fmt.Sprintf(`{"message":{"messageId":"r%d","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`, n), "1.0")
	}
	all["REST get"] = func(int) string { return send("GET", root+"tasks/"+task, "", "1.0") }
	all["REST list"] = func(int) string { return send("GET", root+"tasks", "", "1.0") }
	configs := root + "tasks/" + task + "/pushNotificationConfigs"
	all["REST set configuration"] = func(n int) string {
		return send("POST", configs, fmt.Sprintf(`{"id":"r%d","url":"http://127.0.0.1:9/hook"}`, n), "1.0")
	}
	all["REST get configuration"] = func(int) string { return send("GET", configs+"/c", "", "1.0") }
	all["REST list configurations"] = func(int) string { return send("GET", configs, "", "1.0") }
	all["REST delete configuration"] = func(int) string { return send("DELETE", configs+"/none", "", "1.0") }
	recent := v10.NewA2AServiceClient(conn)
	all["gRPC 1.0 SendMessage"] = func(n int) string {
		_, err := recent.SendMessage(t.Context(), &v10.SendMessageRequest{Message: &v10.Message{
			MessageId: fmt.Sprint("g", n), Role: v10.Role_ROLE_USER, Parts: []*v10.Part{{Content: &v10.Part_Text{Text: "Hello"}}},
		}})
		return ofGRPC(err)
	}
	all["gRPC 1.0 GetTask"] = func(int) string {
		_, err := recent.GetTask(t.Context(), &v10.GetTaskRequest{Id: task})
		return ofGRPC(err)
	}
	all["gRPC 1.0 ListTasks"] = func(int) string {
		_, err := recent.ListTasks(t.Context(), &v10.ListTasksRequest{})
		return ofGRPC(err)
	}
	all["gRPC 1.0 ListTaskPushNotificationConfigs"] = func(int) string {
		_, err := recent.ListTaskPushNotificationConfigs(t.Context(), &v10.ListTaskPushNotificationConfigsRequest{TaskId: task})
		return ofGRPC(err)
	}
	old := v03.NewA2AServiceClient(conn)
	all["gRPC 0.3 SendMessage"] = func(n int) string {
		_, err := old.SendMessage(t.Context(), &v03.SendMessageRequest{Request: &v03.Message{
			MessageId: fmt.Sprint("h", n), Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "Hello"}}},
		}})
		return ofGRPC(err)
	}
	all["gRPC 0.3 GetTask"] = func(int) string {
		_, err := old.GetTask(t.Context(), &v03.GetTaskRequest{Name: "tasks/" + task})
		return ofGRPC(err)
	}
	return all
}

// command sends a command to a server.
func command(t *testing.T, server *redistest.Server, line string) {
	t.Helper()
	c, err := net.Dial("tcp", server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, line+"\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 3)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "+OK" {
		t.Fatalf("%s: %q, %v", line, answer, err)
	}
}

// TestEveryMethodReportsTheStateOfTheStore calls each method of each binding while the store is dead, slow, read-only
// and full. A client always learns that it may try again, and never that the sidecar is broken.
func TestEveryMethodReportsTheStateOfTheStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm func(t *testing.T, server *redistest.Server)
		// writes and reads are the allowed outcomes of calls that store something, and of others.
		writes, reads string
	}{
		"dead": {func(_ *testing.T, server *redistest.Server) { server.Kill() }, "UNAVAILABLE", "UNAVAILABLE"},
		"slow": {func(t *testing.T, server *redistest.Server) {
			if err := server.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}, "UNAVAILABLE", "UNAVAILABLE"},
		"read-only": {func(t *testing.T, server *redistest.Server) { command(t, server, "REPLICAOF 127.0.0.1 1") }, "UNAVAILABLE", "ok UNAVAILABLE"},
		"full":      {func(t *testing.T, server *redistest.Server) { command(t, server, "CONFIG SET maxmemory 1") }, "RESOURCE_EXHAUSTED", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			o := standaloneOptions(t, respondHi)
			o.AllowedPushTargets = []string{"127.0.0.0/8"}
			o.Store = "redis://" + server.Address()
			o.Replica = "a"
			o.StoreName = "test/agent"
			address := standaloneWith(t, o).Addresses().Agent
			task := createTask(t, "http://"+address+"/")
			calls := storeCalls(t, address, task)
			for what, call := range calls {
				if got := call(1); got != "ok" {
					t.Errorf("%s, before: %s", what, got)
				}
			}
			test.harm(t, server)
			var all sync.WaitGroup
			for what, call := range calls {
				all.Go(func() {
					want := test.reads
					lower := strings.ToLower(what)
					if strings.Contains(lower, "send") || strings.Contains(lower, "create") || strings.Contains(lower, "set") {
						want = test.writes
					}
					if got := call(2); !strings.Contains(want, got) {
						t.Errorf("%s: %s, want %s", what, got, want)
					}
				})
			}
			all.Wait()
			if name == "slow" {
				_ = server.Signal(syscall.SIGCONT)
			}
		})
	}
}

// createTask creates a task with the push configuration c, and returns its id.
func createTask(t *testing.T, root string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"first","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`
	for range 100 {
		response, err := http.Post(root, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), `"kind":"task","id":"`)
		if !found {
			_, rest, found = strings.Cut(string(text), `"result":{"id":"`)
		}
		if id, _, ok := strings.Cut(rest, `"`); found && ok {
			set := `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"` + id + `","pushNotificationConfig":{"id":"c","url":"http://127.0.0.1:9/hook"}}}`
			if response, err = http.Post(root, "application/json", strings.NewReader(set)); err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return id
		}
		if !strings.Contains(string(text), "UNAVAILABLE") {
			t.Fatalf("message/send = %s", text)
		}
		time.Sleep(50 * time.Millisecond) // the sidecar has no lease yet
	}
	t.Fatal("no task was created")
	return ""
}
