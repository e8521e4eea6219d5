// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
)

// shapeOf returns a JSON value with the types of its leaves in place of their values. The arguments of a tool have any shape.
func shapeOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		shape := map[string]any{}
		for name, member := range v {
			shape[name] = shapeOf(member)
		}
		if _, has := v["args"].(map[string]any); has {
			shape["args"] = "object"
		}
		return shape
	case []any:
		var shapes []any
		for _, each := range v {
			if shape := shapeOf(each); !slices.ContainsFunc(shapes, func(other any) bool { return cmp.Equal(other, shape) }) {
				shapes = append(shapes, shape)
			}
		}
		return shapes
	case string:
		return "string"
	case bool:
		return v
	default:
		return "other"
	}
}

// withoutOwn removes the members of a2a-operator from objects.
func withoutOwn(value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, _ any) bool { return strings.HasPrefix(name, "a2a-operator.dev/") })
		for name, member := range v {
			withoutOwn(member)
			if object, is := member.(map[string]any); is && len(object) == 0 && name == "metadata" {
				delete(v, name)
			}
		}
	case []any:
		for _, each := range v {
			withoutOwn(each)
		}
	}
	return value
}

func profileFile(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../a2a/approval/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestPublishedProfileOnTheWire compares the event with which the sidecar asks for an approval with that of the published profile, and
// decides with the message of the profile.
func TestPublishedProfileOnTheWire(t *testing.T) {
	d := newDeployer(t, "", nil)
	owner := append(d.tokenHeaders("team"), "X-A2A-Extensions", approval.Extension)
	response, stream := d.do("POST", d.agent(), `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","role":"user","messageId":"1","parts":[{"kind":"text","text":"hello"}]}}}`, owner...)
	if got := response.Header.Get("X-A2A-Extensions"); got != approval.Extension {
		t.Errorf("the response activates %q", got)
	}
	if _, card := d.do("GET", d.agent()+".well-known/agent-card.json", ""); !strings.Contains(card, `"uri":"`+approval.Extension+`"`) {
		t.Errorf("the card does not declare the extension: %s", card)
	}
	lines := strings.Split(strings.TrimSpace(stream), "\n")
	var last struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[len(lines)-1], "data: ")), &last); err != nil {
		t.Fatalf("%v: %s", err, stream)
	}
	status, _ := last.Result["status"].(map[string]any)
	sent, _ := status["message"].(map[string]any)
	delete(status, "timestamp")
	delete(sent, "kind") // the profile leaves out this member of A2A 0.3
	if diff := cmp.Diff(shapeOf(profileFile(t, "statusupdate.json")), shapeOf(withoutOwn(last.Result))); diff != "" {
		t.Fatalf("the event (-published +sent):\n%s", diff)
	}
	text, err := json.Marshal(sent["metadata"])
	if err != nil {
		t.Fatal(err)
	}
	var asked map[string]struct{ Tools []struct{ ID string } }
	if err := json.Unmarshal(text, &asked); err != nil {
		t.Fatal(err)
	}
	published, err := json.Marshal(profileFile(t, "message.json"))
	if err != nil {
		t.Fatal(err)
	}
	message := string(published)
	for from, to := range map[string]string{
		"task-123": last.Result["taskId"].(string), "conversation-456": last.Result["contextId"].(string), `"approval-1"`: `"` + asked[approval.Extension].Tools[0].ID + `"`,
	} {
		message = strings.ReplaceAll(message, from, to)
	}
	if a := d.rpc("message/send", `{"message":`+message+`}`, owner...); a.Result.Status.State != "completed" || d.deployed.Load() != 1 {
		t.Errorf("after the decision: %s", a.text)
	}
}
