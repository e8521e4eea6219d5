// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// subject is an object whose fields the test changes.
type subject struct {
	kind   string
	schema *schema
	object func(*user) client.Object
}

// change is a mutation of a subject.
type change struct {
	mutation
	of subject
	// on is the spec that the mutation changes, nil for the present one.
	on any
}

// seed returns the seed of the order of changes.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		return n
	}
	return 1
}

// allChanges returns the changes of an Agent with a workload and of its skill.
func allChanges(t *testing.T) []change {
	t.Helper()
	agent := subject{kind: "agent", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", agentsCRD)), object: func(u *user) client.Object { return u.agent() }}
	skill := subject{kind: "skill", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", skillsCRD)), object: func(u *user) client.Object { return u.skill() }}
	var all []change
	for _, s := range []subject{agent, skill} {
		last := ""
		for _, m := range mutations(s.schema, nil, skipped) {
			if len(m.path) == 0 || s.kind == "agent" && m.path[0] == "model" {
				continue // modelFields
			}
			if path := fmt.Sprint(m.path...); path != last {
				last = path
				all = append(all, ofPods(s, m.path)...)
			}
			if !untagged(m) {
				all = append(all, change{mutation: m, of: s})
			}
		}
	}
	// CEL rules bound these fields, and the generator cannot read CEL rules.
	for _, value := range []any{"0s", "500ms", "30s", "1m30s", "10m", "601s", "1h", "forever"} {
		all = append(all, change{mutation: mutation{path: []any{"protocol", "messageDeduplication"}, value: value}, of: agent})
	}
	for _, value := range []any{
		[]any{"GRPC"}, []any{"HTTPJSON", "JSONRPC"}, []any{"GRPC", "JSONRPC", "HTTPJSON"}, []any{"GRPC", "GRPC"}, []any{},
	} {
		all = append(all, change{mutation: mutation{path: []any{"protocol", "bindings"}, value: value}, of: agent})
	}
	all = append(all, modelServers(agent)...)
	all = append(all, modelFields(agent)...)
	return append(all, a2aBackends(agent)...)
}

// a2aBackends returns changes to backends with the settings a2a. They are valid for the protocol A2A only, and some are
// refused for it, too.
func a2aBackends(agent subject) []change {
	var all []change
	for _, value := range []any{
		map[string]any{"version": "0.3"},
		map[string]any{"version": "1.0", "cardPath": "/cards/agent.json", "query": "assistant_id=agent", "path": "/a2a/agent"},
		map[string]any{"query": "assistant_id=%20&x=?"},
		map[string]any{"path": "/a2a/agent"},
		map[string]any{"cardPath": "/card?x=y"}, // refused
		map[string]any{"query": "?x=y"},         // refused
	} {
		for _, protocol := range []string{"A2A", "Events"} {
			backend := map[string]any{"protocol": protocol, "a2a": value}
			all = append(all, change{mutation: mutation{path: []any{"workload", "backend"}, value: backend}, of: agent})
		}
	}
	both := map[string]any{"protocol": "A2A", "path": "/rpc", "a2a": map[string]any{"path": "/rpc"}} // refused
	return append(all, change{mutation: mutation{path: []any{"workload", "backend"}, value: both}, of: agent})
}

// modelServers returns changes to specs that need several fields at once: with the URL of a model server, and with
// a model server in the pod. The API server refuses some of them.
func modelServers(agent subject) []change {
	pod := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "agent", "image": "example/echo:1"}}}}}
	key := map[string]any{"name": "models"}
	team := []any{map[string]any{"name": "X-Team", "value": "blue"}}
	spec := func(workload, model map[string]any) map[string]any {
		s := map[string]any{"description": "Says it again.", "skillRefs": []any{map[string]any{"name": "sing"}}}
		if workload != nil {
			s["workload"] = workload
		}
		if model != nil {
			s["model"] = model
		}
		return s
	}
	const vllm = "http://vllm.models:8000/v1"
	var all []change
	for _, value := range []any{
		spec(nil, map[string]any{"url": vllm}),
		spec(nil, map[string]any{"url": vllm, "apiKeySecretRef": key, "tools": []any{map[string]any{"agent": map[string]any{"discover": true}}}}),
		spec(map[string]any{"tasks": map[string]any{"maxTasks": int64(100)}}, map[string]any{
			"url": "https://models.example/openai", "name": "m", "apiKeySecretRef": map[string]any{"name": "models", "key": "other"}, "headers": team,
			"tools": []any{map[string]any{"mcp": map[string]any{"url": "http://mcp.tools/mcp", "headersFrom": []any{
				map[string]any{"name": "Authorization", "secretRef": map[string]any{"name": "mcp", "key": "token"}},
			}}}},
		}),
		spec(map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}}, "spec": map[string]any{
			"containers": []any{}, "nodeSelector": map[string]any{"pool": "cpu"}, "initContainers": []any{map[string]any{"name": "wait", "image": "example/wait:1"}},
		}}}, map[string]any{"url": vllm}),
		spec(pod, map[string]any{"url": vllm}), // refused
		spec(pod, map[string]any{"apiKeySecretRef": key, "headers": team}),
		spec(nil, map[string]any{"name": "m"}), // refused
		spec(pod, nil),
	} {
		all = append(all, change{mutation: mutation{value: value}, of: agent})
	}
	return all
}

// modelFields returns changes of each field of an agent without code, and the removal of each field. A spec with a container would
// refuse most of them.
func modelFields(agent subject) []change {
	var all []change
	last := ""
	for _, m := range mutations(agent.schema, nil, skipped) {
		if len(m.path) == 0 || m.path[0] != "model" {
			continue
		}
		add := func(value any, invalid bool) {
			all = append(all, change{mutation: mutation{path: m.path, value: value, invalid: invalid}, of: agent, on: modelSpec()})
		}
		if path := fmt.Sprint(m.path...); path != last {
			last = path
			add(removed{}, false)
		}
		add(m.value, m.invalid)
	}
	return all
}

// modelSpec is an agent without code that has most fields of spec.model.
func modelSpec() map[string]any {
	const vllm = "http://vllm.models:8000/v1"
	key := map[string]any{"name": "models", "key": "key"}
	return map[string]any{"description": "Helps engineers.", "skillRefs": []any{map[string]any{"name": "sing"}}, "model": map[string]any{
		"url": vllm, "name": "m", "apiKeySecretRef": key, "headers": []any{map[string]any{"name": "X-Team", "value": "blue"}},
		"instructionsFrom": map[string]any{"name": "prompts", "key": "oncall"},
		"tools": []any{
			map[string]any{"mcp": map[string]any{
				"url": "http://mcp.tools/mcp", "allow": []any{"get_*"}, "approval": []any{"delete_*"},
				"headersFrom": []any{map[string]any{"name": "Authorization", "secretRef": key}},
			}},
			map[string]any{"agent": map[string]any{"name": "other"}},
		},
		"approval":  map[string]any{"timeout": "1h", "approvers": []any{`caller.namespace == "oncall"`}},
		"fallbacks": []any{map[string]any{"url": vllm, "name": "small", "apiKeySecretRef": key}},
	}}
}

// ofPods returns valid values of a field of the template whose rules are in the code of the API
// server and not in the schema.
func ofPods(s subject, path []any) []change {
	if len(path) < inPod || path[1] != "template" {
		return nil
	}
	name, _ := path[len(path)-1].(string)
	var all []change
	for _, value := range map[string][]any{
		"image":                         {"example/echo:2", "registry.example.com:5000/echo:1", "example/echo@sha256:" + strings.Repeat("0a", 32)},
		"imagePullPolicy":               {"Always", "Never"},
		"terminationMessagePolicy":      {"File", "FallbackToLogsOnError"},
		"restartPolicy":                 {"Always", "OnFailure", "Never"},
		"protocol":                      {"TCP", "UDP"},
		"ports":                         {ports("UDP", 9000), ports("TCP", 9000, 9001), ports("TCP", 8080)},
		"scheme":                        {"HTTP", "HTTPS"},
		"operator":                      {"Exists", "In"},
		"effect":                        {"NoSchedule", "NoExecute"},
		"whenUnsatisfiable":             {"DoNotSchedule", "ScheduleAnyway"},
		"dnsPolicy":                     {"Default", "None", "ClusterFirst"},
		"preemptionPolicy":              {"Never"},
		"type":                          {"RuntimeDefault", "Unconfined", "Directory"},
		"mountPropagation":              {"None", "HostToContainer"},
		"fsGroupChangePolicy":           {"OnRootMismatch"},
		"serviceAccountName":            {"echo", "other"},
		"defaultMode":                   {int64(256), int64(420)},
		"terminationGracePeriodSeconds": {int64(0), int64(30), int64(31), int64(3600)},
	}[name] {
		all = append(all, change{mutation: mutation{path: path, value: value}, of: s})
	}
	return all
}

func ports(protocol string, numbers ...int64) []any {
	var all []any
	for _, n := range numbers {
		all = append(all, map[string]any{"containerPort": n, "protocol": protocol})
	}
	return all
}

// untagged reports whether a mutation is an image without a tag. The API server chooses the pull
// policy by the tag of the first image that is applied, and keeps it for later images, so the
// result differs from that of a new Deployment.
func untagged(m mutation) bool {
	last := m.path[len(m.path)-1]
	image, ok := m.value.(string)
	return ok && !m.invalid && (last == "image" || last == "reference") && (!strings.Contains(image, ":") || strings.HasSuffix(image, ":latest"))
}

// skipped reports whether a field gets no values: fields of remote agents, ephemeral
// containers, which no template may have, and the revision, of which a new object has none.
func skipped(path []any) bool {
	return len(path) == 2 && path[0] == "workload" && path[1] == "revision" || len(path) > 0 && path[0] == "remote" || len(path) > inPod && path[inPod-1] == "ephemeralContainers"
}

// inPod is the length of the path to a field of the pod template: workload, template, spec and its
// name.
const inPod = 4

// deep reports whether a field of the template is too deep to be changed, or is one for which the
// API server has rules that the schema lacks. The test changes the ports, variables, probes and
// security context of the agent's container, and the types of volumes.
func deep(path []any) bool {
	if skipped(path) {
		return true
	}
	if len(path) < inPod || path[1] != "template" {
		return false
	}
	deepest := inPod + 1
	switch path[inPod-1] {
	case "containers":
		deepest = inPod + 4
	case "volumes":
		deepest = inPod + 2
	}
	return len(path) > deepest
}

// TestMutationsCoverTheSchema counts the mutations that the generator makes of the CRDs.
func TestMutationsCoverTheSchema(t *testing.T) {
	fields, invalid := map[string]bool{}, 0
	changes := allChanges(t)
	for _, c := range changes {
		fields[c.of.kind+fmt.Sprint(c.path...)] = true
		if c.invalid {
			invalid++
		}
	}
	t.Logf("%d fields, %d values, of which %d violate the schema", len(fields), len(changes), invalid)
	const wanted = 300
	if len(changes) < wanted {
		t.Errorf("%d values, want at least %d", len(changes), wanted)
	}
}
