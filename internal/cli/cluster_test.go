// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// cluster is a real API server with fake pods: servers in the test process, to which a fake kubelet
// forwards connections.
type cluster struct {
	client.Client
	config *rest.Config
	// server is the address of the API server for users, and authority its certificate.
	server    string
	authority []byte

	mu sync.Mutex
	// pods are the addresses of pods, by namespace/name:port.
	pods map[string]string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	environment := controlplane.New()
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{config: config, pods: map[string]string{}}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	plain := rest.AnonymousClientConfig(config)
	plain.NextProtos = []string{"http/1.1"} // HTTP/2 has no Upgrade
	anonymous, err := rest.TransportFor(plain)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: anonymous, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	// client-go sends credentials over TLS only.
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			query := r.URL.Query()
			if container := query.Get("container"); container == "waiting" || container == "main" && query.Get("previous") == "true" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"container is waiting to start: ImagePullBackOff"}`)
				return
			}
			if query.Get("previous") == "true" || query.Get("follow") == "true" {
				_, _ = fmt.Fprintf(w, "previous=%s follow=%s\n", query.Get("previous"), query.Get("follow"))
				return
			}
			_, _ = fmt.Fprintf(w, "%s started\n%s task=t1 \x1b[2J\n", r.URL.Query().Get("container"), r.URL.Query().Get("container"))
			return
		}
		if strings.HasSuffix(r.URL.Path, "/portforward") && c.mayForward(r) {
			c.forward(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	c.server, c.authority = server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return c
}

// mayForward asks the API server whether the caller may forward ports. If the caller may not, the
// request goes to the API server, which refuses it.
func (c *cluster) mayForward(r *http.Request) bool {
	user := rest.AnonymousClientConfig(c.config)
	user.BearerToken = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	cl, err := client.New(user, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		return false
	}
	elements := strings.Split(r.URL.Path, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: elements[4], Verb: "create", Resource: "pods", Subresource: "portforward", Name: elements[6],
	}}}
	return cl.Create(r.Context(), review) == nil && review.Status.Allowed
}

// forward is the fake kubelet. It supports only SPDY, like an old API server.
func (c *cluster) forward(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "websocket" {
		http.Error(w, "no WebSocket here", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	elements := strings.Split(r.URL.Path, "/")
	pod := elements[4] + "/" + elements[6]
	streams := make(chan httpstream.Stream, 16)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	problems := map[string]httpstream.Stream{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				problems[id] = s
				continue
			}
			go c.connect(pod+":"+s.Headers().Get(corev1.PortHeader), s, problems[id])
		}
	}
}

// connect copies data between a stream and the server of a pod.
func (c *cluster) connect(pod string, data, problem httpstream.Stream) {
	defer func() { _ = problem.Close() }()
	c.mu.Lock()
	address := c.pods[pod]
	c.mu.Unlock()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintf(problem, "connection to %s refused", pod)
		return
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.Copy(conn, data)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(data, conn)
	_ = data.Close()
}

func (c *cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// createNamespace makes the namespace team and its ServiceAccount default. The test has no controller that makes the
// ServiceAccount of a new namespace.
func (c *cluster) createNamespace(t *testing.T) {
	t.Helper()
	const name = "team"
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}})
}

// user returns a kubeconfig for a user with the rules in the namespace team.
func (c *cluster) user(t *testing.T, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	const namespace = "team"
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	c.create(t, account, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	c.awaitRule(t, namespace, token.Status.Token, rules[len(rules)-1])
	return writeKubeconfig(t, c.server, c.authority, token.Status.Token, namespace)
}

// writeKubeconfig returns the file name of a kubeconfig. authority is the certificate of the server, in PEM.
func writeKubeconfig(t *testing.T, server string, authority []byte, token, namespace string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{"server": server, "certificate-authority-data": authority}}},
		"users":    []any{map[string]any{"name": "test", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "test", "namespace": namespace}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// awaitRule waits until the authorizer of the API server grants a rule to a user.
func (c *cluster) awaitRule(t *testing.T, namespace, token string, rule rbacv1.PolicyRule) {
	t.Helper()
	user := rest.AnonymousClientConfig(c.config)
	user.BearerToken = token
	cl, err := client.New(user, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Group: rule.APIGroups[0], Resource: resource, Subresource: subresource, Verb: rule.Verbs[0]}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	for range 500 {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		if err := cl.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the authorizer does not know %v", rule)
}

// agent makes an Agent in the namespace team. Its pod is the server at the address, which may be "" for no pod.
func (c *cluster) agent(t *testing.T, name, address string, change ...func(*a2av1alpha1.Agent)) {
	t.Helper()
	const namespace = "team"
	object := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.Spec.Description = "An agent of the test."
	object.Spec.Workload = &a2av1alpha1.AgentWorkload{}
	object.Spec.Workload.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "none"}}
	for _, each := range change {
		each(object)
	}
	c.create(t, object)
	ready, reason, skills := metav1.ConditionTrue, "Ready", int32(1)
	if address == "" {
		ready, reason = metav1.ConditionFalse, "ImagePullFailed"
	}
	object.Status.Skills = &skills
	object.Status.URL = address
	if address == "" {
		object.Status.URL = "http://" + name + "." + namespace + ".svc.cluster.local/"
	}
	for i := range object.Status.Conditions {
		if condition := &object.Status.Conditions[i]; condition.Type == a2av1alpha1.ConditionReady {
			condition.Status, condition.Reason, condition.Message = ready, reason, "Text of the condition"
		}
	}
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if address != "" {
		c.endpoint(t, name, a2av1alpha1.PortAgent, 8641, strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/"))
	}
}

// endpoint makes a ready pod of a Service in the namespace team. The pod is the server at the address.
func (c *cluster) endpoint(t *testing.T, service, portName string, port int32, address string) {
	t.Helper()
	const namespace = "team"
	c.create(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: service + "-pod"},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[fmt.Sprintf("%s/%s-pod:%d", namespace, service, port)] = address
}

// The rules of a user who may do everything that the CLI does, in the order of the requests.
var (
	readAgents    = rbacv1.PolicyRule{APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}, Verbs: []string{"get", "list"}}
	requestToken  = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"default"}, Verbs: []string{"create"}}
	readEndpoints = rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list"}}
	forwardPorts  = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}}
)

func withAuthentication(types ...a2av1alpha1.AuthenticationType) func(*a2av1alpha1.Agent) {
	return func(agent *a2av1alpha1.Agent) {
		for _, each := range types {
			agent.Spec.Access.Authentication = append(agent.Spec.Access.Authentication, a2av1alpha1.Authentication{Type: each})
		}
	}
}

func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	c := startCluster(t)
	c.createNamespace(t)
	echo := sidecartest.Start(t, sidecartest.TextAgent)
	c.agent(t, "echo", echo.URL+"/")
	c.agent(t, "broken", "")
	c.agent(t, "open", echo.URL+"/", withAuthentication(a2av1alpha1.AuthenticationAnonymous))
	all := c.user(t, "all", readAgents, requestToken, readEndpoints, forwardPorts)

	t.Run("list", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		for name, args := range map[string][]string{
			"list": {"list"}, "list-wide": {"list", "-o", "wide"}, "list-name": {"list", "-o", "name"}, "list-selector": {"list", "-l", "a=b"},
			"list-forbidden": {"list", "-A"},
		} {
			run(t, args...).golden(t, name)
		}
		for _, format := range []string{"json", "yaml"} {
			if r := run(t, "list", "-o", format); r.status != 0 || !strings.Contains(r.stdout, "AgentList") || !strings.Contains(r.stdout, "ImagePullFailed") {
				t.Errorf("%s: %+v", format, r)
			}
		}
	})

	t.Run("send goes through the API server with a token for the agent", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		for _, name := range []string{"echo", "team/echo", "agent/echo", "open"} {
			r := run(t, "send", name, "Hello")
			if r.status != 0 || r.field("State") != "completed" || !strings.Contains(r.stdout, "Hello world") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		r := run(t, "send", "echo", "Hello", "--async")
		if !strings.Contains(r.stderr, "task watch echo ") {
			t.Errorf("%+v", r)
		}
	})

	t.Run("each missing right is named with its rule", func(t *testing.T) {
		rules := []rbacv1.PolicyRule{readAgents, requestToken, readEndpoints, forwardPorts}
		for i, rule := range rules {
			others := slices.Delete(slices.Clone(rules), i, i+1)
			t.Setenv("KUBECONFIG", c.user(t, fmt.Sprint("without", i), others...))
			r := run(t, "send", "echo", "Hello")
			if r.status != 4 || !strings.Contains(r.stderr, rule.Resources[0]) || !strings.Contains(r.stderr, "A2ACLI_ERR_AUTH_FAILED") {
				t.Errorf("without %v: %+v", rule, r)
			}
			r.golden(t, fmt.Sprint("forbidden-", i))
		}
	})

	t.Run("what cannot be called says why", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		for name, want := range map[string]string{"broken": "ImagePullFailed", "nobody": "there is no agent nobody"} {
			if r := run(t, "send", name, "Hello"); r.status != 3 || !strings.Contains(r.stderr, want) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		c.endpoint(t, "broken", a2av1alpha1.PortAgent, 8641, "127.0.0.1:1")
		if r := run(t, "send", "broken", "Hello"); r.status != 3 || !strings.Contains(r.stderr, "refused") {
			t.Errorf("%+v", r)
		}
		if r := run(t, "send", "echo", "Hello", "-n", "elsewhere"); r.status != 4 {
			t.Errorf("%+v", r)
		}
		if r := run(t, "list", "--server", "http://127.0.0.1:1"); r.status != 3 || !strings.Contains(r.stderr, "cannot be reached") {
			t.Errorf("%+v", r)
		}
		if r := run(t, "list", "--token", "wrong"); r.status != 4 || !strings.Contains(r.stderr, "credentials") {
			t.Errorf("%+v", r)
		}
		if r := run(t, "list", "--kubeconfig", "/nonexistent"); r.status != 3 && r.status != 2 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("card", func(t *testing.T) {
		t.Setenv("KUBECONFIG", c.user(t, "reader", readAgents, readEndpoints, forwardPorts)) // a card needs no token
		run(t, "card", "get", "echo").golden(t, "card-cluster")
	})

	t.Run("token is for the agent", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		token := strings.TrimSpace(run(t, "token", "echo").stdout)
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token+"..", ".")[1])
		if err != nil || !strings.Contains(string(payload), `"aud":["echo.team.a2a-operator.dev"]`) || !strings.Contains(string(payload), "team:default") {
			t.Errorf("token %q: %s, %v", token, payload, err)
		}
		if r := run(t, "token", "echo", "-o", "json"); r.status != 0 || !json.Valid([]byte(r.stdout)) || !strings.Contains(r.stdout, `"expires": "20`) {
			t.Errorf("%+v", r)
		}
		for want, args := range map[int][]string{
			2: {"token", "echo", "--duration", "1m"}, 3: {"token", "nobody"}, 4: {"token", "echo", "--service-account", "other"},
		} {
			if r := run(t, args...); r.status != want {
				t.Errorf("%q: %+v", args, r)
			}
		}
	})

	t.Run("restart sets the annotation of the agent", func(t *testing.T) {
		t.Setenv("KUBECONFIG", c.user(t, "restarter", readAgents, rbacv1.PolicyRule{APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}, Verbs: []string{"patch"}}))
		restarted := func() string {
			object := &a2av1alpha1.Agent{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "echo"}, object); err != nil {
				t.Fatal(err)
			}
			return object.Annotations[a2av1alpha1.AnnotationRestartedAt]
		}
		if r := run(t, "restart", "echo"); r.status != 0 || r.stdout != "agent team/echo restarts\n" {
			t.Errorf("%+v", r)
		}
		first := restarted()
		if at, err := time.Parse(time.RFC3339Nano, first); err != nil || time.Since(at) > time.Minute {
			t.Errorf("annotation %q: %v", first, err)
		}
		if r := run(t, "restart", "echo"); r.status != 0 || restarted() == first {
			t.Errorf("%+v, annotation %q again", r, first)
		}
		for want, args := range map[int][]string{2: {"restart"}, 3: {"restart", "nobody"}} {
			if r := run(t, args...); r.status != want {
				t.Errorf("%q: %+v", args, r)
			}
		}
		t.Setenv("KUBECONFIG", c.user(t, "onlooker", readAgents))
		if r := run(t, "restart", "echo"); r.status != 4 || !strings.Contains(r.stderr, "patch") {
			t.Errorf("without the right to patch: %+v", r)
		}
	})

	t.Run("events are those of the agent and of its pods", func(t *testing.T) {
		t.Setenv("KUBECONFIG", c.user(t, "events", readAgents, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}}))
		run(t, "events", "echo").golden(t, "events-none")
		for i, object := range []corev1.ObjectReference{
			{Kind: "Agent", Name: "echo"}, {Kind: "Pod", Name: "echo-5d9c-x2x"}, {Kind: "Pod", Name: "echo-two-5d9c-x2x"}, {Kind: "ReplicaSet", Name: "echo-5d9c"}, {Kind: "Agent", Name: "open"},
		} {
			object.Namespace = "team"
			c.create(t, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("e", i)}, InvolvedObject: object, Type: "Warning", Reason: "Reason", Message: "Text\x1b[2J of " + object.Name,
				LastTimestamp: metav1.Time{Time: time.Now().Add(-time.Duration(i) * time.Hour)},
			})
		}
		r := run(t, "events", "echo")
		r.stdout = strings.NewReplacer("120m", "2h", "60m", "1h", "180m", "3h").Replace(r.stdout)
		r.golden(t, "events")
		t.Setenv("KUBECONFIG", all)
		if r := run(t, "events", "echo"); r.status != 4 || !strings.Contains(r.stderr, "resources: [events], verbs: [list]") {
			t.Errorf("%+v", r)
		}
	})

	t.Run("logs are those of the agent and of its sidecar", func(t *testing.T) {
		t.Setenv("KUBECONFIG", c.user(t, "logs", readAgents, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get", "list"}}))
		if r := run(t, "logs", "echo"); r.status != 3 || !strings.Contains(r.stderr, "has no pod") {
			t.Errorf("%+v", r)
		}
		always := corev1.ContainerRestartPolicyAlways
		c.create(t, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo-5d9c-x2x", Labels: map[string]string{a2av1alpha1.LabelAgent: "echo"}},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: a2av1alpha1.ContainerSidecar, Image: "none", RestartPolicy: &always}},
				Containers:     []corev1.Container{{Name: "main", Image: "none"}},
			},
		})
		for arguments, want := range map[string][]string{
			"": {"a2a-sidecar started", "a2a-sidecar task=t1", "main started", "main task=t1"}, "-c sidecar --task t1": {"a2a-sidecar task=t1"},
			"-c agent": {"main started", "main task=t1"}, "-c main --task none": nil,
		} {
			r := run(t, append([]string{"logs", "echo"}, strings.Fields(arguments)...)...)
			lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
			if r.stdout == "" {
				lines = nil
			}
			slices.Sort(lines)
			ok := r.status == 0 && len(lines) == len(want)
			for i := range want {
				ok = ok && strings.HasPrefix(lines[i], "[echo-5d9c-x2x/") && strings.Contains(lines[i], want[i])
			}
			if !ok {
				t.Errorf("%s: %+v", arguments, r)
			}
		}
		if r := run(t, "logs", "echo", "-p"); r.status != 0 || r.stdout != "[echo-5d9c-x2x/a2a-sidecar] previous=true follow=\n" {
			t.Errorf("-p: %+v", r)
		}
		if r := run(t, "logs", "echo", "-f", "-c", "sidecar"); r.status != 0 || !strings.Contains(r.stdout, "follow=true") || !strings.Contains(r.stderr, "All containers have ended") {
			t.Errorf("-f: %+v", r)
		}
		if r := run(t, "logs", "echo", "-p", "-c", "main"); r.status != 1 {
			t.Errorf("-p of a container that has not restarted: %+v", r)
		}
		c.create(t, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo-new", Labels: map[string]string{a2av1alpha1.LabelAgent: "echo"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "waiting", Image: "none"}}},
		})
		if r := run(t, "logs", "echo"); r.status != 1 || !strings.Contains(r.stdout, "main started") || !strings.Contains(r.stderr, "ImagePullBackOff") {
			t.Errorf("a container that has not started: %+v", r)
		}
		if r := run(t, "logs", "echo", "-c", "none"); r.status != 2 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("ui lists the agents of the registry", func(t *testing.T) {
		var tokens sync.Map
		registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tokens.Store(r.Header.Get("Authorization"), nil)
			_, _ = io.WriteString(w, `{"items":[{"namespace":"team","name":"echo","ready":true}],"total":1}`)
		}))
		t.Cleanup(registry.Close)
		c.endpoint(t, "registry", "http", 8444, strings.TrimPrefix(registry.URL, "http://"))
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "registry", Labels: map[string]string{
				a2av1alpha1.LabelName: a2av1alpha1.ManagedBy, a2av1alpha1.LabelComponent: "registry",
			}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}
		c.create(t, service)
		t.Setenv("KUBECONFIG", c.user(t, "page", readAgents, requestToken, readEndpoints, forwardPorts, listServices))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		out, in := io.Pipe()
		status := make(chan int, 1)
		go func() {
			status <- Run(ctx, []string{"ui", "--registry-namespace", "team"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: in, ErrOut: io.Discard})
			_ = in.Close()
		}()
		address, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("no address: %v, status %d", err, <-status)
		}
		response, err := http.Get(strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if !strings.Contains(string(body), "team/echo") || strings.Contains(string(body), "Bearer") {
			t.Errorf("the page is %s", body)
		}
		tokens.Range(func(token, _ any) bool {
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(token.(string)+"..", ".")[1])
			if !strings.Contains(string(payload), `"aud":["a2a-operator.dev"]`) || strings.Contains(string(body), strings.TrimPrefix(token.(string), "Bearer ")) {
				t.Errorf("the token is %s", payload)
			}
			return true
		})
		stop()
		if got := <-status; got != 0 {
			t.Errorf("Ctrl-C ends the page with the status %d", got)
		}
		if r := run(t, "ui", "--registry-namespace", "team", "--port", "70000"); r.status != 2 {
			t.Errorf("%+v", r)
		}
		if err := c.Delete(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		for want, args := range map[int][]string{
			2: {"ui", "--registry", "registry"}, 3: {"ui", "--registry-namespace", "team"}, 4: {"ui", "--registry-namespace", "elsewhere"},
		} {
			if r := run(t, args...); r.status != want || !strings.Contains(r.stderr, "Code:") {
				t.Errorf("%q: %+v", args, r)
			}
		}
	})

	t.Run("find", func(t *testing.T) { testFind(t, c) })

	t.Run("names of agents that do not exist have a suggestion", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		if r := run(t, "send", "ecko", "Hello"); r.status != 3 || !strings.Contains(r.stderr, "did you mean echo?") {
			t.Errorf("%+v", r)
		}
		r := run(t, "token", "echo", "--service-account", "none")
		if r.status != 4 { // the user may request tokens of the account default only
			t.Errorf("%+v", r)
		}
	})

	t.Run("completion", func(t *testing.T) { testCompletion(t, all) })

	t.Run("a person with the role view", func(t *testing.T) { testViewer(t, c) })
}
