// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const minimalAgent = `
apiVersion: a2a-operator.dev/v1alpha1
kind: Agent
metadata: {name: echo, namespace: default}
spec:
  description: Says it again.
  workload: {template: {spec: {containers: [{name: agent, image: echo}]}}}
`

// object parses a manifest.
func object(manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(manifest), &obj.Object)).To(Succeed())
	return obj
}

// agent returns the minimal Agent with the value at path replaced by value, which is YAML.
func agent(path, value string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := object(minimalAgent)
	var parsed any
	Expect(yaml.Unmarshal([]byte(value), &parsed)).To(Succeed())
	Expect(unstructured.SetNestedField(obj.Object, parsed, strings.Split(path, ".")...)).To(Succeed())
	return obj
}

// numbered returns the texts that format makes of the numbers from 0 to n-1, one after another.
func numbered(format string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// create sends the object to the API server as a dry run.
func create(ctx context.Context, obj *unstructured.Unstructured) error {
	return cluster.Create(ctx, obj, client.DryRunAll, client.FieldValidation("Strict"))
}

var _ = DescribeTable("an Agent is accepted",
	func(ctx context.Context, path, value string) {
		Expect(create(ctx, agent(path, value))).To(Succeed())
	},
	Entry("with the required fields only", "spec.version", "1.0.0"),
	Entry("with a name of 52 characters", "metadata.name", strings.Repeat("a", 52)),
	Entry("with a provider", "spec.provider", "{organization: Example, url: 'https://example.com'}"),
	Entry("with an extension and its parameters", "spec.extensions", "[{uri: 'urn:x', params: {a: {b: 1}}}]"),
	Entry("with an empty selector", "spec.skillSelector", "{}"),
	Entry("with a long selector", "spec.skillSelector", "{matchLabels: {"+numbered("a%d: b,", 32)+"}, matchExpressions: [{key: a, operator: In, values: ["+numbered("v%d,", 32)+"]}]}"),
	Entry("with a thousand variables", "spec.workload.template.spec.containers", "[{name: agent, image: echo, env: ["+numbered("{name: A%d},", 1000)+"]}]"),
	Entry("with zero replicas", "spec.workload.replicas", "0"),
	Entry("with tasks in memory", "spec.workload.tasks.store", "{type: Memory}"),
	Entry("with tasks in Redis", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['redis.db.svc:6379']}}"),
	Entry("with tasks in a cluster of Redis", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['a.db:6379', '[::1]:6380'], mode: Cluster, maxBytes: 1073741824, username: a2a, passwordSecretRef: {name: redis}, tls: {secretRef: {name: tls}, serverName: redis}}}"),
	Entry("with replicas that share a store", "spec.workload", "{replicas: 3, tasks: {store: {type: Redis, redis: {addresses: ['a:1']}}}, template: {spec: {containers: [{name: agent, image: echo}]}}}"),
	Entry("with an autoscaler and a store that is shared", "spec.workload", "{autoscaling: {maxReplicas: 5, metrics: [{type: CPU, target: 80}]}, tasks: {store: {type: Redis, redis: {addresses: ['a:1']}}}, template: {spec: {containers: [{name: agent, image: echo}]}}}"),
	Entry("that is remote", "spec", "{remote: {url: 'https://agents.example.com/echo'}}"),
	Entry("that is remote, with all fields", "spec", "{displayName: Echo, description: x, suspend: true, remote: {url: 'http://10.0.0.1:8080', cardPath: /card.json, refreshInterval: 24h, query: tenant=acme&a=%20b, credentials: {type: APIKey, secretRef: {name: access, key: key}, apiKey: {header: X-API-Key}, namespaces: [other, '*']}}}"),
	Entry("that is remote, with OAuth 2", "spec", "{remote: {url: 'https://a.example', credentials: {type: OAuth2, secretRef: {name: access}, oauth2: {tokenURL: 'https://id.example/token?x=y', clientID: cluster, scopes: [a.read, 'https://x/y'], audience: echo}}}}"),
	Entry("that is remote, with a client certificate", "spec", "{remote: {url: 'https://a.example', credentials: {type: ClientCertificate, secretRef: {name: access}}}}"),
	Entry("that is remote, with the stored defaults", "spec", "{version: 1.2.3, defaultInputModes: [text/plain], defaultOutputModes: [text/plain], access: {authentication: [{type: Kubernetes}]}, networkPolicy: {management: Managed}, protocol: {cardProfile: Union, errorProfile: 1.0.1, versionCheck: Lenient, finishedTasks: Final, messageDeduplication: 1m, contextReplies: NewTask}, remote: {url: 'https://a.example'}}"),
	Entry("with compound durations", "spec.workload.backend.timeouts", "{turn: 1h30m, idle: 90s, firstEvent: 500ms}"),
	Entry("with an escaped backend path", "spec.workload.backend.path", "'/a%20b/$x'"),
	Entry("with quantities of all kinds", "spec.workload.template.spec.overhead", "{cpu: '0.5', memory: 1024Mi, ephemeral-storage: 1e3, example.com/gpu: 1}"),
	Entry("with a probe of a named port", "spec.workload.template.spec.containers", "[{name: agent, image: echo, livenessProbe: {tcpSocket: {port: web}}}]"),
	Entry("with a backend path", "spec.workload.backend.path", "/v1/turn"),
	Entry("whose container speaks A2A", "spec.workload.backend", "{protocol: A2A}"),
	Entry("whose container speaks one version of A2A", "spec.workload.backend", "{protocol: A2A, a2a: {version: '0.3'}}"),
	Entry("whose container speaks A2A, with all fields", "spec.workload.backend", "{protocol: A2A, a2a: {version: '1.0', cardPath: '/a%20b/card.json', query: 'assistant_id=1&x=%20?', path: /a2a/1}}"),
	Entry("whose container speaks A2A at a path", "spec.workload.backend", "{protocol: A2A, path: /a2a/1, a2a: {query: assistant_id=1}}"),
	Entry("that retries interrupted turns", "spec.workload.backend.onInterruption", "Retry"),
	Entry("with both authenticators", "spec.access.authentication", "[{type: Kubernetes}, {type: Anonymous}]"),
	Entry("that is remote, with tokens of its users", "spec", "{remote: {url: 'https://a.example', credentials: {type: OAuth2, secretRef: {name: access}, oauth2: {grant: TokenExchange, tokenURL: 'https://id.example', clientID: x}}}}"),
	Entry("with tokens of an issuer", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example/realms/one', audiences: [echo]}}]"),
	Entry("with scopes and sign-in", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example', audiences: [echo], requiredScopes: [a.read], skillScopes: [{skill: x, scopes: ['https://a/write']}], oauth2: {flows: [AuthorizationCode, DeviceCode, ClientCredentials], authorizationURL: 'https://login.example/a?b=c', deviceAuthorizationURL: 'https://login.example/d', tokenURL: 'https://login.example/t', scopes: [{name: a.read, description: x}]}}}]"),
	Entry("with sign-in as the issuer says", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example', audiences: [echo], oauth2: {flows: [Discover], scopes: [{name: a.read}]}}}]"),
	Entry("whose callers share the tasks of their tenant", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example', audiences: [echo], claims: {owner: tenant_id}}}]"),
	Entry("with rules", "spec.access.authorization", "[{action: Deny, skills: [a], methods: [SendMessage]}, {name: b, action: Allow, namespaces: [b], principals: ['jwt:https://login.example#a'], expression: 'true'}, {action: Allow}]"),
	Entry("with API keys", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: keys}}}]"),
	Entry("with API keys in a header", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: keys}, header: Ocp-Apim-Subscription-Key}}]"),
	Entry("with API keys in the query", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: keys}, query: api_key}}]"),
	Entry("with CORS", "spec.access", "{cors: {allowedOrigins: ['https://app.example.com', 'http://localhost:3000']}}"),
	Entry("with CORS for all origins", "spec.access", "{cors: {allowedOrigins: ['*']}}"),
	Entry("with TLS", "spec.access", "{tls: {secretRef: {name: tls}}}"),
	Entry("with client certificates", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, principals: ['spiffe://example.org/ns/a/*', 'spiffe://example.org/b', 'spiffe://example.org/*']}}, {type: Kubernetes}]}"),
	Entry("with client certificates of two trust domains", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, federated: [{trustDomain: example.net, caBundle: {kind: Secret, name: other}}], principals: ['spiffe://example.org/a', 'spiffe://example.net/b/*']}}]}"),
	Entry("with client certificates by subject", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {kind: Secret, name: ca, key: root.pem}, principal: Subject, principals: ['CN=a,O=b']}}]}"),
	Entry("with a trust bundle", "spec.trustBundle", "{name: company}"),
	Entry("with tokens of an issuer in a cluster of another domain", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'http://dex.auth.svc.corp.example:5556/dex', audiences: [echo], jwksURL: 'http://dex.auth.svc.k8s/keys'}}]"),
	Entry("with tokens of an issuer in the cluster", "spec.access.authentication", "[{type: Kubernetes}, {type: JWT, jwt: {issuer: 'http://dex.auth.svc.cluster.local:5556/dex', audiences: [echo, b], jwksURL: 'http://dex.auth.svc/keys?a=b', claims: {principal: client_id, namespace: ns}}}]"),
	Entry("with limits", "spec.limits", "{requests: {perSecond: 50}, totalRequests: {perSecond: 100, burst: 500}, failedAuthentications: {perSecond: 1, burst: 10}, turns: {max: 300, maxPerCaller: 300, maxQueued: 10, queueTimeout: 5m}, streams: {maxPerCaller: 2048}, tokens: {perHour: 1000000000000, perCallerPerHour: 1}, maxBodyBytes: 33554432}"),
	Entry("without egress", "spec.networkPolicy.egress", "[]"),
	Entry("that is suspended", "spec.suspend", "true"),
	Entry("with an autoscaler", "spec.workload.autoscaling", "{maxReplicas: 1, metrics: [{type: CPU, target: 80}, {type: InFlightTurns, target: 10}], behavior: {scaleUp: {policies: [{type: Pods, value: 4, periodSeconds: 15}]}, scaleDown: {selectPolicy: Disabled}}}"),
	Entry("with a hook inside of the pod", "spec.workload.sidecar", "{preStop: Exec}"),
	Entry("with a proxy", "spec.egress", "{proxy: {url: 'http://proxy.example:3128', noProxy: [direct.example, .example.org, 203.0.113.0/24, 'host:8080', '*'], secretRef: {name: proxy}}}"),
	Entry("with a proxy at an IPv6 address", "spec.egress", "{proxy: {url: 'https://[fd00::1]:3128/'}}"),
	Entry("with the protocol of a gateway", "spec.service", "{appProtocol: kgateway.dev/a2a}"),
	Entry("with the protocol h2c", "spec.service", "{appProtocol: kubernetes.io/h2c}"),
	Entry("with a revision", "spec.workload.revision", "3"),
	Entry("that goes back by itself", "spec.workload.onFailure", "RollBack"),
	Entry("with a deadline", "spec.workload.progressDeadline", "90s"),
	Entry("with a budget", "spec.workload.disruptionBudget", "{maxUnavailable: 2}"),
	Entry("behind a Gateway", "spec.exposure", "{parentRefs: [{name: public}]}"),
	Entry("behind another proxy", "spec.exposure", "{url: 'https://a.example/team/echo'}"),
	Entry("behind Gateways, with all fields", "spec.exposure", "{parentRefs: [{name: a}, {name: a, sectionName: web}, {name: a, namespace: b}], hostnames: [a.example, '*.example'], grpcHostnames: [grpc.example], path: /team-1/a.b, url: 'https://a.example:8443/x'}"),
	Entry("with a key for its card", "spec.cardSigning", "{secretRef: {name: card-key}, jwksURL: 'https://keys.example/echo.json'}"),
	Entry("with all protocol fields", "spec.protocol", "{cardProfile: V1, errorProfile: '1.0.0', versionCheck: Strict, finishedTasks: Restart, messageDeduplication: 10m, contextReplies: ContinuePaused}"),
	Entry("with a card that lists all bindings", "spec.protocol", "{bindings: [GRPC, HTTPJSON, JSONRPC]}"),
	Entry("with a card that lists gRPC only", "spec.protocol", "{bindings: [GRPC]}"),
	Entry("that is remote, with the stored bindings", "spec", "{remote: {url: 'https://a.example'}, protocol: {bindings: [JSONRPC, HTTPJSON]}}"),
	Entry("that is public", "spec.discovery", "{visibility: Public}"),
	Entry("that is remote, and federated", "spec", "{remote: {url: 'https://a.example'}, discovery: {visibility: Federated}}"),
	Entry("without deduplication", "spec.protocol", "{messageDeduplication: 0s}"),
	Entry("with a window of deduplication in two units", "spec.protocol", "{messageDeduplication: 1m30s}"),
	Entry("with an extended skill", "spec.skills", "[{id: a, name: a, description: a, tags: [a], visibility: Extended}]"),
	Entry("with push targets of all kinds", "spec.pushNotifications.allowedTargets",
		"[{service: {name: hooks}}, {service: {name: hooks, namespace: a}}, {namespace: b}, {host: hooks.example.com}, {host: '*.example.com'}, {host: '*'}, {cidr: 203.0.113.0/24}, {cidr: '2001:db8::/32'}]"),
	Entry("with resources of the sidecar", "spec.workload.sidecar.resources", "{requests: {cpu: 10m, memory: 64Mi, ephemeral-storage: 1}, limits: {cpu: '0.5', memory: 512Mi}}"),
	Entry("with a sidecar without limits", "spec.workload.sidecar.resources", "{limits: {memory: '0', cpu: 0}}"),
	Entry("that is recreated", "spec.workload.strategy", "{type: Recreate}"),
	Entry("that is updated without another pod", "spec.workload.strategy", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"),
	Entry("that is updated by percentages", "spec.workload.strategy", "{type: RollingUpdate, rollingUpdate: {maxSurge: 100%, maxUnavailable: 0%}}"),
	Entry("that restarts after changes", "spec.workload.restartOn", "[{kind: Secret, name: a}, {kind: ConfigMap, name: a}, {kind: Secret, name: b.c}]"),
	Entry("with a media type that has a parameter", "spec.defaultInputModes", "['text/plain; charset=utf-8']"),
)

var _ = DescribeTable("an Agent is refused",
	func(ctx context.Context, path, value, message string) {
		Expect(create(ctx, agent(path, value))).To(refusal(message))
	},
	Entry("with too many labels in the selector", "spec.skillSelector", "{matchLabels: {"+numbered("a%d: b,", 33)+"}}", "matchLabels must have at most 32 labels"),
	Entry("with too many values in the selector", "spec.skillSelector", "{matchExpressions: [{key: a, operator: In, values: ["+numbered("v%d,", 33)+"]}]}", "at most 32 requirements with 32 values each"),
	Entry("with too many requirements in the selector", "spec.skillSelector", "{matchExpressions: ["+numbered("{key: a%d, operator: Exists},", 33)+"]}", "at most 32 requirements with 32 values each"),
	Entry("with a name of 53 characters", "metadata.name", strings.Repeat("a", 53), "use at most 52 lower case letters"),
	Entry("with a name that is not a DNS label", "metadata.name", "1.x", "starting with a letter"),
	Entry("with the name of the namespace's own ServiceAccount", "metadata.name", "default", "metadata.name must not be default"),
	Entry("with an unknown visibility", "spec.discovery", "{visibility: Everyone}", "spec.discovery.visibility"),
	Entry("with a memory limit with which the sidecar does not start", "spec.workload.sidecar.resources", "{limits: {memory: 47Mi}}", "spec.workload.sidecar.resources.limits.memory must be at least 48Mi"),
	Entry("with a memory limit of a number with which the sidecar does not start", "spec.workload.sidecar.resources", "{limits: {memory: 1000}}", "must be at least 48Mi"),
	Entry("with a request of the sidecar above its limit", "spec.workload.sidecar.resources", "{requests: {cpu: 2}, limits: {cpu: 500m}}", "spec.workload.sidecar.resources.requests must not be more than limits"),
	Entry("with a negative request of the sidecar", "spec.workload.sidecar.resources", "{requests: {cpu: -1}}", "spec.workload.sidecar.resources.requests must not be negative"),
	Entry("with a GPU for the sidecar", "spec.workload.sidecar.resources", "{limits: {nvidia.com/gpu: 1}}", "spec.workload.sidecar.resources.limits must have only cpu, memory and ephemeral-storage"),
	Entry("with resources of the sidecar that are no quantity", "spec.workload.sidecar.resources", "{limits: {memory: much}}", "spec.workload.sidecar.resources.limits.memory"),
	Entry("with empty resources of the sidecar", "spec.workload.sidecar.resources", "{}", "spec.workload.sidecar.resources"),
	Entry("with an unknown strategy", "spec.workload.strategy", "{type: BlueGreen}", "spec.workload.strategy.type"),
	Entry("that is recreated with the numbers of a rolling update", "spec.workload.strategy", "{type: Recreate, rollingUpdate: {maxSurge: 1}}", "spec.workload.strategy.rollingUpdate needs spec.workload.strategy.type RollingUpdate"),
	Entry("with an update that changes no pod", "spec.workload.strategy", "{rollingUpdate: {maxSurge: 0}}", "spec.workload.strategy.rollingUpdate.maxSurge of 0 needs maxUnavailable"),
	Entry("with an update that changes no pod, in percent", "spec.workload.strategy", "{rollingUpdate: {maxSurge: 0%, maxUnavailable: 0}}", "spec.workload.strategy.rollingUpdate.maxSurge of 0 needs maxUnavailable"),
	Entry("with a surge of more than all pods", "spec.workload.strategy", "{rollingUpdate: {maxSurge: 101%}}", "spec.workload.strategy.rollingUpdate.maxSurge must be a number, or a percentage"),
	Entry("with a negative surge", "spec.workload.strategy", "{rollingUpdate: {maxSurge: -1}}", "spec.workload.strategy.rollingUpdate.maxSurge"),
	Entry("that restarts after changes of another kind", "spec.workload.restartOn", "[{kind: Pod, name: a}]", "spec.workload.restartOn[0].kind"),
	Entry("that restarts after changes of one object twice", "spec.workload.restartOn", "[{kind: Secret, name: a}, {kind: Secret, name: a}]", "Duplicate value"),
	Entry("that restarts after changes of an object without a name", "spec.workload.restartOn", "[{kind: Secret, name: ''}]", "spec.workload.restartOn[0].name"),
	Entry("without a description", "spec.description", "''", "spec.description"),
	Entry("with an autoscaler and tasks in memory", "spec.workload.autoscaling", "{maxReplicas: 2, metrics: [{type: CPU, target: 80}]}", "spec.workload.autoscaling.maxReplicas above 1 needs spec.workload.tasks.store.type Redis"),
	Entry("with an autoscaler with min above max", "spec.workload.autoscaling", "{minReplicas: 2, maxReplicas: 1, metrics: [{type: CPU, target: 80}]}", "spec.workload.autoscaling.minReplicas must not be more than maxReplicas"),
	Entry("with an autoscaler without a metric", "spec.workload.autoscaling", "{maxReplicas: 1, metrics: []}", "spec.workload.autoscaling.metrics"),
	Entry("with an autoscaler of an unknown metric", "spec.workload.autoscaling", "{maxReplicas: 1, metrics: [{type: Memory, target: 80}]}", "Unsupported value"),
	Entry("with a budget that blocks node drains", "spec.workload.disruptionBudget", "{maxUnavailable: 0}", "spec.workload.disruptionBudget.maxUnavailable"),
	Entry("behind no Gateway", "spec.exposure", "{parentRefs: []}", "spec.exposure.parentRefs"),
	Entry("with an exposure to nothing", "spec.exposure", "{}", "spec.exposure must have parentRefs, for Gateways, or url, for another proxy"),
	Entry("with a hostname without a Gateway", "spec.exposure", "{url: 'https://a.example/', hostnames: [a.example]}", "are for the routes of Gateways"),
	Entry("with a path without a Gateway", "spec.exposure", "{url: 'https://a.example/', path: /a}", "put host and path into spec.exposure.url"),
	Entry("behind one Gateway twice", "spec.exposure", "{parentRefs: [{name: a}, {name: a}]}", "spec.exposure.parentRefs must name each Gateway, or each listener, once"),
	Entry("with one hostname for two kinds of routes", "spec.exposure", "{parentRefs: [{name: a}], hostnames: [a.example], grpcHostnames: [a.example]}", "spec.exposure.grpcHostnames must not repeat one of spec.exposure.hostnames"),
	Entry("with a hostname that is a URL", "spec.exposure", "{parentRefs: [{name: a}], hostnames: ['https://a.example']}", "spec.exposure.hostnames"),
	Entry("below a path that ends with a slash", "spec.exposure", "{parentRefs: [{name: a}], path: /a/}", "spec.exposure.path must be"),
	Entry("below a path with dots only", "spec.exposure", "{parentRefs: [{name: a}], path: /a/..}", "spec.exposure.path must be"),
	Entry("below a path that does not begin with a slash", "spec.exposure", "{parentRefs: [{name: a}], path: a}", "spec.exposure.path must be"),
	Entry("at a URL with a query", "spec.exposure", "{parentRefs: [{name: a}], url: 'https://a.example/?b'}", "spec.exposure.url must be"),
	Entry("at a URL with a user", "spec.exposure", "{parentRefs: [{name: a}], url: 'https://a@b.example/'}", "spec.exposure.url must be"),
	Entry("with a rate of zero", "spec.limits", "{requests: {perSecond: 0}}", "spec.limits.requests.perSecond"),
	Entry("with a burst of zero", "spec.limits", "{requests: {perSecond: 1, burst: 0}}", "spec.limits.requests.burst"),
	Entry("with a burst without a rate", "spec.limits", "{totalRequests: {burst: 10}}", "spec.limits.totalRequests.perSecond: Required value"),
	Entry("with more turns per caller than in total", "spec.limits", "{turns: {max: 8, maxPerCaller: 9}}", "spec.limits.turns.maxPerCaller must not be more than max"),
	Entry("with more turns per caller than the default total", "spec.limits", "{turns: {maxPerCaller: 257}}", "spec.limits.turns.maxPerCaller must not be more than max"),
	Entry("with more streams per caller than in total", "spec.limits", "{streams: {max: 8, maxPerCaller: 9}}", "spec.limits.streams.maxPerCaller must not be more than max"),
	Entry("with a larger token budget per caller than in total", "spec.limits", "{tokens: {perHour: 8, perCallerPerHour: 9}}", "spec.limits.tokens.perCallerPerHour must not be more than perHour"),
	Entry("with a token budget of zero", "spec.limits", "{tokens: {perHour: 0}}", "spec.limits.tokens.perHour"),
	Entry("with too large a token budget", "spec.limits", "{tokens: {perCallerPerHour: 1000000000001}}", "spec.limits.tokens.perCallerPerHour"),
	Entry("with token budgets that have no field", "spec.limits", "{tokens: {}}", "spec.limits.tokens"),
	Entry("with too long a queue timeout", "spec.limits", "{turns: {queueTimeout: 6m}}", "spec.limits.turns.queueTimeout must be at most 5m"),
	Entry("with too large a body limit", "spec.limits", "{maxBodyBytes: 33554433}", "spec.limits.maxBodyBytes"),
	Entry("with an icon that is not a URL", "spec.iconURL", "icon.png", "spec.iconURL must be an absolute http or https URL"),
	Entry("with a documentation URL of another scheme", "spec.documentationURL", "'ftp://example.com/x'", "spec.documentationURL must be an absolute http or https URL"),
	Entry("with a provider without a host", "spec.provider", "{organization: x, url: 'http:///x'}", "spec.provider.url must be an absolute http or https URL"),
	Entry("with a mode that is not a media type", "spec.defaultInputModes", "[text]", "spec.defaultInputModes[0]"),
	Entry("with one mode twice", "spec.defaultOutputModes", "[text/plain, text/plain]", "Duplicate value"),
	Entry("with an invalid skill id", "spec.skills", "[{id: 'a b', name: a, description: a, tags: [a]}]", "must start with a letter or digit and contain only"),
	Entry("with a skill without tags", "spec.skills", "[{id: a, name: a, description: a}]", "spec.skills[0].tags: Required value"),
	Entry("with the instructions of a skill whose id is no folder", "spec.skills", "[{id: A, name: a, description: a, tags: [a], instructions: a}]", "spec.skills[0].id: Invalid value"),
	Entry("with resources of a skill without instructions", "spec.skills", "[{id: a, name: a, description: a, tags: [a], resources: [{configMap: {name: a}}]}]", "resources need instructions"),
	Entry("with one skill id twice", "spec.skills", "[{id: a, name: a, description: a, tags: [a]},{id: a, name: b, description: b, tags: [b]}]", "Duplicate value"),
	Entry("with one AgentSkill twice", "spec.skillRefs", "[{name: a}, {name: a, namespace: b}, {name: a}]", "spec.skillRefs must name each AgentSkill once"),
	Entry("with one AgentSkill of another namespace twice", "spec.skillRefs", "[{name: a, namespace: b}, {namespace: b, name: a}]", "spec.skillRefs must name each AgentSkill once"),
	Entry("with an invalid namespace", "spec.skillRefs", "[{name: a, namespace: 'b/c'}]", "spec.skillRefs[0].namespace"),
	Entry("with parameters that are not an object", "spec.extensions", "[{uri: 'urn:x', params: [1]}]", "spec.extensions[0].params"),
	Entry("without a workload and a remote URL", "spec", "{description: x}", "spec needs workload or model, which run the agent, or remote"),
	Entry("with a workload and a remote URL", "spec.remote", "{url: 'https://a.example'}", "spec needs workload or model, which run the agent, or remote"),
	Entry("with a workload and no description", "spec", "{workload: {template: {spec: {containers: [{name: agent, image: echo}]}}}}", "spec.description is required"),
	Entry("that is remote, at no URL", "spec", "{remote: {url: a.example}}", "spec.remote.url must be an absolute http or https URL"),
	Entry("that is remote, with a user", "spec", "{remote: {url: 'https://u:p@a.example'}}", "spec.remote.url must be an absolute http or https URL without credentials"),
	Entry("that is remote, with a query", "spec", "{remote: {url: 'https://a.example?x'}}", "without credentials, query and fragment"),
	Entry("that is remote, with a card that is no path", "spec", "{remote: {url: 'https://a.example', cardPath: 'card'}}", "spec.remote.cardPath must start with '/'"),
	Entry("that is remote, with too short an interval", "spec", "{remote: {url: 'https://a.example', refreshInterval: 1s}}", "spec.remote.refreshInterval must be between 10s and 24h"),
	Entry("that is remote, with credentials for the connection", "spec", "{remote: {url: 'https://a.example', credentials: {type: APIKey, apiKey: {header: Host}, secretRef: {name: x}}}}", "must not be a header of the connection"),
	Entry("that is remote, with a key without a place", "spec", "{remote: {url: 'https://a.example', credentials: {type: APIKey, secretRef: {name: x}}}}", "apiKey is required when type is APIKey"),
	Entry("that is remote, with a key in two places", "spec", "{remote: {url: 'https://a.example', credentials: {type: APIKey, apiKey: {header: X-K, query: k}, secretRef: {name: x}}}}", "one of header and query is required, and the other one forbidden"),
	Entry("that is remote, with OAuth 2 for a token", "spec", "{remote: {url: 'https://a.example', credentials: {oauth2: {tokenURL: 'https://id.example', clientID: x}, secretRef: {name: x}}}}", "oauth2 is required when type is OAuth2, and forbidden otherwise"),
	Entry("that is remote, with a key of a certificate", "spec", "{remote: {url: 'https://a.example', credentials: {type: ClientCertificate, secretRef: {name: x, key: token}}}}", "secretRef.key must be absent when type is Basic or ClientCertificate"),
	Entry("that is remote, with tokens of the users of other namespaces", "spec", "{remote: {url: 'https://a.example', credentials: {type: OAuth2, secretRef: {name: x}, namespaces: [b], oauth2: {grant: TokenExchange, tokenURL: 'https://id.example', clientID: x}}}}", "namespaces must be absent when oauth2.grant is TokenExchange"),
	Entry("that is remote, with another grant", "spec", "{remote: {url: 'https://a.example', credentials: {type: OAuth2, secretRef: {name: x}, oauth2: {grant: Password, tokenURL: 'https://id.example', clientID: x}}}}", "supported values: \"ClientCredentials\", \"TokenExchange\""),
	Entry("that is remote, with a token endpoint that is no URL", "spec", "{remote: {url: 'https://a.example', credentials: {type: OAuth2, oauth2: {tokenURL: id.example, clientID: x}, secretRef: {name: x}}}}", "tokenURL must be an absolute http or https URL"),
	Entry("that is remote, with a query that ends the URL", "spec", "{remote: {url: 'https://a.example', query: 'a#b'}}", "spec.remote.query"),
	Entry("that is remote, with skills", "spec", "{remote: {url: 'https://a.example'}, skillRefs: [{name: x}]}", "a remote agent has its own card"),
	Entry("that is remote, with authentication", "spec", "{remote: {url: 'https://a.example'}, access: {authentication: [{type: Anonymous}]}}", "spec.access has no effect with spec.remote"),
	Entry("that is remote, with rules", "spec", "{remote: {url: 'https://a.example'}, access: {authorization: [{action: Deny}]}}", "spec.access has no effect with spec.remote"),
	Entry("that is remote, with TLS", "spec", "{remote: {url: 'https://a.example'}, access: {tls: {secretRef: {name: tls}}}}", "spec.access has no effect with spec.remote"),
	Entry("that is remote, with CORS", "spec", "{remote: {url: 'https://a.example'}, access: {cors: {allowedOrigins: ['*']}}}", "spec.access has no effect with spec.remote"),
	Entry("that is remote, with a log level", "spec", "{remote: {url: 'https://a.example'}, observability: {logging: {level: Debug}}}", "has no sidecar: remove spec.observability"),
	Entry("with an unknown log level", "spec", "{workload: {template: {spec: {containers: [{name: agent, image: echo}]}}}, description: d, observability: {logging: {level: Verbose}}}", "spec.observability.logging.level"),
	Entry("that is remote, with limits", "spec", "{remote: {url: 'https://a.example'}, limits: {maxBodyBytes: 1048576}}", "has no sidecar: remove spec.pushNotifications, limits and exposure"),
	Entry("that is remote, with a trust bundle", "spec", "{remote: {url: 'https://a.example'}, trustBundle: {name: company}}", "spec.trustBundle has no effect with spec.remote"),
	Entry("that is remote, with egress", "spec", "{remote: {url: 'https://a.example'}, networkPolicy: {egress: []}}", "spec.networkPolicy has no effect with spec.remote"),
	Entry("that is remote, with a setting of the NetworkPolicy", "spec", "{remote: {url: 'https://a.example'}, networkPolicy: {management: None}}", "spec.networkPolicy has no effect with spec.remote"),
	Entry("that is remote, with a card profile", "spec", "{remote: {url: 'https://a.example'}, protocol: {cardProfile: V1}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with bindings", "spec", "{remote: {url: 'https://a.example'}, protocol: {bindings: [HTTPJSON, JSONRPC]}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with an error profile", "spec", "{remote: {url: 'https://a.example'}, protocol: {errorProfile: '1.0.0'}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with a version check", "spec", "{remote: {url: 'https://a.example'}, protocol: {versionCheck: Strict}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with finished tasks that restart", "spec", "{remote: {url: 'https://a.example'}, protocol: {finishedTasks: Restart}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with a window of deduplication", "spec", "{remote: {url: 'https://a.example'}, protocol: {messageDeduplication: 0s}}", "spec.protocol has no effect with spec.remote"),
	Entry("that is remote, with a setting of replies in a context", "spec", "{remote: {url: 'https://a.example'}, protocol: {contextReplies: ContinuePaused}}", "spec.protocol has no effect with spec.remote"),
	Entry("without a container", "spec.workload.template", "{spec: {containers: []}}", "containers needs at least one container"),
	Entry("with a template without a pod spec", "spec.workload.template", "{metadata: {labels: {a: b}}}", "containers needs at least one container"),
	Entry("with the restart policy Never", "spec.workload.template.spec.restartPolicy", "Never", "restartPolicy must be Always or absent"),
	Entry("on the node's network", "spec.workload.template.spec.hostNetwork", "true", "hostNetwork must be absent"),
	Entry("in the process namespace of the node", "spec.workload.template.spec.hostPID", "true", "hostPID must be absent"),
	Entry("with containers that share a process namespace", "spec.workload.template.spec.shareProcessNamespace", "true", "shareProcessNamespace must be absent"),
	Entry("with two replicas", "spec.workload.replicas", "2", "spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis"),
	Entry("with Redis and no server", "spec.workload.tasks.store", "{type: Redis}", "spec.workload.tasks.store.redis is required for type Redis"),
	Entry("with a server and no Redis", "spec.workload.tasks.store", "{redis: {addresses: ['a:1']}}", "spec.workload.tasks.store.redis is required for type Redis"),
	Entry("with an unknown store", "spec.workload.tasks.store", "{type: Postgres}", `supported values: "Memory", "Redis"`),
	Entry("with a Redis without an address", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: []}}", "spec.workload.tasks.store.redis.addresses"),
	Entry("with a Redis without a port", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: [redis]}}", "spec.workload.tasks.store.redis.addresses"),
	Entry("with a Redis as a URL", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['redis://a:1']}}", "spec.workload.tasks.store.redis.addresses"),
	Entry("with two addresses in mode Standalone", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['a:1', 'b:1']}}", "addresses must have one entry in mode Standalone"),
	Entry("with a database number in mode Cluster", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['a:1'], mode: Cluster, database: 1}}", "database must be 0 or absent in mode Cluster"),
	Entry("with a Redis with room for one byte", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['a:1'], maxBytes: 1}}", "should be greater than or equal to 16777216"),
	Entry("with a user of Redis and no password", "spec.workload.tasks.store", "{type: Redis, redis: {addresses: ['a:1'], username: u}}", "username needs passwordSecretRef"),
	Entry("with a negative number of replicas", "spec.workload.replicas", "-1", "should be greater than or equal to 0"),
	Entry("with an unknown value for interruptions", "spec.workload.backend.onInterruption", "retry", `supported values: "Fail", "Retry"`),
	Entry("with an unknown protocol", "spec.workload.backend.protocol", "MCP", `supported values: "Events", "A2A"`),
	Entry("with fields of A2A and another protocol", "spec.workload.backend", "{protocol: Events, a2a: {version: '1.0'}}", "spec.workload.backend.a2a needs spec.workload.backend.protocol A2A"),
	Entry("with fields of A2A and no protocol", "spec.workload.backend", "{a2a: {version: '1.0'}}", "spec.workload.backend.a2a needs spec.workload.backend.protocol A2A"),
	Entry("with empty fields of A2A", "spec.workload.backend", "{protocol: A2A, a2a: {}}", "spec.workload.backend.a2a"),
	Entry("with a path of the backend and a path of A2A", "spec.workload.backend", "{protocol: A2A, path: /a, a2a: {path: /a}}", "spec.workload.backend.path and spec.workload.backend.a2a.path are one setting"),
	Entry("with an unknown version of A2A", "spec.workload.backend", "{protocol: A2A, a2a: {version: '1'}}", `supported values: "0.1", "0.2", "0.3", "1.0"`),
	Entry("with a query in the card's path", "spec.workload.backend", "{protocol: A2A, a2a: {cardPath: '/card?a=b'}}", "put a query into spec.workload.backend.a2a.query"),
	Entry("with a query in the path of A2A", "spec.workload.backend", "{protocol: A2A, a2a: {path: '/a?a=b'}}", "put a query into spec.workload.backend.a2a.query"),
	Entry("with the question mark of a query", "spec.workload.backend", "{protocol: A2A, a2a: {query: '?a=b'}}", "spec.workload.backend.a2a.query must not start with '?'"),
	Entry("with a fragment in a query", "spec.workload.backend", "{protocol: A2A, a2a: {query: 'a=b#c'}}", "spec.workload.backend.a2a.query must not"),
	Entry("with hundreds of tolerations", "spec.workload.template.spec.tolerations", "["+strings.Repeat("{},", 256)+"{}]", "must have at most 256 items"),
	Entry("with more than a thousand variables", "spec.workload.template.spec.containers", "[{name: agent, image: echo, env: ["+numbered("{name: A%d},", 1025)+"]}]", "must have at most 1024 items"),
	Entry("with hundreds of node labels", "spec.workload.template.spec.nodeSelector", "{"+numbered("a%d: b,", 257)+"}", "must have at most 256"),
	Entry("with a quantity that has a broken exponent", "spec.workload.template.spec.overhead", "{cpu: '1e1.5'}", "spec.workload.template.spec.overhead.cpu"),
	Entry("with a quantity that takes hours to read", "spec.workload.template.spec.overhead", "{cpu: '1e-999999999'}", "spec.workload.template.spec.overhead.cpu"),
	Entry("with a port of a probe above 65535", "spec.workload.template.spec.containers", "[{name: agent, image: echo, livenessProbe: {tcpSocket: {port: 99999999999}}}]", "livenessProbe.tcpSocket.port"),
	Entry("with a port of a container above 65535", "spec.workload.template.spec.containers", "[{name: agent, image: echo, ports: [{containerPort: 99999999999}]}]", "ports[0].containerPort"),
	Entry("on a port of the sidecar", "spec.workload.backend.port", "8642", "spec.workload.backend.port must not be 8641, 8642 or 8643"),
	Entry("on port 0", "spec.workload.backend.port", "0", "should be greater than or equal to 1"),
	Entry("with a path that has a query", "spec.workload.backend.path", "'/x?y'", "spec.workload.backend.path must start with '/'"),
	Entry("with a path that cannot be unescaped", "spec.workload.backend.path", "'/%zz'", "'%' only before two hexadecimal digits"),
	Entry("with a path without a slash", "spec.workload.backend.path", "x", "spec.workload.backend.path must start with '/'"),
	Entry("with a timeout without a unit", "spec.workload.backend.timeouts.connect", "'5'", "must be a duration longer than zero"),
	Entry("with a timeout of zero", "spec.workload.backend.timeouts.idle", "0s", "must be a duration longer than zero"),
	Entry("with a first-event timeout longer than the turn timeout", "spec.workload.backend.timeouts", "{firstEvent: 2h}", "timeouts.firstEvent must not be longer than turn"),
	Entry("with an idle timeout longer than the turn timeout", "spec.workload.backend.timeouts", "{turn: 3m}", "timeouts.idle must not be longer than turn"),
	Entry("with a retention that is no duration", "spec.workload.tasks.retention", "forever", "must be a duration longer than zero"),
	Entry("with a maximum of zero tasks", "spec.workload.tasks.maxTasks", "0", "should be greater than or equal to 1"),
	Entry("without a target of push notifications", "spec.pushNotifications", "{}", "spec.pushNotifications.allowedTargets: Required value"),
	Entry("with an empty list of targets", "spec.pushNotifications.allowedTargets", "[]", "should have at least 1 items"),
	Entry("with an empty target", "spec.pushNotifications.allowedTargets", "[{}]", "set exactly one of service, namespace, host and cidr"),
	Entry("with a target that has a host and a range", "spec.pushNotifications.allowedTargets", "[{host: a.example.com, cidr: 203.0.113.0/24}]", "set exactly one of service, namespace, host and cidr"),
	Entry("with a host in upper case", "spec.pushNotifications.allowedTargets", "[{host: Hooks.example.com}]", "must be a DNS name in lower case"),
	Entry("with a target that is a URL", "spec.pushNotifications.allowedTargets", "[{host: 'https://example.com'}]", "must be a DNS name in lower case"),
	Entry("with a target that is an address", "spec.pushNotifications.allowedTargets", "[{host: 203.0.113.9}]", "allow an address by cidr"),
	Entry("with a Service by its host", "spec.pushNotifications.allowedTargets", "[{host: hooks.team.svc.cluster.local}]", "allow it by service or namespace"),
	Entry("with a target that is no range", "spec.pushNotifications.allowedTargets", "[{cidr: 203.0.113.0}]", "must be a range of addresses"),
	Entry("with a Service that is no name", "spec.pushNotifications.allowedTargets", "[{service: {name: a.b}}]", "must be the name of a Service"),
	Entry("with an unknown authenticator", "spec.access.authentication", "[{type: Magic}]", `supported values: "Kubernetes", "JWT", "APIKey", "MTLS", "Anonymous"`),
	Entry("with tokens without an issuer", "spec.access.authentication", "[{type: JWT}]", "jwt is required when type is JWT, and forbidden otherwise"),
	Entry("with an issuer for another type", "spec.access.authentication", "[{type: Anonymous, jwt: {issuer: 'https://a.example', audiences: [b]}}]", "jwt is required when type is JWT, and forbidden otherwise"),
	Entry("with a hook of another kind", "spec.workload.sidecar", "{preStop: Sleep}", "Unsupported value"),
	Entry("with a proxy of another protocol", "spec.egress", "{proxy: {url: 'socks5://proxy.example'}}", "spec.egress.proxy.url must be an http or https URL"),
	Entry("with a proxy without a URL", "spec.egress", "{proxy: {noProxy: ['*']}}", "spec.egress.proxy.url: Required value"),
	Entry("with a password in the URL of a proxy", "spec.egress", "{proxy: {url: 'http://user:password@proxy.example'}}", "secretRef names its credential"),
	Entry("with a path of a proxy", "spec.egress", "{proxy: {url: 'http://proxy.example/path'}}", "without a user, a path and a query"),
	Entry("with a proxy at localhost", "spec.egress", "{proxy: {url: 'http://LocalHost.:3128'}}", "spec.egress.proxy.url must not be a loopback"),
	Entry("with a proxy at a loopback address", "spec.egress", "{proxy: {url: 'http://127.1.2.3:3128'}}", "spec.egress.proxy.url must not be a loopback"),
	Entry("with a proxy at the IPv6 loopback address", "spec.egress", "{proxy: {url: 'http://[::1]:3128'}}", "spec.egress.proxy.url must not be a loopback"),
	Entry("with a proxy at a metadata address", "spec.egress", "{proxy: {url: 'http://169.254.169.254'}}", "spec.egress.proxy.url must not be a loopback"),
	Entry("with two hosts in one item of noProxy", "spec.egress", "{proxy: {url: 'http://proxy.example', noProxy: ['a,b']}}", "spec.egress.proxy.noProxy[0] in body should match"),
	Entry("with a remote agent and a proxy", "spec", "{remote: {url: 'https://a.example'}, egress: {}}", "a remote agent has no sidecar: remove spec.egress"),
	Entry("with a protocol that is no name", "spec.service", "{appProtocol: 'a b'}", "spec.service.appProtocol must be a name"),
	Entry("with a port for gRPC that others use", "spec.service", "{grpcPort: 443}", "spec.service.grpcPort must not be 80 or 443"),
	Entry("with a port for gRPC without gRPC", "spec.service", "{grpcPort: 8641}", "spec.service.grpcPort needs GRPC in spec.protocol.bindings"),
	Entry("with revision 0", "spec.workload.revision", "0", "should be greater than or equal to 1"),
	Entry("with another policy on failure", "spec.workload.onFailure", "Panic", "Unsupported value"),
	Entry("with no deadline", "spec.workload.progressDeadline", "0s", "must be a duration longer than zero"),
	Entry("with a scope with a quote", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], requiredScopes: ['a\"b']}}]", "requiredScopes"),
	Entry("with a flow without its URL", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], oauth2: {flows: [AuthorizationCode], tokenURL: 'https://a.example'}}}]", "authorizationURL is required for the flow AuthorizationCode"),
	Entry("with discovered flows and others", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], oauth2: {flows: [Discover, ClientCredentials]}}}]", "Discover stands for all flows of the issuer"),
	Entry("with discovered flows and a URL", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], oauth2: {flows: [Discover], tokenURL: 'https://a.example'}}}]", "tokenURL is required, unless flows is Discover, and forbidden then"),
	Entry("with a flow without the token endpoint", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], oauth2: {flows: [ClientCredentials]}}}]", "tokenURL is required, unless flows is Discover, and forbidden then"),
	Entry("with the URL of another flow", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b], oauth2: {flows: [ClientCredentials], deviceAuthorizationURL: 'https://a.example', tokenURL: 'https://a.example'}}}]", "deviceAuthorizationURL is required for the flow DeviceCode, and forbidden otherwise"),
	Entry("with an issuer without TLS", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'http://login.example', audiences: [b]}}]", "must be an https URL without a query"),
	Entry("with an issuer that looks like one in the cluster", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'http://a.b.svcs.example.com', audiences: [b]}}]", "must be an https URL without a query"),
	Entry("with an issuer that has a fragment", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example/#a', audiences: [b]}}]", "must be an https URL without a query"),
	Entry("with an issuer that has a password", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a:b@login.example', audiences: [b]}}]", "must be an https URL without a query"),
	Entry("with an issuer that is no URL", "spec.access.authentication", "[{type: JWT, jwt: {issuer: login, audiences: [b]}}]", "must be an https URL without a query"),
	Entry("with tokens of any audience", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example', audiences: []}}]", "should have at least 1 items"),
	Entry("with the URL of token keys without TLS", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://login.example', audiences: [b], jwksURL: 'http://login.example'}}]", "must be an https URL, or an http URL of"),
	Entry("with API keys without a Secret", "spec.access.authentication", "[{type: APIKey}]", "apiKey is required when type is APIKey, and forbidden otherwise"),
	Entry("with API keys for another type", "spec.access.authentication", "[{type: Kubernetes, apiKey: {secretRef: {name: keys}}}]", "apiKey is required when type is APIKey, and forbidden otherwise"),
	Entry("with API keys in a header and in the query", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: keys}, header: X-Key, query: key}}]", "header and query are mutually exclusive"),
	Entry("with API keys in the header Authorization", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: keys}, header: Authorization}}]", "should match"),
	Entry("with an origin for CORS that has a path", "spec.access", "{cors: {allowedOrigins: ['https://app.example.com/']}}", "should match"),
	Entry("with CORS for no origin", "spec.access", "{cors: {allowedOrigins: []}}", "should have at least 1 items"),
	Entry("with client certificates and no TLS", "spec.access.authentication", "[{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org}}]", "spec.access.tls is required for authentication of type MTLS"),
	Entry("with client certificates without an authority", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS}]}", "mtls is required when type is MTLS, and forbidden otherwise"),
	Entry("with client certificates for another type", "spec.access.authentication", "[{type: Anonymous, mtls: {caBundle: {name: ca}, trustDomain: example.org}}]", "mtls is required when type is MTLS, and forbidden otherwise"),
	Entry("with principals that are no SPIFFE IDs", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, principals: ['CN=a']}}]}", "principals must be SPIFFE IDs"),
	Entry("with SPIFFE IDs and no trust domain", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}}}]}", "trustDomain is required, unless principal is Subject"),
	Entry("with subjects and a trust domain", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, principal: Subject, trustDomain: example.org}}]}", "trustDomain is required, unless principal is Subject"),
	Entry("with a trust domain that is a URI", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: 'spiffe://example.org'}}]}", "trustDomain"),
	Entry("with principals of another trust domain", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, principals: ['spiffe://example.org.example.net/a']}}]}", "principals must be SPIFFE IDs of the trustDomain"),
	Entry("with principals of no trust domain in the list", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, federated: [{trustDomain: example.net, caBundle: {name: other}}], principals: ['spiffe://example.com/a']}}]}", "principals must be SPIFFE IDs of the trustDomain, or of one in federated"),
	Entry("with the first trust domain among the others", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, federated: [{trustDomain: example.org, caBundle: {name: other}}]}}]}", "federated must not list trustDomain again"),
	Entry("with subjects and federated trust domains", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, principal: Subject, federated: [{trustDomain: example.org, caBundle: {name: other}}]}}]}", "must be absent when principal is Subject"),
	Entry("with a wildcard inside a path segment of a SPIFFE ID", "spec.access", "{tls: {secretRef: {name: tls}}, authentication: [{type: MTLS, mtls: {caBundle: {name: ca}, trustDomain: example.org, principals: ['spiffe://example.org/ns/a*']}}]}", "principals must be SPIFFE IDs"),
	Entry("with a trust bundle of another kind", "spec.trustBundle", "{kind: Pod, name: a}", "Unsupported value"),
	Entry("with no rule", "spec.access.authorization", "[]", "should have at least 1 items"),
	Entry("with a rule without an action", "spec.access.authorization", "[{namespaces: [a]}]", "action: Required value"),
	Entry("with a rule of an unknown action", "spec.access.authorization", "[{action: Audit}]", `supported values: "Allow", "Deny"`),
	Entry("with a rule that has an empty list of namespaces", "spec.access.authorization", "[{action: Allow, namespaces: []}]", "should have at least 1 items"),
	Entry("with a rule that names a method of A2A 0.3", "spec.access.authorization", "[{action: Allow, methods: [message/send]}]", `supported values: "SendMessage", "SendStreamingMessage"`),
	Entry("with two rules of one name", "spec.access.authorization", "[{action: Allow, name: a}, {action: Deny, name: a}]", "has two rules of the same name"),
	Entry("with an expression of more than 1024 characters", "spec.access.authorization", "[{action: Allow, expression: '"+strings.Repeat("x", 1025)+"'}]", "Too long: may not be more than 1024"),
	Entry("with two issuers", "spec.access.authentication", "[{type: JWT, jwt: {issuer: 'https://a.example', audiences: [b]}}, {type: JWT, jwt: {issuer: 'https://b.example', audiences: [b]}}]", "Duplicate value"),
	Entry("with no authenticator", "spec.access.authentication", "[]", "should have at least 1 items"),
	Entry("with an unknown field", "spec.phase", "true", `unknown field "spec.phase"`),
	Entry("with the URL of card keys without TLS", "spec.cardSigning", "{secretRef: {name: a}, jwksURL: 'http://keys.example'}", "spec.cardSigning.jwksURL must be an absolute https URL"),
	Entry("with a card key of an unnamed Secret", "spec.cardSigning", "{secretRef: {name: ''}}", "spec.cardSigning.secretRef.name"),
	Entry("with an unknown card profile", "spec.protocol.cardProfile", "v1", `supported values: "Union", "V1"`),
	Entry("with no binding", "spec.protocol.bindings", "[]", "spec.protocol.bindings"),
	Entry("with a binding twice", "spec.protocol.bindings", "[GRPC, GRPC]", "spec.protocol.bindings must name each binding once"),
	Entry("with an unknown binding", "spec.protocol.bindings", "['HTTP+JSON']", `supported values: "JSONRPC", "HTTPJSON", "GRPC"`),
	Entry("with an unknown error profile", "spec.protocol.errorProfile", "'1.0'", `supported values: "1.0.1", "1.0.0"`),
	Entry("with too long a window of deduplication", "spec.protocol.messageDeduplication", "601s", "spec.protocol.messageDeduplication must be a duration from 0s to 10m"),
	Entry("with a negative window of deduplication", "spec.protocol.messageDeduplication", "'-1s'", "spec.protocol.messageDeduplication must be a duration from 0s to 10m"),
	Entry("with a window of deduplication without a unit", "spec.protocol.messageDeduplication", "'60'", "spec.protocol.messageDeduplication must be a duration from 0s to 10m"),
	Entry("with an unknown setting of replies in a context", "spec.protocol.contextReplies", "Continue", `supported values: "NewTask", "ContinuePaused"`),
	Entry("with an unknown version check", "spec.protocol.versionCheck", "None", `supported values: "Lenient", "Strict"`),
	Entry("with an unknown visibility of a skill", "spec.skills", "[{id: a, name: a, description: a, tags: [a], visibility: Secret}]", `supported values: "Public", "Extended"`),
	Entry("with egress rules that have no effect", "spec.networkPolicy", "{management: None, egress: []}", "spec.networkPolicy.egress has no effect with management None"),
	Entry("with an unknown management of the NetworkPolicy", "spec.networkPolicy.management", "Some", `supported values: "Managed", "None"`),
	Entry("with an egress port above 65535", "spec.networkPolicy.egress", "[{ports: [{port: 99999999999}]}]", "spec.networkPolicy.egress[0].ports[0].port"),
)

var _ = Describe("an Agent's defaults", func() {
	It("are all in the stored object", func(ctx context.Context) {
		obj := object(minimalAgent)
		Expect(create(ctx, obj)).To(Succeed())
		spec := obj.Object["spec"].(map[string]any)
		got, err := yaml.Marshal(map[string]any{
			"version": spec["version"], "in": spec["defaultInputModes"], "out": spec["defaultOutputModes"], "access": spec["access"], "protocol": spec["protocol"],
			"replicas": spec["workload"].(map[string]any)["replicas"],
			"backend":  spec["workload"].(map[string]any)["backend"],
			"tasks":    spec["workload"].(map[string]any)["tasks"],
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(MatchYAML(`
version: 0.0.0
in: [text/plain]
out: [text/plain]
access: {authentication: [{type: Kubernetes}]}
protocol: {bindings: [JSONRPC, HTTPJSON], cardProfile: Union, errorProfile: 1.0.1, versionCheck: Lenient, finishedTasks: Final, messageDeduplication: 60s, keepAlive: 10s, contextReplies: NewTask}
replicas: 1
backend: {protocol: Events, port: 8080, onInterruption: Fail, timeouts: {connect: 5s, firstEvent: 2m, idle: 5m, turn: 1h}}
tasks: {retention: 1h, maxTasks: 10000, store: {type: Memory}}
`))
	})

	It("make every condition Unknown before the first reconcile", func(ctx context.Context) {
		obj := object(minimalAgent)
		Expect(create(ctx, obj)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		var got []string
		for _, c := range conditions {
			m := c.(map[string]any)
			got = append(got, fmt.Sprint(m["type"], " ", m["status"], " ", m["reason"]))
		}
		Expect(got).To(Equal([]string{
			"Accepted Unknown Pending", "SkillsResolved Unknown Pending", "Programmed Unknown Pending",
			"Available Unknown Pending", "CardPublished Unknown Pending", "Exposed Unknown Pending", "Ready Unknown Pending",
		}))
	})
})
