// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// tokenLifetime is the shortest lifetime of tokens that the API server issues.
	tokenLifetime = 10 * time.Minute
	// maxAnswer bounds an answer of the registry or of a probe, in bytes.
	maxAnswer = 1 << 20
	// maxProbed bounds the pods whose sidecars are probed.
	maxProbed = 5
)

// CallOptions configure the calls to an agent.
type CallOptions struct {
	// ServiceAccount is the name of the ServiceAccount that calls, in the agent's namespace.
	ServiceAccount string
	// Credential replaces the token of the ServiceAccount unless it is zero.
	Credential a2aclient.Credential
	Transport  a2aclient.TransportOptions
	// From names the pod [NAMESPACE/]POD whose NetworkPolicies are checked, "" for none.
	From string
}

// gather calls an agent, its registry, and the readiness probes of its pods that are not ready.
func (o *CallOptions) gather(ctx context.Context, cluster *clusteraccess.Cluster, f *AgentFacts) {
	calls := &CallFacts{}
	f.Calls = calls
	f.Readiness = map[string]string{}
	var all sync.WaitGroup
	if f.Agent.Spec.Remote == nil {
		all.Go(func() { o.callAgent(ctx, cluster, f.Agent, calls) })
		all.Go(func() { probe(ctx, cluster, f) })
		all.Go(func() { calls.Tokens, calls.RegistryStates = readMetrics(ctx, cluster, f) })
	}
	all.Go(func() { calls.Registry, calls.RegistryErr = o.askRegistry(ctx, cluster, f) })
	all.Wait()
}

// bounded returns a context that ends after readTimeout, for one call.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readTimeout, errSlowRead)
}

// callAgent reads the card, and lists the tasks of the caller if there is a credential or the agent admits anonymous
// callers.
func (o *CallOptions) callAgent(ctx context.Context, cluster *clusteraccess.Cluster, agent *a2av1alpha1.Agent, calls *CallFacts) {
	forward := cluster.Forward(agent.Namespace, names.Service(agent.Name), a2av1alpha1.PortAgent)
	defer forward.Close()
	httpClient, err := o.client(forward)
	if err != nil {
		calls.CardErr = failure.Of(err)
		return
	}
	httpClient.Transport = calls.clock(httpClient.Transport)
	address := cmp.Or(agent.Status.URL, "http://"+names.ServiceHost(agent.Name, agent.Namespace)+"/")
	reading, cancel := bounded(ctx)
	defer cancel()
	served, err := a2aclient.ReadCard(reading, httpClient, address)
	if err != nil {
		calls.CardErr = failure.Of(err)
	} else {
		calls.Card = served.Card
	}
	credential, ok := o.credential(ctx, cluster, agent, calls)
	if !ok || served == nil {
		return
	}
	origin, err := url.Parse(address)
	if err != nil {
		return // impossible, because ReadCard has read the card at this address
	}
	caller, err := a2aclient.New(served, a2aclient.Options{HTTP: httpClient, Choice: a2aclient.Choice{Origins: []string{client.Origin(origin)}}, Credential: credential})
	if err == nil {
		listing, stop := bounded(ctx)
		defer stop()
		_, err = caller.List(listing, &a2a.ListRequest{PageSize: 1, HistoryLength: new(0)})
	}
	calls.Called = err == nil || !client.IsUnsupported(err)
	if err != nil && calls.Called {
		calls.CallErr = failure.Of(err)
	}
}

// client returns a client for forwarded connections. The API server authenticates the pod, so the client verifies
// the certificate of the pod only if the user names a CA file.
func (o *CallOptions) client(forward *clusteraccess.Forward) (*http.Client, error) {
	transport := o.Transport
	transport.DialContext = forward.DialContext
	transport.Insecure = transport.CAFile == ""
	return a2aclient.NewHTTPClient(transport, nil)
}

// clock returns a transport that records the clock of the sidecar's node from the responses of next.
func (c *CallFacts) clock(next http.RoundTripper) http.RoundTripper {
	clock := &serverClock{}
	timed := clock.transport(next)
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := timed.RoundTrip(r)
		local, server := clock.times()
		if !server.IsZero() {
			c.SidecarTime = server
			c.SidecarSkew = server.Sub(local)
		}
		return resp, err
	})
}

// credential returns the credential for an agent, which is zero if the agent admits anonymous callers. It returns
// false if it finds none, and records the reason in calls.
func (o *CallOptions) credential(ctx context.Context, cluster *clusteraccess.Cluster, agent *a2av1alpha1.Agent, calls *CallFacts) (a2aclient.Credential, bool) {
	if !o.Credential.IsZero() || o.Transport.CertificateFile != "" {
		calls.Token = parseToken(o.Credential.Bearer)
		return o.Credential, true
	}
	kubernetes := len(agent.Spec.Access.Authentication) == 0
	for i := range agent.Spec.Access.Authentication {
		switch agent.Spec.Access.Authentication[i].Type {
		case a2av1alpha1.AuthenticationAnonymous:
			return a2aclient.Credential{}, true
		case a2av1alpha1.AuthenticationKubernetes:
			kubernetes = true
		default: // only the user can supply a credential of the other types
		}
	}
	if !kubernetes {
		calls.TokenErr = failure.New(failure.CredentialsMissing, "the agent accepts no token of a ServiceAccount").
			WithHint("Set A2ACLI_BEARER to a token of the issuer, A2ACLI_API_KEY to a key, or --cert-file and --key-file.")
		return a2aclient.Credential{}, false
	}
	token, err := cluster.Token(ctx, agent.Namespace, o.ServiceAccount, names.Audience(agent.Name, agent.Namespace), tokenLifetime)
	if err != nil {
		calls.TokenErr = failure.Of(err)
		return a2aclient.Credential{}, false
	}
	calls.Token = parseToken(token.Value)
	return a2aclient.Credential{Bearer: token.Value}, true
}

// parseToken returns the claims of a JWT without verifying its signature. It returns nil if the token is no JWT.
func parseToken(text string) *Token {
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	})
	if err != nil {
		return nil
	}
	var claims jwt.Claims
	if parsed.UnsafeClaimsWithoutVerification(&claims) != nil {
		return nil
	}
	return &Token{
		Audiences: claims.Audience, Issuer: claims.Issuer, NotBefore: claims.NotBefore.Time(), Expires: claims.Expiry.Time(),
	}
}

// probe asks the sidecar of each pod that is not ready why the pod is not ready.
func probe(ctx context.Context, cluster *clusteraccess.Cluster, f *AgentFacts) {
	unready := func(pod *corev1.Pod) bool { return !isReady(pod) && pod.DeletionTimestamp == nil && sidecarRuns(pod) }
	askSidecars(ctx, cluster, f, unready, sidecarconfig.ReadyzPath, func(pod string, status int, text []byte) {
		if status != http.StatusOK {
			f.Readiness[pod] = strings.TrimSpace(string(text))
		}
	})
}

func sidecarRuns(pod *corev1.Pod) bool {
	for i := range pod.Status.InitContainerStatuses {
		if s := &pod.Status.InitContainerStatuses[i]; s.Name == a2av1alpha1.ContainerSidecar {
			return s.State.Running != nil
		}
	}
	return false
}

// readMetrics reads the metrics of the sidecars of ready pods: the token metrics for an Agent with token budgets, and the
// state of the registry as each sidecar sees it.
func readMetrics(ctx context.Context, cluster *clusteraccess.Cluster, f *AgentFacts) (tokens map[string]TokenMetrics, registry map[string]RegistryState) {
	budgets := f.Agent.Spec.Limits != nil && f.Agent.Spec.Limits.Tokens != nil
	if budgets {
		tokens = map[string]TokenMetrics{}
	}
	registry = map[string]RegistryState{}
	askSidecars(ctx, cluster, f, isReady, sidecarconfig.MetricsPath, func(pod string, status int, text []byte) {
		if status != http.StatusOK {
			return
		}
		if budgets {
			tokens[pod] = parseTokenMetrics(text)
		}
		if state, found := parseRegistryState(text); found {
			registry[pod] = state
		}
	})
	return tokens, registry
}

// askSidecars sends a request to the sidecars of the pods that asked selects, at most maxProbed. It calls take for each
// response, one at a time. It ignores sidecars that do not answer.
func askSidecars(ctx context.Context, cluster *clusteraccess.Cluster, f *AgentFacts, asked func(*corev1.Pod) bool, path string, take func(pod string, status int, text []byte)) {
	var mu sync.Mutex
	var all sync.WaitGroup
	count := 0
	for i := range f.Pods {
		pod := &f.Pods[i]
		if count == maxProbed || !asked(pod) {
			continue
		}
		count++
		all.Go(func() {
			status, text, err := askSidecar(ctx, cluster, pod, path)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			take(pod.Name, status, text)
		})
	}
	all.Wait()
}

// askSidecar sends a request to the health port of a pod.
func askSidecar(ctx context.Context, cluster *clusteraccess.Cluster, pod *corev1.Pod, path string) (int, []byte, error) {
	forward := cluster.ForwardPod(pod.Namespace, pod.Name, sidecarconfig.HealthPort)
	defer forward.Close()
	client, err := a2aclient.NewHTTPClient(a2aclient.TransportOptions{DialContext: forward.DialContext}, nil)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return get(ctx, client, "http://"+pod.Name+path, "")
}

// get returns the status and the body of a response.
func get(ctx context.Context, client *http.Client, address, bearer string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, text, err
}

// askRegistry asks the registry in the sidecar configuration whether it lists the agent. It returns nil if the
// configuration names no registry.
func (o *CallOptions) askRegistry(ctx context.Context, cluster *clusteraccess.Cluster, f *AgentFacts) (*Listing, *failure.Error) {
	namespace, service, address := registryOf(f)
	if namespace == "" {
		return nil, nil
	}
	token, err := cluster.Token(ctx, f.Agent.Namespace, o.ServiceAccount, a2av1alpha1.Audience, tokenLifetime)
	if err != nil {
		return nil, failure.Of(err)
	}
	forward := cluster.Forward(namespace, service, address.Scheme)
	defer forward.Close()
	client, err := (&CallOptions{}).client(forward)
	if err != nil {
		return nil, failure.Of(err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	status, text, err := get(ctx, client, address.JoinPath("v1", "agents", f.Agent.Namespace, f.Agent.Name).String(), token.Value)
	switch {
	case ctx.Err() != nil:
		return nil, failure.Of(context.Cause(ctx))
	case err != nil && failure.Of(err).Code != failure.Internal: // port forwarding failed
		return nil, failure.Of(err)
	case err != nil:
		return nil, failure.Wrap(failure.Unreachable, err, "the registry cannot be reached")
	case status == http.StatusNotFound:
		return &Listing{}, nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, failure.New(failure.Internal, "the registry answers with status %d to a token for audience %s", status, a2av1alpha1.Audience).
			WithHint("Read the log of the manager. It verifies tokens by a TokenReview of the API server.")
	case status != http.StatusOK:
		return nil, failure.New(failure.Unreachable, "the registry answers with status %d", status).WithHint("Read the log of the manager.")
	}
	var item struct {
		CardDigest string `json:"cardDigest"`
	}
	if err := json.Unmarshal(text, &item); err != nil {
		return nil, failure.Wrap(failure.Internal, err, "read the answer of the registry")
	}
	return &Listing{Listed: true, CardDigest: item.CardDigest}, nil
}
