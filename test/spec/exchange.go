// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/a2apb"
	v1pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// exchange is a request and the head of its response.
type exchange struct {
	method, path, version string
	body                  []byte

	status      int
	contentType string
}

func (e *exchange) isStream() bool { return strings.HasPrefix(e.contentType, "text/event-stream") }

// form is the type of a response of an operation.
type form struct {
	// schema and definition name a definition of a JSON Schema.
	schema, definition string
	// message returns an empty message of the type in the proto. It is nil if the type is not in the proto.
	message func() proto.Message
}

func (f *form) name() string {
	if f.schema == "" {
		return "a2a.v1 " + string(f.message().ProtoReflect().Descriptor().Name())
	}
	return f.schema + " " + f.definition
}

func (f *form) validate(text []byte) error {
	if f.message != nil {
		if err := protojson.Unmarshal(text, f.message()); err != nil {
			return fmt.Errorf("read as %T: %w", f.message(), err)
		}
	}
	if f.schema == "" {
		return nil
	}
	return Validate(f.schema, f.definition, text)
}

// validate returns the name of the form of a document, and an error if the document
// does not have that form.
func (e *exchange) validate(text []byte) (string, error) {
	switch {
	case !json.Valid(text):
		return "text", errors.New("not JSON")
	case strings.HasSuffix(e.path, "/.well-known/agent-card.json"), strings.HasSuffix(e.path, "/.well-known/agent.json"):
		return e.card(text)
	case e.isRPC(text):
		return e.rpc(text)
	case strings.Contains(e.path, "/v1/"):
		return e.restV03(text)
	case strings.Contains(e.path, "/.well-known/"):
		return "other", nil // the keys of card signatures have no schema of A2A
	case strings.HasSuffix(e.path, "/agent/authenticatedExtendedCard") && e.status == http.StatusOK:
		return "v0.2.6 AgentCard", Validate("v0.2.6", "AgentCard", text)
	default:
		return e.restV10(text)
	}
}

// card validates a public card: the card of 1.0, or the union for all versions.
func (e *exchange) card(text []byte) (string, error) {
	if e.status != http.StatusOK {
		return "error", nil
	}
	var marks struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(text, &marks)
	if marks.ProtocolVersion == "" {
		f := form{"v1.0.1", "AgentCard", func() proto.Message { return &v1pb.AgentCard{} }}
		return f.name(), f.validate(text)
	}
	return "card of all versions", errors.Join(
		Validate("v0.1.0", "AgentCard", text), Validate("v0.2.6", "AgentCard", text), Validate("v0.3.0", "AgentCard", text))
}

// isRPC reports whether the exchange is JSON-RPC, which includes the response for an
// unknown path.
func (e *exchange) isRPC(text []byte) bool {
	var asked, answered struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
	}
	_ = json.Unmarshal(e.body, &asked)
	_ = json.Unmarshal(text, &answered)
	return asked.Method != "" || asked.JSONRPC != "" || answered.JSONRPC != "" && !strings.Contains(e.path, "/v1/")
}

// restV10 validates a document of HTTP+JSON of 1.0.
func (e *exchange) restV10(text []byte) (string, error) {
	if e.status >= http.StatusBadRequest || isStatus(text) {
		return "google.rpc.Status", validateStatus(text, e.status)
	}
	path := e.path
	last := afterLast(path, "/")
	verb := afterLast(last, ":")
	var name string
	switch {
	case verb == "send":
		name = "SendMessage"
	case verb == "stream" || verb == "subscribe":
		name = "SendStreamingMessage"
	case verb == "cancel":
		name = "CancelTask"
	case last == "extendedAgentCard":
		name = "GetExtendedAgentCard"
	case last == "pushNotificationConfigs" && e.method == http.MethodGet:
		name = "ListTaskPushNotificationConfigs"
	case last == "tasks":
		name = "ListTasks"
	case strings.Contains(path, "/pushNotificationConfigs") && e.method == http.MethodDelete:
		return "Empty", isEmpty(text)
	case strings.Contains(path, "/pushNotificationConfigs"):
		name = "GetTaskPushNotificationConfig"
	case strings.Contains(path, "/tasks/"):
		name = "GetTask"
	default:
		return "unknown", fmt.Errorf("no operation of 1.0 has the path %s", path)
	}
	f := resultsV10[name]
	return f.name(), f.validate(text)
}

// restV03 validates a document of HTTP+JSON of 0.3: ProtoJSON, or objects with a
// kind.
func (e *exchange) restV03(text []byte) (string, error) {
	if e.status >= http.StatusBadRequest {
		return "error of 0.3", nil // 0.3 does not define the body of an error
	}
	if hasKind(text) {
		return e.kindREST(text)
	}
	last := afterLast(e.path, "/")
	verb := afterLast(last, ":")
	var m proto.Message
	switch {
	case verb == "send":
		m = &a2apb.SendMessageResponse{}
	case verb == "stream" || verb == "subscribe":
		m = &a2apb.StreamResponse{}
	case last == "card":
		// Clients of 0.3 read the card by its JSON Schema or by its proto: the
		// security schemes have the members of both.
		read := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, &a2apb.AgentCard{})
		return "v0.3.0 AgentCard", errors.Join(Validate("v0.3.0", "AgentCard", text), read)
	case last == "tasks":
		return "tasks", taskPage(renameContent(text))
	case strings.HasPrefix(last, "pushNotification") && e.method == http.MethodGet:
		m = &a2apb.ListTaskPushNotificationConfigResponse{}
	case strings.Contains(e.path, "/pushNotification") && e.method == http.MethodDelete:
		return "Empty", isEmpty(text)
	case strings.Contains(e.path, "/pushNotification"):
		m = &a2apb.TaskPushNotificationConfig{}
	default:
		m = &a2apb.Task{}
	}
	f := form{message: func() proto.Message { return m }}
	return f.name(), f.validate(renameContent(text))
}

// hasKind reports whether a document or its result has the member kind. Data in it may have one, too.
func hasKind(text []byte) bool {
	type kinded struct {
		Kind *string `json:"kind"`
	}
	var document struct {
		kinded
		Result *kinded `json:"result"`
	}
	_ = json.Unmarshal(text, &document)
	return document.Kind != nil || document.Result != nil && document.Result.Kind != nil
}

// taskPage validates a page of tasks in 0.3. 0.3 mentions the operation and defines no
// response, so the sidecar returns the response of 1.0 with tasks of 0.3.
func taskPage(text []byte) error {
	var page struct {
		Tasks         []json.RawMessage `json:"tasks"`
		NextPageToken *string           `json:"nextPageToken"`
		PageSize      *int              `json:"pageSize"`
		TotalSize     *int              `json:"totalSize"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&page); err != nil {
		return err
	}
	if page.Tasks == nil || page.NextPageToken == nil || page.PageSize == nil || page.TotalSize == nil {
		return errors.New("a member is missing")
	}
	for _, task := range page.Tasks {
		f := form{message: func() proto.Message { return &a2apb.Task{} }}
		if err := f.validate(task); err != nil {
			return err
		}
	}
	return nil
}

// renameContent renames the member content of a message to parts, its name in the stubs
// of the Go SDK.
func renameContent(text []byte) []byte {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return text // the caller reports the invalid text
	}
	var rename func(any)
	rename = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				rename(element)
			}
		case map[string]any:
			if parts, ok := v["content"]; ok && v["messageId"] != nil {
				delete(v, "content")
				v["parts"] = parts
			}
			for _, member := range v {
				rename(member)
			}
		}
	}
	rename(value)
	renamed, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return renamed
}

// kindREST validates an object with the member kind, or an event that contains one.
func (*exchange) kindREST(text []byte) (string, error) {
	var frame struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(text, &frame); err != nil {
		return "REST with kinds", err
	}
	item := frame.Result
	if item == nil {
		item = text
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(item, &kind)
	definition := map[string]string{
		"task": "Task", "message": "Message",
		"status-update": "TaskStatusUpdateEvent", "artifact-update": "TaskArtifactUpdateEvent",
	}[kind.Kind]
	if definition == "" {
		return "REST with kinds", fmt.Errorf("unknown kind %q", kind.Kind)
	}
	return "v0.3.0 REST " + definition, Validate("v0.3.0", definition, item)
}

// isStatus reports whether an event of a stream is an error: google.rpc.Status.
func isStatus(text []byte) bool {
	var s struct {
		Error *json.RawMessage `json:"error"`
	}
	return json.Unmarshal(text, &s) == nil && s.Error != nil
}

// validateStatus validates the body of an HTTP+JSON error of 1.0: google.rpc.Status,
// as in AIP-193.
func validateStatus(text []byte, status int) error {
	var body struct {
		Error *struct {
			Code    int               `json:"code"`
			Status  string            `json:"status"`
			Message string            `json:"message"`
			Details []json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if err := strict(text, &body); err != nil {
		return err
	}
	switch {
	case body.Error == nil:
		return errors.New("error is missing")
	case status >= http.StatusBadRequest && body.Error.Code != status:
		return fmt.Errorf("code is %d, want the HTTP status %d", body.Error.Code, status)
	case body.Error.Status == "" || body.Error.Message == "":
		return errors.New("status and message are required")
	}
	return validateDetails(body.Error.Details)
}

// validateDetails checks that the details of an error are google.protobuf.Any.
func validateDetails(details []json.RawMessage) error {
	for _, detail := range details {
		var typed struct {
			Type string `json:"@type"`
		}
		if err := json.Unmarshal(detail, &typed); err != nil || !strings.HasPrefix(typed.Type, "type.googleapis.com/") {
			return fmt.Errorf("detail without a type: %s", detail)
		}
	}
	return nil
}

func isEmpty(text []byte) error {
	if string(bytes.TrimSpace(text)) != "{}" {
		return errors.New("want {}")
	}
	return nil
}

func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// afterLast returns the text after the last separator, or s without a separator.
func afterLast(s, sep string) string { return s[strings.LastIndex(s, sep)+1:] }
