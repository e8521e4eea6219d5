// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// mayBeAbsent lists the members that a file may lack, with the effect of their absence. Decode
// refuses a file without any other member. A new member needs either a row here or no omitempty.
// Each row must close: less is admitted, allowed or sent than with the member.
var mayBeAbsent = map[string]string{
	"bases":                  "the card lists the interfaces that it has",
	"bases.grpc":             "the card lists no gRPC interface",
	"cardSigning":            "see its members",
	"protocolOptions":        "see its members: they choose between forms of the protocol, and admit nobody",
	"backend.a2a":            "see its members: the default version, path and query of the agent in the pod",
	"backend.model":          "see its members",
	"decisions.page":         "people decide by commands",
	"gateway":                "the gateway is off",
	"pushNotifications":      "push notifications are off",
	"tracing":                "no traces are exported",
	"skillFiles":             "the sidecar does not read it",
	"trustedProxies":         "limits by address apply to the proxy",
	"observability":          "see its members",
	"access.cors":            "no page of another origin may call",
	"backend.onInterruption": "an interrupted turn fails",

	"egressProxy":               "servers are called directly, and the guard checks their addresses",
	"egressProxy.noProxy":       "more hosts are called through the proxy",
	"egressProxy.clusterDomain": "it is cluster.local",

	"cardSigning.jwksUrl":                  "signatures have no URL",
	"protocolOptions.cardProfile":          "the card has all forms",
	"protocolOptions.errorProfile":         "the errors of 1.0.1",
	"protocolOptions.strictVersion":        "calls of another version are read as their version",
	"protocolOptions.restartTasks":         "a finished task stays finished",
	"protocolOptions.messageDeduplication": "the default window",
	"protocolOptions.keepAlive":            "the default interval",
	"protocolOptions.contextReplies":       "a message starts a new task",
	"backend.a2a.version":                  "the version of the agent's card",
	"backend.a2a.cardPath":                 "the default path",
	"backend.a2a.query":                    "no query",
	"backend.a2a.sessionAPI":               "the container cannot store its sessions",
	"backend.model.clusterDomain":          "it is cluster.local",
	"backend.model.name":                   "the first model of the server",
	"backend.model.instructions":           "no instructions",
	"backend.model.headers":                "no headers",
	"backend.model.fileHosts":              "URLs of files are refused",
	"backend.model.mcp":                    "the model has no tools of MCP servers",
	"backend.model.mcp.headers":            "no headers",
	"backend.model.agents":                 "the model cannot call agents by name",
	"backend.model.discover":               "the model cannot find agents",
	"backend.model.approval":               "the default time",
	"backend.model.limits.steps":           "the default number",
	"backend.model.limits.parallelCalls":   "the default number",
	"backend.model.limits.resultBytes":     "the default size",
	"backend.model.limits.contextTokens":   "the default size",
	"backend.model.mcp.forwardCaller":      "the server gets no token of the registry, and refuses the calls",
	"backend.model.schema":                 "the answer is a text",
	"backend.model.fallbacks":              "no further servers",
	"backend.model.fallbacks.name":         "the first model of the server",
	"backend.model.fallbacks.headers":      "no headers",
	"backend.model.fallbacks.keyFile":      "no key",

	"access.authentication.kubernetes":                       "Validate refuses its type",
	"access.authentication.jwt":                              "Validate refuses its type",
	"access.authentication.apiKey":                           "Validate refuses its type",
	"access.authentication.mtls":                             "Validate refuses its type",
	"access.authentication.jwt.jwksUrl":                      "the keys that the issuer itself publishes",
	"access.authentication.jwt.scopes":                       "texts of the card",
	"access.authentication.jwt.flows":                        "texts of the card",
	"access.authentication.jwt.flows.tokenUrl":               "a text of the card",
	"access.authentication.jwt.flows.refreshUrl":             "a text of the card",
	"access.authentication.jwt.flows.deviceAuthorizationUrl": "a text of the card",
	"access.authentication.jwt.flows.scopes":                 "a text of the card",
	"access.authentication.jwt.flows.authorizationUrl":       "a text of the card",
	"access.authentication.jwt.flows.pkceRequired":           "a text of the card",
	"access.authentication.apiKey.header":                    "Validate needs header or query",
	"access.authentication.apiKey.query":                     "Validate needs header or query",
	"access.authentication.mtls.subject":                     "Validate needs trustDomain instead",
	"access.authentication.mtls.trustDomain":                 "Validate needs subject instead",
	"access.authorization.rules.name":                        "the rule has its index as its name",

	"gateway.registryCaAdditional": "only registryCa verifies the registry",
	"gateway.remoteAllow":          "public addresses over https only",

	"pushNotifications.allowedTargets.service":   "Validate needs one of the four",
	"pushNotifications.allowedTargets.namespace": "Validate needs one of the four",
	"pushNotifications.allowedTargets.host":      "Validate needs one of the four",
	"pushNotifications.allowedTargets.cidr":      "Validate needs one of the four",
	"pushNotifications.clusterDomain":            "names of Services are not allowed",

	"observability.logLevel":  "the level of the flags",
	"observability.accessLog": "no access log",
	"observability.profiling": "no profiles",
}

// losses returns the paths of the members of a type, and whether each may be absent.
func losses(kind reflect.Type, path string, into map[string]bool) {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct {
		return
	}
	for _, m := range membersOf(kind) {
		at := strings.TrimPrefix(path+"."+m.name, ".")
		into[at] = !m.required
		losses(m.kind, at, into)
	}
}

// prune removes the members at a path from all elements of lists, and reports whether there was
// one.
func prune(value any, path []string) (found bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			found = prune(element, path) || found
		}
	case map[string]any:
		member, has := v[path[0]]
		if len(path) > 1 {
			return prune(member, path[1:])
		}
		delete(v, path[0])
		found = has
	}
	return found
}

// complete returns a file in which every member is set.
func complete(t *testing.T) []byte {
	t.Helper()
	c := full()
	c.Backend.Protocol = ProtocolChatCompletions
	c.Backend.Model = Model{
		Name: "m", Headers: []Header{{Name: "X-Team", Value: "blue"}},
		MCP: []MCPServer{{
			URL: "http://mcp.tools/mcp", Headers: []HeaderFile{{Name: "Authorization", File: "mcp/token"}}, Allow: []string{"get_*"}, Deny: []string{"get_secret"},
			Approval: []string{"update_*"}, ApproveWrites: true, Timeout: Duration(time.Minute), Required: true,
		}},
		Agents: []AgentTool{{Namespace: "team", Name: "researcher", NeedsApproval: true}}, Discover: &Discover{NeedsApproval: true},
		Limits: ModelLimits{TaskTokens: 1000}, HidesSteps: true,
		Fallbacks: []ModelServer{{URL: "https://other.example/v1", Headers: []Header{{Name: "X-Team", Value: "blue"}}}},
	}
	encoded, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestNothingOpensByLossOfAMember removes each member of the format from a file.
func TestNothingOpensByLossOfAMember(t *testing.T) {
	whole := complete(t)
	members := map[string]bool{}
	losses(reflect.TypeFor[Config](), "", members)
	pruned := 0
	for path, optional := range members {
		effect, listed := mayBeAbsent[path]
		if strings.HasPrefix(path, "card.") || strings.HasPrefix(path, "tracing.") {
			listed = optional // these describe the agent, or where traces go; extended is always written
		}
		if listed != optional {
			t.Errorf("%s may be absent: %t, and the table says %t (%q)", path, optional, listed, effect)
		}
		if optional {
			continue
		}
		var file any
		if err := json.Unmarshal(whole, &file); err != nil {
			t.Fatal(err)
		}
		if !prune(file, strings.Split(path, ".")) {
			if !strings.HasPrefix(path, "bases.") && !strings.HasPrefix(path, "tracing") {
				t.Errorf("%s: full() lacks it", path)
			}
			continue
		}
		pruned++
		lossy, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		last := path[strings.LastIndex(path, ".")+1:]
		if _, err := Decode(lossy); err == nil || !strings.Contains(err.Error(), last+" is missing") {
			t.Errorf("without %s: Decode() error = %v, want that it is missing", path, err)
		}
	}
	t.Logf("%d losses", pruned)
	for path := range mayBeAbsent {
		if _, found := members[path]; !found {
			t.Errorf("%s is in the table, and not in the format", path)
		}
	}
	for _, path := range []string{"card.skills.extended", "access.authorization", "decisions", "limits"} {
		if optional, found := members[path]; optional || !found {
			t.Errorf("%s may be absent", path)
		}
	}
}

// TestDecodeRefusesDamagedFiles damages a file in ways that the package encoding/json accepts,
// or that leave another valid text.
func TestDecodeRefusesDamagedFiles(t *testing.T) {
	whole := string(complete(t))
	for name, text := range map[string]string{
		"empty": "", "space": " \n", "an empty object": "{}", "null": "null", "a list": "[]",
		"another version":    strings.Replace(whole, `"v1"`, `"v2"`, 1),
		"an unknown member":  strings.Replace(whole, `"access": {`, `"access": {"surprise": true,`, 1),
		"a second access":    strings.Replace(whole, `"access": {`, `"access": {"authentication": [], "namespaces": [], "authorization": null}, "access": {`, 1),
		"ACCESS":             strings.Replace(whole, `"access"`, `"ACCESS"`, 1),
		"a second ACCESS":    strings.Replace(whole, `"limits": {`, `"ACCESS": {"authentication": [{"type": "Anonymous"}], "authorization": null}, "limits": {`, 1),
		"a second action":    strings.Replace(whole, `"action": "Allow"`, `"action": "Deny", "Action": "Allow"`, 1),
		"an unknown action":  strings.Replace(whole, `"action": "Allow"`, `"action": "Audit"`, 1),
		"an unknown type":    strings.Replace(whole, `"type": "Kubernetes"`, `"type": "Passkey"`, 1),
		"limits are null":    strings.Replace(whole, `"limits": {`, `"limits": null, "x": {`, 1),
		"a rate is null":     strings.Replace(whole, `"perSecond": 50`, `"perSecond": null`, 1),
		"unknown unreported": strings.Replace(whole, `"unreported": ""`, `"unreported": "Audit"`, 1),
		"a type is null":     strings.Replace(whole, `"type": "Anonymous"`, `"type": null`, 1),
		"invalid UTF-8":      strings.Replace(whole, `"demo"`, "\"\xff\"", 1),
	} {
		if text == whole {
			t.Errorf("%s changes nothing", name)
		}
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: Decode() accepts the file", name)
		}
	}
	whole = strings.TrimSpace(whole)
	t.Logf("%d losses", len(whole))
	for at := range len(whole) {
		if _, err := Decode([]byte(whole[:at])); err == nil {
			t.Fatalf("Decode() accepts the file without its last %d bytes", len(whole)-at)
		}
	}
}
