// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// method is a method of A2A 1.0 in all bindings. TASK and CONTEXT stand for the ids of the task and of its
// context.
type method struct {
	name   string
	params string
	// verb and path are those of REST. The body is params, or empty.
	verb, path string
}

var methods = []method{
	{"SendMessage", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"TASK","parts":[{"text":"Hi"}]}}`, "POST", "/message:send"},
	{"SendStreamingMessage", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"TASK","parts":[{"text":"Hi"}]}}`, "POST", "/message:stream"},
	{"GetTask", `{"id":"TASK"}`, "GET", "/tasks/TASK"},
	{"ListTasks", `{"contextId":"CONTEXT"}`, "GET", "/tasks?contextId=CONTEXT"},
	{"CancelTask", `{"id":"TASK"}`, "POST", "/tasks/TASK:cancel"},
	{"SubscribeToTask", `{"id":"TASK"}`, "GET", "/tasks/TASK:subscribe"},
	{"CreateTaskPushNotificationConfig", `{"taskId":"TASK","url":"https://203.0.113.7/a"}`, "POST", "/tasks/TASK/pushNotificationConfigs"},
	{"GetTaskPushNotificationConfig", `{"taskId":"TASK","id":"c"}`, "GET", "/tasks/TASK/pushNotificationConfigs/c"},
	{"ListTaskPushNotificationConfigs", `{"taskId":"TASK"}`, "GET", "/tasks/TASK/pushNotificationConfigs"},
	{"DeleteTaskPushNotificationConfig", `{"taskId":"TASK","id":"c"}`, "DELETE", "/tasks/TASK/pushNotificationConfigs/c"},
	// GetExtendedAgentCard names no task, but its result must not depend on other owners' tasks either.
	{"GetExtendedAgentCard", `{}`, "GET", "/extendedAgentCard"},
}

// asker is a caller who asks for the task of another owner.
type asker struct{ token, tenant string }

type ids struct{ task, context string }

func (i ids) in(text string) string {
	return strings.NewReplacer("TASK", i.task, "CONTEXT", i.context).Replace(text)
}

// out replaces the ids in a text by the placeholders.
func (i ids) out(text string) string {
	return strings.NewReplacer(i.task, "TASK", i.context, "CONTEXT").Replace(text)
}

// bindings send a method, and return everything of the response that a client can see.
var bindings = map[string]func(t *testing.T, c *http.Client, base string, m method, who asker, i ids) string{
	"JSON-RPC": func(t *testing.T, c *http.Client, base string, m method, who asker, i ids) string {
		t.Helper()
		return ask(t, c, "POST", base+"/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, m.name, inTenant(t, i.in(m.params), who)), "application/json", who, i)
	},
	"REST": func(t *testing.T, c *http.Client, base string, m method, who asker, i ids) string {
		t.Helper()
		body := ""
		if m.verb == "POST" {
			body = i.in(m.params)
		}
		if strings.HasSuffix(m.path, ":cancel") {
			body = "{}"
		}
		if who.tenant != "" {
			base += "/" + who.tenant
		}
		return ask(t, c, m.verb, base+i.in(m.path), body, "application/json", who, i)
	},
	"gRPC": func(t *testing.T, c *http.Client, base string, m method, who asker, i ids) string {
		t.Helper()
		service := v1pb.File_a2av1_proto.Services().Get(0)
		message := dynamicpb.NewMessage(service.Methods().ByName(protoreflect.Name(m.name)).Input())
		if err := protojson.Unmarshal([]byte(inTenant(t, i.in(m.params), who)), message); err != nil {
			t.Fatal(err)
		}
		payload, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(payload)))
		return ask(t, c, "POST", base+"/"+string(service.FullName())+"/"+m.name, string(append(frame, payload...)), "application/grpc", who, i)
	},
}

func inTenant(t *testing.T, params string, who asker) string {
	t.Helper()
	if who.tenant == "" {
		return params
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(params), &members); err != nil {
		t.Fatal(err)
	}
	members["tenant"] = who.tenant
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func ask(t *testing.T, c *http.Client, verb, url, body, contentType string, who asker, i ids) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), verb, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("A2A-Version", "1.0")
	if who.token != "" {
		r.Header.Set("Authorization", who.token)
	}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	fmt.Fprintf(&all, "%d\n", response.StatusCode)
	for _, headers := range []http.Header{response.Header, response.Trailer} {
		headers.Del("Date")
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			value := strings.Join(headers[name], ", ")
			if strings.HasSuffix(name, "-Bin") {
				// A header with this suffix is base64, in which the id must be replaced, too.
				decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				if err != nil {
					t.Fatal(err)
				}
				value = string(decoded)
			}
			fmt.Fprintf(&all, "%s: %s\n", name, value)
		}
	}
	all.Write(text)
	return i.out(all.String())
}

// TestForeignTaskEqualsMissingTask checks that the responses for a task of another owner and for a missing task have the same
// bytes, and take the same time.
func TestForeignTaskEqualsMissingTask(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.HeldAgent(nil), sidecartest.WithEverything, sidecartest.WithTokens)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	alice, bob := "Bearer "+r.Token(t, "alice"), "Bearer "+r.Token(t, "bob")

	mine := begin(t, client, r, alice)
	// The ids are as long as real ones, so that lengths do not differ.
	nowhere := ids{other(mine.task), other(mine.context)}
	askers := map[string]asker{"another user": {bob, ""}, "another tenant": {alice, "other"}, "nobody": {"", ""}}
	compared := 0
	for binding, send := range bindings {
		for _, m := range methods {
			for who, asker := range askers {
				foreign, missing := send(t, client, r.URL, m, asker, mine), send(t, client, r.URL, m, asker, nowhere)
				compared++
				if foreign != missing {
					t.Errorf("%s, %s, %s: response for a foreign task:\n%s\nand for a missing one:\n%s", binding, m.name, who, foreign, missing)
				}
				refused := strings.HasPrefix(foreign, "401") || strings.Contains(foreign, "Grpc-Status: 16\n")
				if refused != (who == "nobody") {
					t.Errorf("%s, %s, %s: %s", binding, m.name, who, foreign)
				}
				if names := strings.Contains(m.params, "TASK"); names && !refused && !strings.Contains(foreign, "TASK_NOT_FOUND") {
					t.Errorf("%s, %s, %s: the response is not task not found: %s", binding, m.name, who, foreign)
				}
			}
		}
	}
	get := methods[2]
	var foreign, missing []time.Duration
	for range 300 {
		for of, took := range map[ids]*[]time.Duration{mine: &foreign, nowhere: &missing} {
			began := time.Now()
			bindings["JSON-RPC"](t, client, r.URL, get, askers["another user"], of)
			*took = append(*took, time.Since(began))
		}
	}
	slices.Sort(foreign)
	slices.Sort(missing)
	a, b := foreign[len(foreign)/2], missing[len(missing)/2]
	if max(a, b) > min(a, b)*3/2+200*time.Microsecond {
		t.Errorf("a foreign task takes %v, a missing one %v", a, b)
	}
	t.Logf("T-IDOR: %d answers of %d methods in %d bindings for %d askers equal those for missing tasks; median %v, missing %v",
		compared, len(methods), len(bindings), len(askers), a, b)
	bindings["JSON-RPC"](t, client, r.URL, methods[4], asker{alice, ""}, mine)
}

// begin sends a message whose task keeps running.
func begin(t *testing.T, c *http.Client, r *sidecartest.Fixture, token string) ids {
	t.Helper()
	answer := bindings["JSON-RPC"](t, c, r.URL, method{
		name:   "SendMessage",
		params: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi"}]},"configuration":{"returnImmediately":true}}`,
	}, asker{token, ""}, ids{"no task", "no context"})
	var sent struct {
		Result struct {
			Task struct{ ID, ContextID string }
		}
	}
	if err := json.Unmarshal([]byte(answer[strings.Index(answer, "{"):]), &sent); err != nil || sent.Result.Task.ID == "" {
		t.Fatalf("send = %v %s", err, answer)
	}
	return ids{sent.Result.Task.ID, sent.Result.Task.ContextID}
}

// other returns an id of the same form.
func other(id string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '8' {
			return c + 1
		}
		return c
	}, id)
}
