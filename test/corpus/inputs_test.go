// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// seedValues returns the values from which the inputs of the decoders are made: their encodings, and mutations of
// these. The keys are the kind of the decoders and, below it, the kind of the values in the table encoders.
func seedValues() map[string]map[string][]any {
	push := &a2a.PushConfig{ID: "p1", TaskID: "t1", URL: "https://example.com/hook", Token: "k", Scheme: "Bearer", Credentials: "c"}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(codectest.Events())) {
		if name == "artifact" || name == "input-required" {
			e := codectest.Events()[name]
			all = append(all, &e)
		}
	}
	sends := []any{&a2a.SendRequest{
		Message: codectest.Message(), AcceptedOutputModes: []string{"text/plain"}, HistoryLength: new(2), ReturnImmediately: true,
		Push: push, Metadata: a2a.Object(`{"a":1}`), Tenant: "acme",
	}}
	params := map[string][]any{
		"get":       {&a2a.GetRequest{TaskID: "t1", Tenant: "acme", HistoryLength: new(1)}},
		"cancel":    {&a2a.CancelRequest{TaskID: "t1", Tenant: "acme", Metadata: a2a.Object(`{"a":1}`)}},
		"subscribe": {&a2a.SubscribeRequest{TaskID: "t1", Tenant: "acme"}},
	}
	requests := maps.Clone(params)
	requests["send"], requests["push"] = sends, []any{push}
	return map[string]map[string][]any{
		"event": {"event": all, "task": {codectest.Task()}}, "send": {"send": sends}, "params": params, "push": {"push": {push}}, "request": requests,
	}
}

// handwritten are inputs that no encoder makes: the forms of other releases, and of
// clients and agents that deviate from the specification.
var handwritten = map[string][]string{
	"event": {
		`{"kind":"text","text":"x","metadata":{"a":1}}`, `{"type":"file","file":{"bytes":"aGk=","name":"n"}}`, `{"data":[1],"mediaType":"a/b"}`,
		`{"kind":"message","role":"assistant","content":"plain","inputRequest":{"type":"x"},"metadata":{"inputRequest":{"y":1}}}`,
		`{"kind":"artifact-update","taskId":"t","contextId":"c","part":{"kind":"text","text":"x"},"artifact":{"artifactId":"a"}}`,
		`{"status_update":{"task_id":"t","context_id":"c","status":{"state":6,"message":{"message_id":"m","role":2,"parts":[{"text":"x"}]}},"final":false}}`,
		`{"artifact_update":{"task_id":"t","artifact":{"artifact_id":"a","parts":[{"raw":"aGk","media_type":"x"}]},"last_chunk":true,"append":true}}`,
		`{"msg":{"messageId":"m","content":[{"file":{"file_with_bytes":"YUdrPQ==","mime_type":"x"}},{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}}]}}`,
		`{"id":"t","sessionId":"s","status":{"state":"input-required","timestamp":"2026-01-01T00:00:00+02:00"},"artifacts":[{"parts":[{"type":"text","text":"x"}]},{"index":3,"parts":[]}],"final":false}`,
		`{"kind":"tool-result","toolUseId":"u","content":[1],"metadata":{"a":1}}`, `{"kind":"status-update","status":{"state":"started"},"final":false}`,
	},
	"send": {
		`{"request":{"message_id":"m1","role":0,"content":[{"text":"x","file":null}],"reference_task_ids":["t0"]},"configuration":{"history_length":"0","push_notification":{"url":"u","authentication":{"schemes":["Digest","basic","Basic"]}}}}`,
		`{"messageId":"m","message":{"role":"user","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}},{"kind":"tool-result","toolUseId":"u","x":1},{"file":{"data":"aGk="}}]}}`,
		`{"message":{"messageId":"m","role":1,"parts":[{"data":null,"media_type":"x"},{"raw":"-_8","filename":"f"}]},"configuration":{"blocking":false,"push_notification_config":{"config":{"url":"u","authentication":{"schemes":["x"]}},"configId":"c"}}}`,
		`{"id":"t","sessionId":"s","message":{"role":"user","parts":[{"type":"text","text":"x"}]},"acceptedOutputModes":["a"],"pushNotification":{"url":"u"}}`,
	},
	"params": {
		`{"id":"t1","taskId":"t1","name":"tasks/t1","tenant":"a","historyLength":2,"metadata":{"a":[1]}}`,
		`{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":"10","pageToken":"p","historyLength":"1","statusTimestampAfter":"2026-01-01T00:00:00Z","includeArtifacts":true}`,
		`{"context_id":"c","status":"working","page_size":10,"page_token":"p","history_length":1,"last_updated_after":"2026-01-01T00:00:00","include_artifacts":true}`,
		`{"taskId":"t1","historyLength":1}`, `{"name":"tasks/t1/pushNotificationConfigs/c"}`,
	},
	"push": {
		`{"id":"t1","pushNotificationConfigId":"p1","taskId":"t1","tenant":"a","pageSize":3,"pageToken":"x","url":"u"}`,
		`{"parent":"tasks/t1","configId":"c","config":{"name":"tasks/t1/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":"u","token":"k","authentication":{"schemes":["x","Basic"],"credentials":"s"}}}}`,
		`{"taskId":"t1","config_id":"c","config":{"url":"u","authentication":{"schemes":["x"],"scheme":"y"}}}`,
		`{"task_id":"t1","push_notification_config":{"url":"u"}}`,
	},
}

// node is a JSON value whose members keep their order.
type node struct {
	// text is the value of a scalar.
	text    string
	kind    jsontext.Kind
	names   []string
	members []*node
}

func parse(text []byte) *node {
	return parseNext(jsontext.NewDecoder(bytes.NewReader(text)))
}

func parseNext(d *jsontext.Decoder) *node {
	n := &node{kind: d.PeekKind()}
	if n.kind != '{' && n.kind != '[' {
		value, err := d.ReadValue()
		if err != nil {
			panic(err)
		}
		n.text = string(value)
		return n
	}
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if n.kind == '{' {
			name, _ := d.ReadToken()
			n.names = append(n.names, name.String())
		}
		n.members = append(n.members, parseNext(d))
	}
	_, _ = d.ReadToken()
	return n
}

func (n *node) append(dst []byte) []byte {
	if n.kind != '{' && n.kind != '[' {
		return append(dst, n.text...)
	}
	dst = append(dst, byte(n.kind))
	for i, member := range n.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst, _ = jsontext.AppendQuote(dst, n.names[i])
			dst = append(dst, ':')
		}
		dst = member.append(dst)
	}
	return append(dst, byte(n.kind)+2)
}

var replacements = []string{
	`null`, `true`, `0`, `-1`, `7`, `"3"`, `""`, `"a/b"`, `"ROLE_UNSPECIFIED"`, `[]`, `{}`,
	`"` + strings.Repeat("x", 257) + `"`,
}

// mutations yields texts that differ from a JSON text in one place.
func mutations(text []byte, yield func([]byte)) {
	yield(text)
	for _, at := range []int{0, 1, len(text) / 3, len(text) / 2, len(text) - 1} {
		yield(text[:at])
	}
	yield(append(bytes.Clone(text), " {}"...))
	yield(append(bytes.Clone(text), " \n\t"...))
	root := parse(text)
	mutate(root, root, func() { yield(root.append(nil)) })
}

// mutate changes the members of one value at a time, and calls emit after each
// change.
func mutate(root, n *node, emit func()) {
	if n.kind == '[' && len(n.members) > 0 {
		members := n.members
		n.members = slices.Repeat(members[:1], 1025)
		if n != root && len(members[0].append(nil)) < 64 {
			emit()
		}
		n.members = members
	}
	for i, member := range n.members {
		for _, text := range replacements {
			n.members[i] = &node{kind: '0', text: text}
			emit()
		}
		n.members[i] = member
		if n.kind == '{' {
			n.rename(i, emit)
		}
		mutate(root, member, emit)
	}
}

func (n *node) rename(i int, emit func()) {
	name, names, members := n.names[i], n.names, n.members
	for _, other := range []string{
		snake(name), camel(name), strings.ToUpper(name), "x", "parts", "content", "taskId", "id", "name",
	} {
		if n.names[i] = other; other != name {
			emit()
		}
	}
	n.names[i] = name
	for _, other := range []string{name, snake(name), camel(name)} {
		n.names, n.members = append(slices.Clip(names), other), append(slices.Clip(members), members[i])
		emit()
	}
	n.names, n.members = slices.Delete(slices.Clone(names), i, i+1), slices.Delete(slices.Clone(members), i, i+1)
	emit()
	n.names, n.members = names, members
}

func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

// protobufMutations yields texts that differ from a message in one byte, in the
// length or in one field.
func protobufMutations(text []byte, yield func([]byte)) {
	yield(text)
	for i := range text {
		if i < 200 {
			yield(text[:i])
		}
		for _, b := range []byte{0, text[i] ^ 1, text[i] + 8, 0xff} {
			changed := bytes.Clone(text)
			changed[i] = b
			yield(changed)
		}
	}
	for rest := text; len(rest) > 0; {
		number, wire, length := protowire.ConsumeField(rest)
		if length < 0 {
			return
		}
		_ = wire
		field := rest[:length]
		yield(append(bytes.Clone(text), field...))
		yield(append(bytes.Clone(text), protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), 1<<40)...))
		for other := protowire.Number(1); other < 10; other++ {
			_, _, tag := protowire.ConsumeTag(field)
			moved := protowire.AppendTag(nil, other, wire)
			yield(append(bytes.Clone(text), append(moved, field[tag:]...)...))
			yield(append(moved, field[tag:]...))
		}
		rest = rest[length:]
	}
}
