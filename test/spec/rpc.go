// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	v1pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// resultsV10 maps the operations of 1.0 to the types of their results, which are equal in every binding.
var resultsV10 = map[string]form{
	"SendMessage":                      {"v1.0.1", "SendMessageResponse", func() proto.Message { return &v1pb.SendMessageResponse{} }},
	"SendStreamingMessage":             {"v1.0.1", "StreamResponse", func() proto.Message { return &v1pb.StreamResponse{} }},
	"SubscribeToTask":                  {"v1.0.1", "StreamResponse", func() proto.Message { return &v1pb.StreamResponse{} }},
	"GetTask":                          {"v1.0.1", "Task", func() proto.Message { return &v1pb.Task{} }},
	"CancelTask":                       {"v1.0.1", "Task", func() proto.Message { return &v1pb.Task{} }},
	"ListTasks":                        {"v1.0.1", "ListTasksResponse", func() proto.Message { return &v1pb.ListTasksResponse{} }},
	"CreateTaskPushNotificationConfig": {"v1.0.1", "TaskPushNotificationConfig", func() proto.Message { return &v1pb.TaskPushNotificationConfig{} }},
	"GetTaskPushNotificationConfig":    {"v1.0.1", "TaskPushNotificationConfig", func() proto.Message { return &v1pb.TaskPushNotificationConfig{} }},
	"ListTaskPushNotificationConfigs": {"v1.0.1", "ListTaskPushNotificationConfigsResponse", func() proto.Message {
		return &v1pb.ListTaskPushNotificationConfigsResponse{}
	}},
	"GetExtendedAgentCard": {"v1.0.1", "AgentCard", func() proto.Message { return &v1pb.AgentCard{} }},
}

// responsesV03 maps the methods of 0.2 and 0.3 to the definitions of their responses with the envelope.
var responsesV03 = map[string]string{
	"message/send":                        "SendMessageResponse",
	"message/stream":                      "SendStreamingMessageResponse",
	"tasks/get":                           "GetTaskResponse",
	"tasks/cancel":                        "CancelTaskResponse",
	"tasks/resubscribe":                   "SendStreamingMessageResponse",
	"tasks/pushNotificationConfig/set":    "SetTaskPushNotificationConfigResponse",
	"tasks/pushNotificationConfig/get":    "GetTaskPushNotificationConfigResponse",
	"tasks/pushNotificationConfig/list":   "ListTaskPushNotificationConfigResponse",
	"tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfigResponse",
	"agent/getAuthenticatedExtendedCard":  "GetAuthenticatedExtendedCardResponse",
}

// responsesV01 maps the methods of 0.1 to the definitions of their responses.
var responsesV01 = map[string]string{
	"tasks/send":                 "SendTaskResponse",
	"tasks/sendSubscribe":        "SendTaskStreamingResponse",
	"tasks/get":                  "GetTaskResponse",
	"tasks/cancel":               "CancelTaskResponse",
	"tasks/resubscribe":          "SendTaskStreamingResponse",
	"tasks/pushNotification/set": "SetTaskPushNotificationResponse",
	"tasks/pushNotification/get": "GetTaskPushNotificationResponse",
}

// envelope is a response of JSON-RPC.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    *int            `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (e *exchange) rpc(text []byte) (string, error) {
	var asked struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(e.body, &asked)
	var answer envelope
	if err := strict(text, &answer); err != nil {
		return "JSON-RPC", err
	}
	if err := answer.validate(asked.ID); err != nil {
		return "JSON-RPC", err
	}
	if answer.Error != nil {
		return e.rpcError(asked.Method, &answer, text)
	}
	if answer.Result != nil {
		answer.Result, text = standardParts(answer.Result), standardParts(text)
	}
	if result, ok := resultsV10[asked.Method]; ok {
		return "JSON-RPC " + result.name(), result.validate(answer.Result)
	}
	// tasks/get, tasks/cancel and tasks/resubscribe are methods of 0.1 and of 0.3. A result with kind and sessionId must
	// be valid in both versions.
	v01, v03 := responsesV01[asked.Method], responsesV03[asked.Method]
	if asked.Method == "tasks/get" && e.isStream() {
		// tasks/get may return a stream, because one project that implements 0.3 resumes streams with it.
		v01, v03 = "", responsesV03["tasks/resubscribe"]
	}
	hasKind := bytes.Contains(answer.Result, []byte(`"kind":`))
	hasSession := bytes.Contains(answer.Result, []byte(`"sessionId":`))
	switch {
	case v01 != "" && v03 != "" && hasKind && hasSession:
		return "v0.1.0 and v0.3.0 " + v03, errors.Join(Validate("v0.1.0", v01, text), Validate("v0.3.0", v03, text))
	case v03 != "" && (v01 == "" || hasKind):
		return "v0.3.0 " + v03, Validate("v0.3.0", v03, text)
	case v01 != "":
		return "v0.1.0 " + v01, Validate("v0.1.0", v01, text)
	case asked.Method == "DeleteTaskPushNotificationConfig":
		return "Empty", isEmpty(answer.Result)
	case asked.Method == "tasks/list":
		return validateList(answer.Result)
	case asked.Method == "ListTaskPushNotificationConfig":
		f := resultsV10["ListTaskPushNotificationConfigs"]
		return f.name(), f.validate(answer.Result)
	default:
		return "unknown", fmt.Errorf("unknown method %q has a result", asked.Method)
	}
}

func (e *exchange) rpcError(method string, answer *envelope, text []byte) (string, error) {
	if _, ok := resultsV10[method]; ok {
		var details []json.RawMessage
		if answer.Error.Data != nil {
			if err := json.Unmarshal(answer.Error.Data, &details); err != nil {
				return "error of 1.0", fmt.Errorf("data must be an array: %w", err)
			}
		}
		return "error of 1.0", validateDetails(details)
	}
	if *answer.Error.Code == -32009 { // only 1.0 defines this code
		return "error of 1.0", nil
	}
	// The schema of 0.1 allows no null id, but a response to an unreadable request has one.
	if _, ok := responsesV01[method]; ok && string(answer.ID) != "null" {
		if err := Validate("v0.1.0", "JSONRPCResponse", text); err != nil {
			return "v0.1.0 error", err
		}
	}
	return "v0.3.0 JSONRPCErrorResponse", Validate("v0.3.0", "JSONRPCErrorResponse", text)
}

// validate checks the envelope. The id must be the id of the request, or null in an
// error.
func (a *envelope) validate(id json.RawMessage) error {
	isNull := a.ID == nil || string(a.ID) == "null"
	switch {
	case a.JSONRPC != "2.0":
		return fmt.Errorf("jsonrpc is %q", a.JSONRPC)
	case (a.Result == nil) == (a.Error == nil):
		return errors.New("want a result or an error")
	case a.Error != nil && (a.Error.Code == nil || a.Error.Message == nil || *a.Error.Message == ""):
		return errors.New("an error needs a code and a message")
	case id != nil && !bytes.Equal(a.ID, id) && (a.Error == nil || !isNull):
		return fmt.Errorf("id is %s, want %s", a.ID, id)
	}
	return nil
}

// validateList checks the result of tasks/list, which 0.3 does not define. The only
// client that calls it reads names in snake_case.
func validateList(result []byte) (string, error) {
	const name = "v0.3.0 tasks/list"
	var page struct {
		Tasks         []json.RawMessage `json:"tasks"`
		NextPageToken *string           `json:"nextPageToken"`
		PageSize      *int              `json:"pageSize"`
		TotalSize     *int              `json:"totalSize"`
		GoToken       *string           `json:"next_page_token"`
		GoPageSize    *int              `json:"page_size"`
		GoTotalSize   *int              `json:"total_size"`
	}
	if err := strict(result, &page); err != nil {
		return name, err
	}
	if page.Tasks == nil || page.NextPageToken == nil || page.PageSize == nil || page.TotalSize == nil ||
		page.GoToken == nil || page.GoPageSize == nil || page.GoTotalSize == nil {
		return name, errors.New("all members of a page are required")
	}
	if *page.NextPageToken != *page.GoToken || *page.PageSize != *page.GoPageSize || *page.TotalSize != *page.GoTotalSize {
		return name, errors.New("the two names of a member must have equal values")
	}
	for _, task := range page.Tasks {
		if err := Validate("v0.3.0", "Task", task); err != nil {
			return name, err
		}
	}
	return name, nil
}

// standardParts replaces parts of kinds that no version defines, which the sidecar
// returns to the clients of 0.2 and 0.3 that sent them.
func standardParts(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"kind":"tool-`)) {
		return text
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return text
	}
	out, err := json.Marshal(standard(value))
	if err != nil {
		return text
	}
	return out
}

// standard replaces parts of undefined kinds by data parts.
func standard(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if kind, _ := value["kind"].(string); kind == "tool-result" || kind == "tool-use" {
			return map[string]any{"kind": "data", "data": map[string]any{}}
		}
		for name, member := range value {
			value[name] = standard(member)
		}
	case []any:
		for i := range value {
			value[i] = standard(value[i])
		}
	}
	return value
}
