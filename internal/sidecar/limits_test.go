// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// slowRefill returns a rate with the given burst and the slowest refill. A caller that
// has used up its burst stays limited during the test.
func slowRefill(burst int) sidecarconfig.Rate { return sidecarconfig.Rate{PerSecond: 1, Burst: burst} }

func (p *pod) metric(line string) {
	p.t.Helper()
	p.eventually(line, func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, line)
	})
}

func TestRequestsOfACallerAreLimited(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Limits.Requests = sidecarconfig.Rate{PerSecond: 1, Burst: 3}
		c.Access.Namespaces = []string{"*"}
	})
	as := func(namespace string) []string {
		return []string{"Authorization", "Bearer " + p.token(namespace), "Content-Type", "application/json"}
	}
	for range 3 {
		if response, body := p.do("POST", p.agent(), hello, as("team")...); response.StatusCode != http.StatusOK {
			t.Fatalf("within the limit = %d %s", response.StatusCode, body)
		}
	}
	before := p.fixedTime
	refused := map[string]struct{ method, url, body, want string }{
		"JSON-RPC": {"POST", p.agent(), hello, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Too many requests of this caller"}}`},
		"REST":     {"GET", p.agent() + "tasks/x", "", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Too many requests of this caller","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}`},
	}
	for name, test := range refused {
		response, body := p.do(test.method, test.url, test.body, as("team")...)
		if response.StatusCode != http.StatusTooManyRequests || body != test.want {
			t.Errorf("%s = %d %s, want 429 %s", name, response.StatusCode, body, test.want)
		}
		h := response.Header
		reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
		if h.Get("Retry-After") != "1" || h.Get("X-RateLimit-Limit") != "3" || h.Get("X-RateLimit-Remaining") != "0" ||
			err != nil || time.Unix(reset, 0).Before(before) || time.Unix(reset, 0).After(before.Add(10*time.Second)) {
			t.Errorf("%s: headers %v", name, h)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+p.token("team"))
	_, err := v10.NewA2AServiceClient(p.dial()).SendMessage(ctx, hello10)
	if status.Code(err) != codes.ResourceExhausted || !hasRetryInfo(err) {
		t.Errorf("gRPC: %v, with %v", err, status.Convert(err).Details())
	}
	// Other callers are not limited.
	if response, body := p.do("POST", p.agent(), hello, as("other")...); response.StatusCode != http.StatusOK {
		t.Errorf("of another caller = %d %s", response.StatusCode, body)
	}
	p.metric(`a2a_limited_total{limit="requests"} 3`)
	p.metric(`a2a_limited_callers 2`)
}

func hasRetryInfo(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration() == time.Second
		}
	}
	return false
}

func TestRequestsOfAllCallersAreLimited(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Namespaces = []string{"*"}
		c.Limits.TotalRequests = slowRefill(8)
	})
	as := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
	other := []string{"Authorization", "Bearer " + p.token("other"), "Content-Type", "application/json"}
	for i := range 7 {
		// One caller uses at most three quarters of the limit.
		want := http.StatusOK
		if i == 6 {
			want = http.StatusTooManyRequests
		}
		if response, body := p.do("POST", p.agent(), hello, other...); response.StatusCode != want {
			t.Errorf("request %d of one caller = %d %s, want %d", i, response.StatusCode, body, want)
		}
	}
	for range 2 {
		if response, body := p.do("POST", p.agent(), hello, as...); response.StatusCode != http.StatusOK {
			t.Errorf("request of another caller = %d %s", response.StatusCode, body)
		}
	}
	// Requests without a credential are denied before they are charged to the limit.
	for range 5 {
		if response, _ := p.do("POST", p.agent(), hello); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("anonymous = %d", response.StatusCode)
		}
	}
	if response, body := p.do("POST", p.agent(), hello, as...); response.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "to this agent") {
		t.Errorf("beyond the limit = %d %s", response.StatusCode, body)
	}
	p.metric(`a2a_limited_total{limit="total_requests"} 1`)
}

// TestPublicCardIsCharged checks that requests for the public card are charged to the
// address of the client.
func TestPublicCardIsCharged(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Limits.Requests = slowRefill(2) })
	card := p.agent() + ".well-known/agent-card.json"
	for _, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if response, _ := p.do("GET", card, ""); response.StatusCode != want {
			t.Errorf("card = %d, want %d", response.StatusCode, want)
		}
	}
	if response, _ := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"), "Content-Type", "application/json"); response.StatusCode != http.StatusOK {
		t.Errorf("a caller behind the same address = %d", response.StatusCode)
	}
}

// suspectBurst is the number of credentials that are verified for an address beyond its limit of
// failed authentications, while the clock stands still.
const suspectBurst = 250

// TestWrongCredentials checks that after many wrong credentials, further credentials of
// an address are refused without verification. Before, a new valid credential is accepted.
// Callers at the same address whose credential was verified before are not limited.
func TestWrongCredentials(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Limits.FailedAuthentications = slowRefill(3) })
	for range 5 {
		if response, _ := p.do("POST", p.agent(), hello); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a credential = %d", response.StatusCode)
		}
	}
	known := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
	p.do("POST", p.agent(), hello, known...)
	const valid = suspectBurst / 2
	wants := slices.Concat([]int{401, 403, 401}, slices.Repeat([]int{401}, suspectBurst), []int{429, 429})
	wants[valid] = http.StatusOK
	for i, want := range wants {
		token := "wrong" + strconv.Itoa(i)
		switch want {
		case http.StatusForbidden:
			token = p.token("foreign")
		case http.StatusOK:
			token = p.token("team") // a new one: ES256 signatures differ
		}
		response, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+token, "Content-Type", "application/json")
		if response.StatusCode != want {
			t.Errorf("wrong credential number %d = %d %s, want %d", i+1, response.StatusCode, body, want)
		}
	}
	if response, body := p.do("POST", p.agent(), hello, known...); response.StatusCode != http.StatusOK {
		t.Errorf("of a caller that is known = %d %s", response.StatusCode, body)
	}
	p.metric(`a2a_limited_total{limit="failed_authentications"} 2`)
}

// TestTrustedProxies checks that limits by address apply to the clients that a trusted proxy names, and that a
// reload changes the list of proxies.
func TestTrustedProxies(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
		c.Limits.Requests = slowRefill(2)
	})
	send := func(forwardedFor string) int {
		response, _ := p.do("POST", p.agent(), hello, "Content-Type", "application/json", "X-Forwarded-For", forwardedFor)
		return response.StatusCode
	}
	for i, want := range []int{200, 200, 429} {
		if got := send("198.51.100." + strconv.Itoa(i)); got != want {
			t.Errorf("request %d without trusted proxies = %d, want %d: the header does not count", i+1, got, want)
		}
	}
	p.config.TrustedProxies = []string{"127.0.0.0/8", "::1"}
	p.mount(p.encode())
	p.eventually("trusted proxies", func() bool { return send("192.0.2.1") == http.StatusOK })
	p.eventually("limit of a client", func() bool { return send("198.51.100.7, 192.0.2.1") == http.StatusTooManyRequests })
	if got := send("192.0.2.1, 192.0.2.2"); got != http.StatusOK {
		t.Errorf("another client = %d, want 200", got)
	}
}

// TestWrongCredentialsOfAllKinds checks that wrong credentials of each type are charged,
// even if anonymous callers are admitted. Callers with a valid credential at the same
// address are not limited.
func TestWrongCredentialsOfAllKinds(t *testing.T) {
	const good, wrong = "good-01234567890123456789012345678", "wrong-0123456789012345678901234567"
	servers, clients, strangers := newAuthority(t, "servers"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	dir, caDir, keys := t.TempDir(), t.TempDir(), t.TempDir()
	servers.mountCertificate(dir, "agent")
	mount(t, caDir, map[string][]byte{"ca.crt": clients.pem})
	mount(t, keys, map[string][]byte{"alice": []byte(good)})
	id := withSPIFFEIDs(t, "spiffe://example.org/ns/team/sa/caller")
	known, unknown := clients.client(id), clients.client(id)
	stranger := strangers.client(id)
	for name, anonymous := range map[string]bool{"a credential is needed": false, "none is needed": true} {
		t.Run(name, func(t *testing.T) {
			p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
				c.Limits.FailedAuthentications = slowRefill(3)
				withMTLS()(c)
				withAPIKeys(c)
				if anonymous {
					c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
				}
			}, func(o *settings.Options) {
				o.TLS, o.MTLSCABundle, o.APIKeys = dir, filepath.Join(caDir, "ca.crt"), keys
			})
			token := "Bearer " + p.token("team")
			calls := func(when string, want map[string]int) {
				t.Helper()
				for who, client := range map[string]struct {
					certificates []tls.Certificate
					headers      []string
				}{
					"nobody":                                {},
					"a certificate":                         {[]tls.Certificate{known}, nil},
					"another certificate":                   {[]tls.Certificate{unknown}, nil},
					"a stranger's certificate":              {[]tls.Certificate{stranger}, nil},
					"a stranger's certificate, and a token": {[]tls.Certificate{stranger}, []string{"Authorization", token}},
					"a token":                               {nil, []string{"Authorization", token}},
					"a wrong token":                         {nil, []string{"Authorization", "Bearer wrong"}},
					"a key":                                 {nil, []string{"X-API-Key", good}},
					"a wrong key":                           {nil, []string{"X-API-Key", wrong}},
					"a wrong token, and a key":              {nil, []string{"Authorization", "Bearer wrong", "X-API-Key", good}},
				} {
					if status, asked := want[who]; asked {
						if got := p.ask(caller(t, servers.pool(), true, client.certificates...), client.headers...); got.StatusCode != status {
							t.Errorf("%s: %s = %d, want %d", when, who, got.StatusCode, status)
						}
					}
				}
			}
			nobody := map[bool]int{false: 401, true: 200}[anonymous]
			calls("before", map[string]int{"nobody": nobody, "a certificate": 200, "a token": 200, "a key": 200})
			for range 3 + suspectBurst {
				calls("within the limit", map[string]int{"a wrong key": 401})
			}
			calls("beyond the limit", map[string]int{
				"nobody": map[bool]int{false: 429, true: 200}[anonymous], "a certificate": 200, "another certificate": 429,
				"a stranger's certificate": 429, "a stranger's certificate, and a token": 200,
				"a token": 200, "a wrong token": 429, "a key": 200, "a wrong key": 429, "a wrong token, and a key": 429,
			})
		})
	}
}

const helloStream = `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"new","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`

// The clock of the rate limiters stands still in tests with limits. It bounds no read of a
// request and no write of a response.
func TestClockOfTheRateLimitersIsNotThatOfDeadlines(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Limits.Requests = sidecarconfig.Rate{PerSecond: 1, Burst: 3} })
	p.fixedTime = p.fixedTime.Add(-time.Hour)
	for name, body := range map[string]string{"call": hello, "stream": helloStream} {
		if response, text := p.do("POST", p.agent(), body, p.tokenHeaders("team")...); response.StatusCode != http.StatusOK || !strings.Contains(text, "completed") {
			t.Errorf("%s = %d %s", name, response.StatusCode, text)
		}
	}
}

// newHeldAgent returns an agent that does not respond until end is called.
func newHeldAgent() (agent http.HandlerFunc, end func()) {
	done := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}, func() { close(done) }
}

func TestOpenStreams(t *testing.T) {
	agent, end := newHeldAgent()
	defer end()
	p := newPod(t, agent, func(c *sidecarconfig.Config) {
		c.Limits.Streams = sidecarconfig.StreamLimits{Max: 3, MaxPerCaller: 2}
		c.Access.Namespaces = []string{"*"}
	})
	open := func(namespace string) *http.Response {
		return p.open("POST", p.agent(), helloStream, "Authorization", "Bearer "+p.token(namespace), "Content-Type", "application/json")
	}
	first := open("a")
	for namespace, want := range map[string]int{"b": http.StatusOK} {
		if got := open(namespace); got.StatusCode != want {
			t.Fatalf("stream of %s = %d", namespace, got.StatusCode)
		}
	}
	if got := open("a"); got.StatusCode != http.StatusOK {
		t.Fatalf("second stream of a = %d", got.StatusCode)
	}
	for namespace, metric := range map[string]string{"a": "streams", "c": "total_streams"} {
		if got := open(namespace); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "1" {
			t.Errorf("one more stream of %s = %d %v", namespace, got.StatusCode, got.Header)
		}
		p.metric(`a2a_limited_total{limit="` + metric + `"} 1`)
	}
	p.metric("a2a_open_streams 3")
	_ = first.Body.Close()
	p.metric("a2a_open_streams 2")
	if got := open("a"); got.StatusCode != http.StatusOK {
		t.Errorf("stream in the place of one that ended = %d", got.StatusCode)
	}
}

// TestCallersOfOneOwnerHaveLimitsOfTheirOwn checks that callers with the same owner share
// tasks, but not limits.
func TestCallersOfOneOwnerHaveLimitsOfTheirOwn(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	}))
	defer keys.Close()
	agent, end := newHeldAgent()
	defer end()
	p := newPod(t, agent, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationJWT, JWT: &sidecarconfig.JWTAuthentication{
			Issuer: keys.URL, Audiences: []string{"echo"}, JWKSURL: keys.URL, OwnerClaim: "tenant_id",
		}}}
		c.Limits.Requests = slowRefill(2)
		c.Limits.Streams = sidecarconfig.StreamLimits{Max: 4, MaxPerCaller: 1}
		c.Limits.Turns = sidecarconfig.TurnLimits{Max: 4, MaxPerCaller: 1, QueueTimeout: sidecarconfig.Duration(time.Millisecond)}
	})
	as := func(who string) []string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(signer).Claims(map[string]any{
			"iss": keys.URL, "aud": "echo", "sub": who, "tenant_id": "acme", "exp": time.Now().Add(time.Hour).Unix(),
		}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + token}
	}
	p.eventually("keys", func() bool {
		response, _ := p.do("GET", p.agent()+"tasks/none", "", as("probe")...)
		return response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusTooManyRequests
	})
	for _, who := range []string{"alice", "bob"} {
		if got := p.open("POST", p.agent(), helloStream, as(who)...); got.StatusCode != http.StatusOK {
			t.Errorf("stream of %s = %d", who, got.StatusCode)
		}
	}
	for range 2 {
		if got := p.open("POST", p.agent(), helloStream, as("alice")...); got.StatusCode != http.StatusTooManyRequests {
			t.Errorf("one more stream of alice = %d", got.StatusCode)
		}
	}
	p.metric(`a2a_limited_total{limit="streams"} 1`)
	p.metric(`a2a_limited_total{limit="requests"} 1`)
	if response, body := p.do("GET", p.agent()+"tasks/none", "", as("bob")...); response.StatusCode != http.StatusNotFound {
		t.Errorf("bob, when alice has used up what she has = %d %s", response.StatusCode, body)
	}
	p.metric("a2a_turns_in_flight 2")
}

func TestTurnsWaitInAQueue(t *testing.T) {
	agent, end := newHeldAgent()
	defer end()
	p := newPod(t, agent, func(c *sidecarconfig.Config) {
		c.Limits.Turns = sidecarconfig.TurnLimits{Max: 1, QueueTimeout: sidecarconfig.Duration(50 * time.Millisecond)}
	})
	as := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
	p.open("POST", p.agent(), helloStream, as...)
	response, body := p.do("POST", p.agent(), hello, as...)
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, "Too many turns are running") {
		t.Errorf("beyond the limit = %d %s", response.StatusCode, body)
	}
	p.metric(`a2a_limited_total{limit="turns"} 1`)
	p.metric("a2a_turns_queued 0")
}

// TestLimitsAreReloaded reduces limits by a reload. Earlier usage counts toward the new
// limits.
func TestLimitsAreReloaded(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Limits.Requests = slowRefill(1000); c.Limits.MaxBodyBytes = 1 << 20 })
	as := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
	large := strings.Replace(hello, "Hello", strings.Repeat("x", 100_000), 1)
	if response, body := p.do("POST", p.agent(), large, as...); response.StatusCode != http.StatusOK {
		t.Fatalf("before = %d %s", response.StatusCode, body)
	}
	p.config.Limits.Requests, p.config.Limits.MaxBodyBytes = slowRefill(5), 50_000
	p.mount(p.encode())
	p.metric(`a2a_reloads_total{result="applied",source="configuration"} 1`)
	if response, _ := p.do("POST", p.agent(), large, as...); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body = %d", response.StatusCode)
	}
	p.eventually("a refusal", func() bool {
		response, _ := p.do("POST", p.agent(), hello, as...)
		return response.StatusCode == http.StatusTooManyRequests
	})
}

// TestBodiesInFlight checks that one caller with large and slow requests delays neither
// small requests nor requests of other callers.
func TestBodiesInFlight(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Access.Namespaces = []string{"*"} })
	half := strings.Replace(hello, "Hello", strings.Repeat("x", 8<<20), 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	send := func(namespace string, status chan<- int) {
		body, more := io.Pipe()
		context.AfterFunc(ctx, func() { _ = body.Close() })
		go func() {
			_, _ = io.WriteString(more, half[:len(half)-1]) // the end of the body never follows
		}()
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.agent(), body)
		request.Header.Set("Authorization", "Bearer "+p.token(namespace))
		request.Header.Set("Content-Type", "application/json")
		go func() {
			response, err := p.client.Do(request)
			if err != nil {
				return
			}
			defer response.Body.Close()
			status <- response.StatusCode
		}()
	}
	// One caller may use three eighths of 80 MiB, which are three bodies of 10 MiB.
	refused := make(chan int, 10)
	for range 4 {
		send("greedy", refused)
	}
	select {
	case got := <-refused:
		if got != http.StatusServiceUnavailable {
			t.Errorf("one body too many = %d", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("all of them are held")
	}
	for _, body := range []string{hello, strings.Replace(hello, "Hello", strings.Repeat("x", 1<<20), 1)} {
		if response, answer := p.do("POST", p.agent(), body, "Authorization", "Bearer "+p.token("other"), "Content-Type", "application/json"); response.StatusCode != http.StatusOK {
			t.Errorf("%d bytes of another caller = %d %s", len(body), response.StatusCode, answer)
		}
	}
	stop()
	p.metric("a2a_body_bytes 0")
}

// TestDecodedRequestsReserveNoBodyMemory checks that a request releases its reservation once it is decoded. Otherwise
// open streams would use the whole budget for bodies, and every other request would be refused.
func TestDecodedRequestsReserveNoBodyMemory(t *testing.T) {
	for name, to := range map[string]struct{ path, body string }{
		"JSON-RPC, stream":  {"", helloStream},
		"JSON-RPC, blocked": {"", hello},
		"REST, stream":      {"message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`},
		"REST, blocked":     {"message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			agent, end := newHeldAgent()
			defer end()
			p := newPod(t, agent, nil)
			ctx, stop := context.WithCancel(t.Context())
			// The length of the body is not declared, so it gets the smallest buffer.
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.agent()+to.path, io.MultiReader(strings.NewReader(to.body)))
			request.Header.Set("Authorization", "Bearer "+p.token("team"))
			request.Header.Set("Content-Type", "application/json")
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if response, err := p.client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}()
			p.metric("a2a_turns_in_flight 1")
			p.metric("a2a_body_bytes 0")
			stop()
			<-ended
		})
	}
}
