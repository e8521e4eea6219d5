// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// network forwards the requests of gateways to agents. It replaces the DNS of a cluster.
type network struct {
	server *httptest.Server
	mu     sync.Mutex
	agents map[string]http.Handler
}

func newNetwork() *network {
	n := &network{agents: map[string]http.Handler{}}
	n.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		n.mu.Lock()
		agent := n.agents[name]
		n.mu.Unlock()
		if agent == nil {
			http.NotFound(w, r)
			return
		}
		http.StripPrefix("/"+name, agent).ServeHTTP(w, r)
	}))
	DeferCleanup(n.server.Close)
	return n
}

// add serves an agent under a name.
func (n *network) add(name string, agent http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agents[name] = agent
}

// runSidecar runs the sidecar of an Agent with the configuration that the operator wrote.
// Behind the sidecar is an agent that answers every turn. runSidecar returns the addresses of
// the sidecar's A2A endpoint and of its gateway.
func runSidecar(ctx context.Context, n *network, agent *a2av1alpha1.Agent, tokenFile string) (address, gateway string) {
	GinkgoHelper()
	published := &corev1.ConfigMap{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}, published)).To(Succeed())
	config, err := sidecarconfig.Decode([]byte(published.Data[sidecarconfig.FileName]))
	Expect(err).NotTo(HaveOccurred())
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "answer of "+agent.Name)
	}))
	DeferCleanup(backend.Close)
	config.Backend.URL = backend.URL
	config.Gateway = &sidecarconfig.Gateway{
		RegistryURL: "http://" + registryAddress, AgentURL: n.server.URL + "/{name}", TokenFile: tokenFile,
	}
	encoded, err := sidecarconfig.Encode(config)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), sidecarconfig.FileName)
	Expect(os.WriteFile(file, encoded, 0o600)).To(Succeed())
	s, err := sidecar.Open(ctx, &settings.Options{
		ConfigFile: file, Listen: "127.0.0.1:0", HealthListen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0",
	}, slog.New(slog.DiscardHandler), time.Now)
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(running) }()
	DeferCleanup(func() {
		cancel()
		Expect(<-done).To(Succeed())
	})
	target, err := url.Parse("http://" + s.Addresses().Agent)
	Expect(err).NotTo(HaveOccurred())
	n.add(agent.Name, httputil.NewSingleHostReverseProxy(target))
	return target.String(), "http://" + s.Addresses().Gateway
}

// send sends a request and returns the status and the body of the response.
func send(ctx context.Context, method, address, contentType, token, body string) (int, string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", contentType)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`

var _ = It("T-REPLAY: what a hostile agent receives is accepted nowhere else", func(ctx context.Context) {
	namespace := createNamespace(ctx, "replay-")
	agents := map[string]*a2av1alpha1.Agent{}
	for _, name := range []string{"caller", "hostile", "honest", "other"} {
		agents[name] = createAgent(ctx, namespace, name)
	}
	for _, agent := range agents {
		Eventually(publishedTokenKeys(agent)).WithContext(ctx).WithTimeout(time.Minute).Should(ContainSubstring(`"kid"`))
	}
	account := &corev1.ServiceAccount{}
	Eventually(func(ctx context.Context) error {
		return cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "caller"}, account)
	}).WithContext(ctx).Should(Succeed())
	own := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	Expect(cluster.SubResource("token").Create(ctx, account, own)).To(Succeed())
	tokenFile := filepath.Join(GinkgoT().TempDir(), "token")
	Expect(os.WriteFile(tokenFile, []byte(own.Status.Token), 0o600)).To(Succeed())

	n := newNetwork()
	callerAddress, gateway := runSidecar(ctx, n, agents["caller"], tokenFile)
	honest, _ := runSidecar(ctx, n, agents["honest"], tokenFile)
	other, _ := runSidecar(ctx, n, agents["other"], tokenFile)
	hostile, _ := runSidecar(ctx, n, agents["hostile"], tokenFile)
	received := make(chan string, 1)
	n.add("hostile", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received <- strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))

	By("calling an honest agent and the hostile one through the caller's gateway")
	const json = "application/json"
	call := func(name string) func(context.Context) string {
		return func(ctx context.Context) string {
			_, body := send(ctx, http.MethodPost, gateway+"/agents/"+namespace+"/"+name+"/", json, "", hello)
			return body
		}
	}
	Eventually(call("honest")).WithContext(ctx).WithTimeout(time.Minute).Should(ContainSubstring("answer of honest"))
	Eventually(call("hostile")).WithContext(ctx).Should(ContainSubstring(`"result":{}`))
	token := <-received
	Expect(token).NotTo(Equal(own.Status.Token), "the hostile agent has the ServiceAccount token")
	status, body := send(ctx, http.MethodPost, hostile+"/", json, token, hello)
	Expect(status).To(Equal(http.StatusOK), body)
	Expect(body).To(ContainSubstring("answer of hostile"), "the token is not valid at its own agent, so the test shows nothing")

	By("replaying what it received")
	registry := "http://" + registryAddress
	exchange := url.Values{
		"grant_type":    {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		"audience": {"honest." + namespace + "." + a2av1alpha1.Audience},
	}.Encode()
	attempts, accepted := 0, []string{}
	replay := func(what, method, address, contentType, token, body string) {
		GinkgoHelper()
		attempts++
		if status, text := send(ctx, method, address, contentType, token, body); status < 400 || strings.Contains(text, `"access_token"`) {
			accepted = append(accepted, what)
		}
	}
	for _, address := range []string{callerAddress, honest, other} {
		replay("agent at "+address, http.MethodPost, address+"/", json, token, hello)
		replay("list of the agent at "+address, http.MethodGet, address+"/tasks", json, token, "")
	}
	replay("registry", http.MethodGet, registry+"/v1/agents", json, token, "")
	replay("card of the registry", http.MethodGet, registry+"/v1/agents/"+namespace+"/honest/card", json, token, "")
	replay("exchange", http.MethodPost, registry+sidecarconfig.TokenPath, "application/x-www-form-urlencoded", "", exchange)
	replay("health report", http.MethodPut, registry+sidecarconfig.HealthPath, json, token, `{"dependencies":[]}`)
	stranger, err := client.New(&rest.Config{
		Host: environment.Config.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: environment.Config.CAData},
	}, client.Options{Scheme: cluster.Scheme(), Mapper: cluster.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	attempts++
	if err := stranger.Create(ctx, &authenticationv1.SelfSubjectReview{}); err == nil {
		accepted = append(accepted, "API server")
	}
	for _, audiences := range [][]string{nil, {a2av1alpha1.Audience}, {"hostile." + namespace + "." + a2av1alpha1.Audience}} {
		attempts++
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
		Expect(cluster.Create(ctx, review)).To(Succeed())
		if review.Status.Authenticated {
			accepted = append(accepted, "TokenReview")
		}
	}
	GinkgoWriter.Printf("T-REPLAY: %d attempts\n", attempts)
	Expect(attempts).To(Equal(14))
	Expect(accepted).To(BeEmpty())

	By("showing agents the token for the registry")
	status, body = send(ctx, http.MethodPost, honest+"/", json, own.Status.Token, hello)
	Expect(status).To(Equal(http.StatusUnauthorized), body)

	By("calling with a token that a person created for one agent")
	person := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{names.Audience("honest", namespace)}}}
	Expect(cluster.SubResource("token").Create(ctx, account, person)).To(Succeed())
	status, body = send(ctx, http.MethodPost, honest+"/", json, person.Status.Token, hello)
	Expect(status).To(Equal(http.StatusOK), body)
})
