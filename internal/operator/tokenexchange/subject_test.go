// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenkeys"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	clusterIssuer = "https://kubernetes.default.svc"
	people        = "https://id.example.com"
	otherPeople   = "https://other.example.com"
	audienceA     = "a.team.a2a-operator.dev"
	audienceB     = "b.team.a2a-operator.dev"
	accountA      = "system:serviceaccount:team:a"
)

// issuerKey signs the tokens of one issuer.
type issuerKey struct{ key *ecdsa.PrivateKey }

func newIssuerKey(t *testing.T) issuerKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuerKey{key}
}

func (k issuerKey) Sign(claims any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.key, KeyID: "k"}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

func (k issuerKey) set() []byte {
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.key.Public(), KeyID: "k", Algorithm: "ES256"}}})
	if err != nil {
		panic(err)
	}
	return text
}

// world has a cluster, a registry and two issuers of people. The agents a, c and shared call the agent b of the namespace team. Their
// ServiceAccount tokens for the registry are "of-<agent>".
type world struct {
	t                       *testing.T
	cluster, people, forger issuerKey
	registry                *tokenkeys.Set
	agents                  map[string]*a2av1alpha1.Agent
	exchange                *Exchange
	logged                  []string
	fetches                 map[string]int
	mu                      sync.Mutex
}

func newWorld(t *testing.T) *world {
	t.Helper()
	keys, err := tokenkeys.Generate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, cluster: newIssuerKey(t), people: newIssuerKey(t), forger: newIssuerKey(t), registry: keys, agents: map[string]*a2av1alpha1.Agent{}, fetches: map[string]int{}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		w.agents[name] = &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		w.agents[name].Spec.Workload = &a2av1alpha1.AgentWorkload{}
		w.agents[name].Spec.Access.Authentication = []a2av1alpha1.Authentication{
			{Type: a2av1alpha1.AuthenticationKubernetes},
			{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: people, Audiences: []string{"audience-of-" + name}, Claims: a2av1alpha1.JWTClaims{Principal: "nickname"}}},
		}
	}
	issuers := NewIssuers(IssuersOptions{Transport: w, Log: funcr.New(w.log, funcr.Options{}), Clock: clock.RealClock{}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_ = issuers.Start(ctx)
		close(done)
	}()
	synctest.Wait()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	w.exchange = New(Options{
		Signer: func() Signer { return w.registry },
		Authenticate: func(r *http.Request) (*Subject, error) {
			name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer of-")
			if !ok || w.agents[name] == nil {
				return nil, InvalidToken("the API server does not accept the token")
			}
			return &Subject{
				Username: "system:serviceaccount:team:" + name, UID: "uid-" + name,
				Lists: func(context.Context, string, string) (bool, error) { return true, nil },
			}, nil
		},
		Subjects: NewVerifier(VerifierOptions{
			Agent: func(_ context.Context, name types.NamespacedName) (*a2av1alpha1.Agent, error) {
				if name.Namespace != "team" {
					return nil, nil
				}
				return w.agents[name.Name], nil
			},
			Issuers: func() []auth.KubernetesIssuer {
				return []auth.KubernetesIssuer{
					{Issuer: clusterIssuer, Keys: w.cluster.set()},
					{Issuer: sidecarconfig.TokenIssuer, Keys: w.registry.KeySet(), Delegates: true},
				}
			},
			People: issuers, Clock: clock.RealClock{},
		}),
		Log: logr.Discard(), Clock: clock.RealClock{},
	})
	return w
}

func (w *world) log(_, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logged = append(w.logged, line)
}

// refusals returns how many lines of the log say that there are too many issuers.
func (w *world) refusals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(strings.Join(w.logged, "\n"), "too many issuers")
}

// fetched returns how often an address was fetched.
func (w *world) fetched(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fetches[address]
}

// RoundTrip serves the discovery document and the keys of the issuer people.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.fetches[r.URL.String()]++
	w.mu.Unlock()
	response := func(status int, body []byte) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
	}
	switch r.URL.String() {
	case people + "/.well-known/openid-configuration":
		return response(http.StatusOK, fmt.Appendf(nil, `{"issuer":%q,"jwks_uri":%q}`, people, people+"/keys"))
	case people + "/keys":
		return response(http.StatusOK, w.people.set())
	case "https://forger.example.com/keys":
		return response(http.StatusOK, w.forger.set())
	default:
		return response(http.StatusNotFound, nil)
	}
}

func (w *world) sign(signer Signer, claims map[string]any) string {
	w.t.Helper()
	token, err := signer.Sign(claims)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// person returns the claims of a token of the person u1 for the agent a.
func person(changes ...any) map[string]any {
	return changed(map[string]any{
		"iss": people, "sub": "u1", "aud": "audience-of-a", "nickname": "the-admin", "groups": []string{"finance"}, "level": 7,
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(), "jti": "1",
	}, changes)
}

// workload returns the claims of a token of a ServiceAccount of the cluster for the agent a.
func workload(changes ...any) map[string]any {
	return changed(map[string]any{
		"iss": clusterIssuer, "sub": "system:serviceaccount:apps:web", "aud": []string{audienceA}, "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "apps", "serviceaccount": map[string]any{"name": "web", "uid": "uid-web"}},
	}, changes)
}

func changed(claims map[string]any, changes []any) map[string]any {
	for i := 0; i < len(changes); i += 2 {
		claims[changes[i].(string)] = changes[i+1]
	}
	return claims
}

// ask exchanges the token of a subject as the agent client. The values are names and values of further parameters in turn.
func (w *world) ask(client, subject, to string, changes ...string) (issued map[string]any, token string, problem *RequestError) {
	w.t.Helper()
	values := form(append([]string{
		"subject_token", subject, "actor_token", "of-" + client, "actor_token_type", typeJWT, "client_id", client + ".team.a2a-operator.dev", "audience", to,
	}, changes...)...)
	recorder := (&testRegistry{exchange: w.exchange}).post(strings.NewReader(values.Encode()))
	if recorder.Code != http.StatusOK {
		problem = &RequestError{}
		if err := json.Unmarshal(recorder.Body.Bytes(), problem); err != nil {
			w.t.Fatal(err)
		}
		return nil, "", problem
	}
	var answer response
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		w.t.Fatal(err)
	}
	parsed, err := jwt.ParseSigned(answer.AccessToken, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := parsed.UnsafeClaimsWithoutVerification(&issued); err != nil {
		w.t.Fatal(err)
	}
	if left := int64(issued["exp"].(float64)) - time.Now().Unix(); left != int64(answer.ExpiresIn) {
		w.t.Errorf("expires_in is %d, and the token is valid for %d s", answer.ExpiresIn, left)
	}
	return issued, answer.AccessToken, nil
}

func TestTokenNamesTheSubjectAndTheActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		now := time.Now()
		got, token, problem := w.ask("a", w.sign(w.people, person()), audienceB)
		if problem != nil {
			t.Fatal(problem)
		}
		delete(got, "jti")
		want := map[string]any{
			"iss": "a2a-operator.dev/registry", "sub": "jwt:" + people + "#u1", "aud": []any{audienceB}, "iat": float64(now.Unix()), "exp": float64(now.Unix() + 300),
			"kubernetes.io": map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "a", "uid": "uid-a"}},
			"act":           map[string]any{"sub": accountA},
			"a2a-operator.dev/subject": map[string]any{
				"owner": "jwt:" + people + "#u1", "issuer": people,
				"claims": map[string]any{"iss": people, "sub": "u1", "aud": []any{"audience-of-a"}, "nickname": "the-admin", "groups": []any{"finance"}, "level": float64(7)},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		second, _, problem := w.ask("b", token, "c.team.a2a-operator.dev")
		if problem != nil {
			t.Fatal(problem)
		}
		want["act"] = map[string]any{"sub": "system:serviceaccount:team:b", "act": map[string]any{"sub": accountA}}
		want["aud"] = []any{"c.team.a2a-operator.dev"}
		want["a2a-operator.dev/subject"].(map[string]any)["owner"] = accountA + "#uid-a for jwt:" + people + "#u1"
		want["kubernetes.io"] = map[string]any{"namespace": "team", "serviceaccount": map[string]any{"name": "b", "uid": "uid-b"}}
		delete(second, "jti")
		if diff := cmp.Diff(want, second); diff != "" {
			t.Errorf("claims of the second hop (-want +got):\n%s", diff)
		}
		third, _, problem := w.ask("a", w.sign(w.cluster, workload()), audienceB)
		if problem != nil {
			t.Fatal(problem)
		}
		wantSubject := map[string]any{"owner": "system:serviceaccount:apps:web#uid-web"}
		if third["sub"] != "system:serviceaccount:apps:web" || !cmp.Equal(third["a2a-operator.dev/subject"], any(wantSubject)) || third["exp"] != float64(now.Unix()+600) {
			t.Errorf("claims for a ServiceAccount: %v", third)
		}
	})
}

// TestHostileExchangesAreRefused is about subjects who have not called the agent that asks, and about chains that must not go on.
func TestHostileExchangesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agents["c"].Spec.Access.Authentication[1].JWT.JWKSURL = "https://forger.example.com/keys"
		w.agents["d"].Spec.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationAnonymous}}
		w.agents["e"].Spec.Access.Authentication[1].JWT.Issuer = otherPeople
		genuine := w.sign(w.people, person())
		chain := func(actors ...string) string {
			c := workload("iss", sidecarconfig.TokenIssuer, "sub", "jwt:"+people+"#u1", auth.SubjectClaimName, map[string]any{"owner": "jwt:" + people + "#u1"})
			c["act"] = auth.ActorsClaim(actors)
			c["kubernetes.io"] = map[string]any{"namespace": "x", "serviceaccount": map[string]any{"name": "1", "uid": "u"}}
			return w.sign(w.registry, c)
		}
		other := func(n int) string { return fmt.Sprintf("system:serviceaccount:x:%d", n) }
		tests := map[string]struct {
			client, subject string
			changes         []string
			reason          string
		}{
			"no token of the actor":                 {"a", genuine, []string{"actor_token", ""}, ""},
			"the token of the subject as the actor": {"a", genuine, []string{"actor_token", genuine}, ""},
			"the actor is another agent":            {"a", genuine, []string{"actor_token", "of-b"}, a2a.ReasonSubjectUnproven},
			"the token is for another agent":        {"b", genuine, nil, a2a.ReasonSubjectUnproven},
			"a ServiceAccount token for another":    {"b", w.sign(w.cluster, workload()), nil, a2a.ReasonSubjectUnproven},
			"a ServiceAccount token for the API":    {"a", w.sign(w.cluster, workload("aud", []string{clusterIssuer})), nil, a2a.ReasonSubjectUnproven},
			"the token of a hop for another":        {"b", chain(other(1)), nil, a2a.ReasonSubjectUnproven},
			"an agent that does not exist":          {"a", genuine, []string{"client_id", "nobody.team.a2a-operator.dev"}, a2a.ReasonSubjectUnproven},
			"an agent of another namespace":         {"a", genuine, []string{"client_id", "a.other.a2a-operator.dev"}, a2a.ReasonSubjectUnproven},
			"expired":                               {"a", w.sign(w.people, person("exp", time.Now().Unix()-1)), nil, a2a.ReasonSubjectUnproven},
			"a ServiceAccount token that expired":   {"a", w.sign(w.cluster, workload("exp", time.Now().Unix()-30)), nil, a2a.ReasonSubjectUnproven},
			"not valid yet":                         {"a", w.sign(w.people, person("nbf", time.Now().Add(time.Hour).Unix())), nil, a2a.ReasonSubjectUnproven},
			"no expiry":                             {"a", w.sign(w.people, person("exp", nil)), nil, a2a.ReasonSubjectUnproven},
			"no subject":                            {"a", w.sign(w.people, person("sub", "")), nil, a2a.ReasonSubjectUnproven},
			"claims that are too large":             {"a", w.sign(w.people, person("groups", strings.Repeat("x", 5000))), nil, a2a.ReasonSubjectUnproven},
			"keys of another issuer":                {"a", w.sign(w.forger, person()), nil, a2a.ReasonSubjectUnproven},
			"keys of people for the cluster":        {"a", w.sign(w.people, workload()), nil, a2a.ReasonSubjectUnproven},
			"keys of the cluster for the registry":  {"a", w.sign(w.cluster, workload("iss", sidecarconfig.TokenIssuer)), nil, a2a.ReasonSubjectUnproven},
			"keys that the owner of the agent made": {"c", w.sign(w.forger, person("aud", "audience-of-c")), nil, a2a.ReasonSubjectUnproven},
			"an agent that takes no token":          {"d", genuine, nil, a2a.ReasonSubjectUnproven},
			"an issuer that does not answer":        {"e", w.sign(w.people, person("iss", otherPeople, "aud", "audience-of-e")), nil, a2a.ReasonSubjectUnproven},
			"a token of the page":                   {"a", w.sign(w.registry, workload("iss", sidecarconfig.PageIssuer)), nil, a2a.ReasonSubjectUnproven},
			"no token at all":                       {"a", "x", nil, a2a.ReasonSubjectUnproven},
			"a chain that begins with another":      {"a", chain(other(2), other(1)), nil, a2a.ReasonSubjectUnproven},
			"a loop":                                {"a", chain(other(1), accountA), nil, a2a.ReasonChain},
			"six agents":                            {"a", chain(other(1), other(2), other(3), other(4), other(5)), nil, a2a.ReasonChain},
			"seven agents":                          {"a", chain(other(1), other(2), other(3), other(4), other(5), other(6)), nil, a2a.ReasonSubjectUnproven},
		}
		for name, test := range tests {
			issued, _, problem := w.ask(test.client, test.subject, audienceB, test.changes...)
			if problem == nil {
				t.Errorf("%s: issued %v", name, issued)
			} else if problem.Code != codeInvalidRequest || problem.Reason != test.reason {
				t.Errorf("%s: %+v, want the reason %q", name, problem, test.reason)
			}
			if test.changes != nil || test.reason != a2a.ReasonSubjectUnproven || name == "claims that are too large" {
				continue // not about the token of the subject, or a token that only the registry cannot repeat
			}
			client := test.client + ".team.a2a-operator.dev"
			account := "system:serviceaccount:team:" + test.client
			if end, err := w.exchange.options.Subjects.Expiry(t.Context(), client, account, test.subject); err == nil || !end.IsZero() {
				t.Errorf("%s: Expiry() = %v, %v", name, end, err)
			}
		}
		if n := w.fetched("https://forger.example.com/keys"); n != 0 {
			t.Errorf("%d fetches of the keys that the owner of an agent names", n)
		}
		if _, _, problem := w.ask("a", chain(other(1), other(2), other(3), other(4)), audienceB); problem != nil {
			t.Errorf("five agents: %v", problem)
		}
	})
}

// TestTokenForAnMCPServer is about tokens for a server that learns of the callers of an agent: it gets proven subjects only, and the spec of
// the agent must name it.
func TestTokenForAnMCPServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const server = "https://tools.example.com/mcp"
		w := newWorld(t)
		w.agents["a"].Spec.Model = &a2av1alpha1.AgentModel{Tools: []a2av1alpha1.ModelTool{
			{Agent: &a2av1alpha1.AgentTool{Name: "b"}},
			{MCP: &a2av1alpha1.MCPTool{URL: "https://other.example.com/mcp"}},
			{MCP: &a2av1alpha1.MCPTool{URL: server, ForwardCaller: true}},
		}}
		got, _, problem := w.ask("a", w.sign(w.people, person()), "", "resource", server)
		if problem != nil {
			t.Fatal(problem)
		}
		if got["sub"] != "jwt:"+people+"#u1" || !cmp.Equal(got["aud"], any([]any{server})) || !cmp.Equal(got["act"], any(map[string]any{"sub": accountA})) {
			t.Errorf("claims for a person: %v", got)
		}
		own := []string{"subject_token", "of-a", "actor_token", "", "actor_token_type", "", "resource", server}
		got, _, problem = w.ask("a", "", "", own...)
		if problem != nil {
			t.Fatal(problem)
		}
		if got["sub"] != accountA || !cmp.Equal(got["aud"], any([]any{server})) || got["act"] != nil || got[auth.SubjectClaimName] != nil {
			t.Errorf("claims for the agent itself: %v", got)
		}
		said := base64.RawURLEncoding.EncodeToString([]byte(`{"principal":"jwt:https://id.example.com#u1","owner":"x"}`))
		asserted := workload("iss", sidecarconfig.TokenIssuer, "sub", "u1", "act", auth.ActorsClaim([]string{"system:serviceaccount:x:1"}),
			auth.SubjectClaimName, map[string]any{"owner": "u1", "assertedBy": "system:serviceaccount:x:1"},
			"kubernetes.io", map[string]any{"namespace": "x", "serviceaccount": map[string]any{"name": "1", "uid": "u"}})
		for name, test := range map[string]struct {
			client, subject string
			changes         []string
			code, reason    string
		}{
			"a server that the agent does not name": {"a", w.sign(w.people, person()), []string{"resource", "https://tools.example.com"}, codeInvalidTarget, ""},
			"a server that learns of no caller":     {"a", w.sign(w.people, person()), []string{"resource", "https://other.example.com/mcp"}, codeInvalidTarget, ""},
			"another agent":                         {"b", w.sign(w.people, person("aud", "audience-of-b")), []string{"resource", server}, codeInvalidTarget, ""},
			"the name of another agent":             {"b", "of-b", append(own[2:6:6], "client_id", audienceA, "resource", server), codeInvalidTarget, ""},
			"no name":                               {"a", "of-a", append(own[2:6:6], "client_id", "", "resource", server), codeInvalidRequest, ""},
			"a server and an agent":                 {"a", w.sign(w.people, person()), []string{"resource", server, "audience", audienceB}, codeInvalidTarget, ""},
			"an asserted subject":                   {"a", said, []string{"subject_token_type", a2a.TypeAssertedSubject, "resource", server}, codeInvalidRequest, a2a.ReasonSubjectUnproven},
			"a subject that an agent asserted":      {"a", w.sign(w.registry, asserted), []string{"resource", server}, codeInvalidRequest, a2a.ReasonSubjectUnproven},
			"a forged person":                       {"a", w.sign(w.forger, person()), []string{"resource", server}, codeInvalidRequest, a2a.ReasonSubjectUnproven},
		} {
			issued, _, problem := w.ask(test.client, test.subject, "", test.changes...)
			if problem == nil {
				t.Errorf("%s: issued %v", name, issued)
			} else if problem.Code != test.code || problem.Reason != test.reason {
				t.Errorf("%s: %+v, want %s and the reason %q", name, problem, test.code, test.reason)
			}
		}
	})
}

func TestAssertedSubjectNamesTheOneWhoSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		assert := func(subject string) (map[string]any, *RequestError) {
			issued, _, problem := w.ask("a", base64.RawURLEncoding.EncodeToString([]byte(subject)), audienceB, "subject_token_type", a2a.TypeAssertedSubject)
			return issued, problem
		}
		got, problem := assert(`{"principal":"apikey:shop","owner":"apikey:shop"}`)
		if problem != nil {
			t.Fatal(problem)
		}
		want := map[string]any{"owner": "apikey:shop", "assertedBy": accountA}
		if got["sub"] != "apikey:shop" || !cmp.Equal(got["a2a-operator.dev/subject"], any(want)) || !cmp.Equal(got["act"], any(map[string]any{"sub": accountA})) {
			t.Errorf("claims: %v", got)
		}
		for name, subject := range map[string]string{
			"no principal": `{"owner":"x"}`, "no owner": `{"principal":"x"}`, "a line": `{"principal":"x\ny","owner":"x"}`, "a tenant": `{"principal":"x","owner":"x\u001fy"}`,
			"too long": `{"principal":"` + strings.Repeat("x", 1300) + `","owner":"x"}`, "no JSON": `x`, "an actor without a name": `{"principal":"x","owner":"x","actors":[""]}`,
			"a loop": `{"principal":"x","owner":"x","actors":["` + accountA + `"]}`, "six agents": `{"principal":"x","owner":"x","actors":["1","2","3","4","5"]}`,
		} {
			if issued, problem := assert(subject); problem == nil || problem.Code != codeInvalidRequest {
				t.Errorf("%s: %v, %v", name, issued, problem)
			}
		}
	})
}

// TestAssertedUserIsNotAProvenOne calls c through b: for the person u1 who has called b, and for one whom a only asserts.
func TestAssertedUserIsNotAProvenOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		next := "c.team.a2a-operator.dev"
		genuine, _, problem := w.ask("b", w.sign(w.people, person("aud", "audience-of-b")), next)
		if problem != nil {
			t.Fatal(problem)
		}
		owner := genuine["a2a-operator.dev/subject"].(map[string]any)["owner"]
		text := fmt.Sprintf(`{"principal":%q,"owner":%q}`, owner, owner)
		_, token, problem := w.ask("a", base64.RawURLEncoding.EncodeToString([]byte(text)), audienceB, "subject_token_type", a2a.TypeAssertedSubject)
		if problem != nil {
			t.Fatal(problem)
		}
		copied, _, problem := w.ask("b", token, next)
		if problem != nil {
			t.Fatal(problem)
		}
		if got := copied["a2a-operator.dev/subject"].(map[string]any)["owner"]; got != fmt.Sprintf("%s#uid-a for %s", accountA, owner) {
			t.Errorf("the owner of an asserted user is %v, and that of the proven one %v", got, owner)
		}
	})
}

// TestIssuersOfOtherTokensAreNotFetched checks that a token makes the manager read the keys of no other issuer than its own.
func TestIssuersOfOtherTokensAreNotFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		access := &w.agents["a"].Spec.Access
		other := *access.Authentication[1].JWT
		other.Issuer = otherPeople
		access.Authentication = append([]a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationJWT, JWT: &other}}, access.Authentication...)
		if _, _, problem := w.ask("a", w.sign(w.people, person()), audienceB); problem != nil {
			t.Fatal(problem)
		}
		if n := w.fetched(otherPeople + "/.well-known/openid-configuration"); n != 0 {
			t.Errorf("%d fetches from an issuer that the token does not name", n)
		}
	})
}

// TestIssuersOfANamespaceAreBounded checks that the owners of one namespace cannot make the manager fetch from many addresses, and that idle
// issuers are forgotten.
func TestIssuersOfANamespaceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		name := func(n int) string { return fmt.Sprintf("https://%d.example.com", n) }
		try := func(n int) {
			w.agents["a"].Spec.Access.Authentication[1].JWT.Issuer = name(n)
			if issued, _, problem := w.ask("a", w.sign(w.forger, person("iss", name(n))), audienceB); problem == nil {
				t.Errorf("issued %v", issued)
			}
		}
		for n := range 2 * maxNamespaceIssuers {
			try(n)
		}
		w.mu.Lock()
		n := len(w.fetches)
		w.mu.Unlock()
		if n != maxNamespaceIssuers {
			t.Errorf("%d addresses were fetched, want %d", n, maxNamespaceIssuers)
		}
		if n := w.refusals(); n != 1 {
			t.Errorf("%d lines of the log name the bound, want 1", n)
		}
		time.Sleep(issuerIdle + time.Minute)
		try(100)
		if w.fetched(name(100)+"/.well-known/openid-configuration") == 0 {
			t.Error("an issuer is not fetched, although all others are idle")
		}
		before := w.fetched(name(0) + "/.well-known/openid-configuration")
		time.Sleep(issuerIdle / 2)
		if after := w.fetched(name(0) + "/.well-known/openid-configuration"); after != before {
			t.Errorf("%d fetches for an idle issuer", after-before)
		}
	})
}
