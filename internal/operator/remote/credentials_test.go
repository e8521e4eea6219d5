// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

func secretOf(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func withCredentials(c a2av1alpha1.RemoteCredentials) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		c.SecretRef.Name = "access"
		a.Spec.Remote.Credentials = &c
	}
}

var oauth = a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsOAuth2, OAuth2: &a2av1alpha1.RemoteOAuth2{
	TokenURL: "https://id.example/token", ClientID: "cluster", Scopes: []string{"read", "write"}, Audience: "echo",
}}

// newPair returns a certificate and its key as PEM.
func newPair(t *testing.T) (certificate, key string) {
	t.Helper()
	return newPairUntil(t, time.Now().Add(time.Hour))
}

func newPairUntil(t *testing.T, end time.Time) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

func TestCredentialOfEachType(t *testing.T) {
	certificate, key := newPair(t)
	expired, expiredKey := newPairUntil(t, time.Now().Add(-time.Minute))
	tests := map[string]struct {
		spec    a2av1alpha1.RemoteCredentials
		secret  map[string]string
		want    remotecredential.Credential
		message string
	}{
		"bearer": {
			spec: a2av1alpha1.RemoteCredentials{}, secret: map[string]string{"token": "swordfish\n"},
			want: remotecredential.Credential{Header: "Authorization", Value: "Bearer swordfish"},
		},
		"key in a header": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Header: "X-K"}, SecretRef: a2av1alpha1.RemoteSecretRef{Key: "k"}},
			secret: map[string]string{"k": "swordfish"}, want: remotecredential.Credential{Header: "X-K", Value: "swordfish"},
		},
		"key in the query": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Query: "key"}},
			secret: map[string]string{"token": "swordfish"}, want: remotecredential.Credential{Query: "key", Value: "swordfish"},
		},
		"basic": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsBasic},
			secret: map[string]string{"username": "u", "password": "p"}, want: remotecredential.Credential{Header: "Authorization", Value: "Basic dTpw"},
		},
		"basic without a password": {
			spec: a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsBasic}, secret: map[string]string{"username": "swordfish"},
			message: `secretRef: Secret "access" has no value for the key "password"; name a Secret of type kubernetes.io/basic-auth`,
		},
		"certificate": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate},
			secret: map[string]string{"tls.crt": certificate, "tls.key": key}, want: remotecredential.Credential{Certificate: certificate, PrivateKey: key},
		},
		"certificate without a key": {
			spec: a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate}, secret: map[string]string{"tls.crt": certificate},
			message: `Secret "access" has no value for the key "tls.key"; name a Secret of type kubernetes.io/tls`,
		},
		"certificate with another key": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate},
			secret: map[string]string{"tls.crt": certificate, "tls.key": "swordfish"}, message: "are not a certificate and its key as PEM",
		},
		"expired certificate": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate},
			secret: map[string]string{"tls.crt": expired, "tls.key": expiredKey}, message: `secretRef: the certificate in Secret "access" (tls.crt) has expired, or is not valid yet; renew it`,
		},
		"a large token": {
			spec: a2av1alpha1.RemoteCredentials{}, secret: map[string]string{"token": "swordfish" + strings.Repeat(" ", maxValue)},
			message: `secretRef: the value of Secret "access" for the key "token" has more than 16 KiB; correct it`,
		},
		"a large password": {
			spec:    a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsBasic},
			secret:  map[string]string{"username": "u", "password": strings.Repeat("swordfish", maxValue/9+1)},
			message: `for the key "password" has more than 16 KiB`,
		},
		"a large client secret": {
			spec: oauth, secret: map[string]string{"client-secret": strings.Repeat("swordfish", maxValue/9+1)}, message: `for the key "client-secret" has more than 16 KiB`,
		},
		"a large certificate": {
			spec:   a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate},
			secret: map[string]string{"tls.crt": certificate, "tls.key": key + strings.Repeat("\n", maxPEM)}, message: `for the key "tls.key" has more than 64 KiB`,
		},
		"a large private key": {
			spec:    a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsClientCertificate},
			secret:  map[string]string{"tls.crt": certificate, "tls.key": key + strings.Repeat("\n", remotecredential.MaxPrivateKey)},
			message: `secretRef: the value of Secret "access" for the key "tls.key" is longer than an RSA key of 8192 bits; use a shorter key, such as ECDSA P-256`,
		},
		"no client secret": {spec: oauth, secret: map[string]string{"token": "swordfish"}, message: `no value for the key "client-secret"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newFakeRemote(t, secretOf(test.secret))
			e.setAnswer(status(500, ""))
			a := remoteAgent(withCredentials(test.spec))
			got, _, err := NewCredentials(e, e, clock.RealClock{}).Of(t.Context(), a, remotecredential.User{}, "")
			if test.message == "" {
				if err != nil || got != test.want {
					t.Errorf("Of() = %s, %v", got, err)
				}
				return
			}
			if problem := problemOf(a, err); problem.Reason != a2av1alpha1.ReasonRemoteCredentialsUnusable || !strings.Contains(problem.Message, "spec.remote.credentials.") ||
				!strings.Contains(problem.Message, test.message) || strings.Contains(problem.Message+err.Error(), "swordfish") {
				t.Errorf("problem %+v of %v, want %s", problem, err, test.message)
			}
		})
	}
}

// tokenServer is an authorization server. Its answers are those of the function answer.
type tokenServer struct {
	requests atomic.Int64
	answer   func(w http.ResponseWriter, r *http.Request)
}

func (s *tokenServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests.Add(1)
	if r.URL.Host != "id.example" {
		return nil, errors.New("the client secret is sent to " + r.URL.Host)
	}
	w := httptest.NewRecorder()
	s.answer(w, r)
	return w.Result(), nil
}

func issue(token, rest string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer"%s}`, token, rest)
	}
}

// TestAuthorizationServerThatMisbehaves is the test of hostile authorization servers: each is bounded, and a condition names the
// field and the cure.
func TestAuthorizationServerThatMisbehaves(t *testing.T) {
	const secret = "swordfish"
	answer := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "https://evil.example/token")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	tests := map[string]struct {
		answer  func(http.ResponseWriter, *http.Request)
		message string
	}{
		"a web page":            {answer(200, "text/html", "<html>"+secret), "oauth2.tokenURL: the answer of https://id.example/token is not a token response of at most 64 KiB (RFC 6749); set it to the token endpoint"},
		"no token":              {answer(200, "application/json", `{"token_type":"Bearer"}`), "is not a token response"},
		"64 MB":                 {answer(200, "application/json", `{"access_token":"`+strings.Repeat("a", 64<<20)), "at most 64 KiB"},
		"a token with a line":   {issue("a\nX: b", ""), "is not a token response"},
		"a token of 17 KiB":     {issue(strings.Repeat("a", 17<<10), ""), "is not a token response"},
		"another type of token": {answer(200, "application/json", `{"access_token":"a","token_type":"DPoP"}`), "is not a token response"},
		"a token that is over":  {issue("a", `,"expires_in":-1`), "is not a token response"},
		"a scope less":          {issue("a", `,"scope":"read"`), `oauth2.scopes: the authorization server issues a token without the scope "write"; grant the scope to client "cluster" there`},
		"invalid_client":        {answer(401, "application/json", `{"error":"invalid_client","error_description":"`+secret+`"}`), "oauth2: the authorization server answers with status 401 invalid_client; correct clientID, or the client secret"},
		"invalid_scope":         {answer(400, "application/json", `{"error":"invalid_scope"}`), "status 400 invalid_scope; correct scopes"},
		"another error":         {answer(400, "application/json", `{"error":"`+secret+`"}`), "answers with status 400; correct tokenURL"},
		"500":                   {answer(500, "text/plain", secret), "answers with status 500; correct tokenURL"},
		"a redirect":            {answer(307, "text/plain", secret), "answers with status 307; correct tokenURL"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := &tokenServer{answer: test.answer}
			e := newFakeRemote(t, secretOf(map[string]string{"client-secret": secret}))
			credentials := NewCredentials(e, server, clock.RealClock{})
			a := remoteAgent(withCredentials(oauth))
			got, _, err := credentials.Of(t.Context(), a, remotecredential.User{}, "")
			if err == nil || !got.IsZero() {
				t.Fatalf("Of() = %s, %v", got, err)
			}
			problem := problemOf(a, err)
			if problem.Reason != a2av1alpha1.ReasonRemoteCredentialsUnusable || !strings.Contains(problem.Message, "spec.remote.credentials."+strings.Split(test.message, ":")[0]) && !strings.Contains(problem.Message, test.message) {
				t.Errorf("problem %s: %s\nwant %s", problem.Reason, problem.Message, test.message)
			}
			if !strings.Contains(problem.Message, test.message) || strings.Contains(problem.Message+err.Error(), secret) {
				t.Errorf("problem %s\nwant %s, without the secret", problem.Message, test.message)
			}
			made := server.requests.Load()
			if _, _, again := credentials.Of(t.Context(), a, remotecredential.User{}, ""); again == nil || server.requests.Load() != made || made > 2 {
				t.Errorf("%d requests, then %d at once after", made, server.requests.Load()-made)
			}
		})
	}
}

func TestAuthorizationServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
		a := remoteAgent(withCredentials(oauth))
		begin := time.Now()
		_, _, err := NewCredentials(e, hang, clock.RealClock{}).Of(t.Context(), a, remotecredential.User{}, "")
		if problem := problemOf(a, err); !strings.Contains(problem.Message, "oauth2.tokenURL: https://id.example/token does not answer within 8s") {
			t.Errorf("problem %+v of %v", problem, err)
		}
		if took := time.Since(begin); took != credentialTimeout {
			t.Errorf("Of() takes %s", took)
		}
	})
}

func TestTokenIsCachedRenewedAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var forms []url.Values
		failing := false
		server := &tokenServer{}
		server.answer = func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			id, secret, _ := r.BasicAuth()
			r.PostForm.Set("as", id+":"+secret)
			forms = append(forms, r.PostForm)
			if failing {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			issue(fmt.Sprintf("token-%d", server.requests.Load()), `,"expires_in":600`)(w, r)
		}
		e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
		credentials := NewCredentials(e, server, clock.RealClock{})
		a := remoteAgent(withCredentials(oauth))
		expect := func(what, refused, want string) {
			t.Helper()
			got, expires, err := credentials.Of(t.Context(), a, remotecredential.User{}, refused)
			if err != nil || got.Value != "Bearer "+want || !expires.After(time.Now()) {
				t.Errorf("%s: %q until %s, %v, want %s", what, got.Value, expires, err, want)
			}
			synctest.Wait()
		}
		digest := func(token string) string {
			return remotecredential.Credential{Header: "Authorization", Value: "Bearer " + token}.Digest()
		}
		expect("first", "", "token-1")
		want := url.Values{"grant_type": {"client_credentials"}, "scope": {"read write"}, "audience": {"echo"}, "as": {"cluster:swordfish"}}
		if diff := cmp.Diff([]url.Values{want}, forms); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		expect("again", "", "token-1")
		expect("refused at once", digest("token-1"), "token-1")
		time.Sleep(minCredentialAge)
		expect("refused", digest("token-1"), "token-2")
		expect("refused before", digest("token-1"), "token-2")
		time.Sleep(301 * time.Second)
		expect("at half of its life, in the background", "", "token-2")
		expect("after that", "", "token-3")
		failing = true
		time.Sleep(301 * time.Second)
		expect("while the server fails", "", "token-3")
		made := server.requests.Load()
		expect("while the server fails, at once", "", "token-3")
		if server.requests.Load() != made {
			t.Error("a server that fails is asked again at once")
		}
		time.Sleep(290 * time.Second)
		if _, _, err := credentials.Of(t.Context(), a, remotecredential.User{}, ""); err == nil {
			t.Error("a token is used after its end")
		}
		failing = false
		time.Sleep(secretAge)
		a.UID = "another"
		expect("another Agent of the name", "", fmt.Sprintf("token-%d", server.requests.Load()+1))
	})
}

// TestRotatedSecretIsUsed rotates a key: the next read after secretAge uses the new one, and a refusal earlier.
func TestRotatedSecretIsUsed(t *testing.T) {
	e := newFakeRemote(t, secretOf(map[string]string{"token": "old"}))
	passive := clocktesting.NewFakePassiveClock(time.Now())
	credentials := NewCredentials(e, e, passive)
	a := remoteAgent(withCredentials(a2av1alpha1.RemoteCredentials{}))
	value := func(refused string) string {
		got, _, err := credentials.Of(t.Context(), a, remotecredential.User{}, refused)
		if err != nil {
			t.Fatal(err)
		}
		return got.Value
	}
	first, _, _ := credentials.Of(t.Context(), a, remotecredential.User{}, "")
	if err := e.Update(t.Context(), secretOf(map[string]string{"token": "new"})); err != nil {
		t.Fatal(err)
	}
	if got := value(first.Digest()); got != "Bearer old" {
		t.Errorf("at once: %q", got)
	}
	passive.SetTime(passive.Now().Add(minCredentialAge))
	if got := value(first.Digest()); got != "Bearer new" {
		t.Errorf("refused: %q", got)
	}
	if err := e.Update(t.Context(), secretOf(map[string]string{"token": "newer"})); err != nil {
		t.Fatal(err)
	}
	passive.SetTime(passive.Now().Add(time.Hour))
	if got := value(""); got != "Bearer newer" {
		t.Errorf("after an hour without calls: %q", got)
	}
}

func TestCardIsReadAgainWithANewerCredential(t *testing.T) {
	e := newFakeRemote(t, secretOf(map[string]string{"token": "old"}))
	passive := clocktesting.NewFakePassiveClock(time.Now())
	reader := cardReader{credentials: NewCredentials(e, e, passive), guard: e, parsing: newParsing()}
	a := remoteAgent(withCredentials(a2av1alpha1.RemoteCredentials{}))
	e.setAnswer(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "Bearer new" {
			return status(401, "")(r)
		}
		return status(200, echoCard)(r)
	})
	if result, err := reader.readCard(t.Context(), a); err == nil || !strings.Contains(result.Failure.Message, "401; set spec.remote.credentials") {
		t.Errorf("refused credentials: %+v, %v", result, err)
	}
	if err := e.Update(t.Context(), secretOf(map[string]string{"token": "new"})); err != nil {
		t.Fatal(err)
	}
	passive.SetTime(passive.Now().Add(minCredentialAge))
	if _, err := reader.readCard(t.Context(), a); err != nil {
		t.Errorf("rotated credentials: %v", err)
	}
}

func TestQueryIsSentAndListed(t *testing.T) {
	e := newFakeRemote(t, secretOf(map[string]string{"token": "s&x"}))
	e.setAnswer(status(200, `{"name":"a","url":"https://echo.example/a?v=1","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"https://echo.example/b","transport":"HTTP+JSON"}]}`))
	a := remoteAgent(withCredentials(a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Query: "key"}}))
	a.Spec.Remote.Query = "tenant=acme"
	result, err := e.source().reader.readCard(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.requests[0].URL.String(); got != "https://echo.example:443/.well-known/agent-card.json?tenant=acme&key=s%26x" {
		t.Errorf("request to %s", got)
	}
	c := decoded(t, result)
	if c.Interfaces[0].URL != "https://echo.example/a?v=1&tenant=acme" || c.Interfaces[1].URL != "https://echo.example/b?tenant=acme" {
		t.Errorf("interfaces %+v", c.Interfaces)
	}
	if strings.Contains(result.Card.Text, "s%26x") {
		t.Error("the card has the key")
	}
}

func TestMismatchNamesTheField(t *testing.T) {
	key := card.SecurityScheme{Type: card.SchemeAPIKey, In: "header", ParameterName: "X-K"}
	query := card.SecurityScheme{Type: card.SchemeAPIKey, In: "query", ParameterName: "key"}
	bearer := card.SecurityScheme{Type: card.SchemeHTTP, Scheme: "Bearer"}
	basic := card.SecurityScheme{Type: card.SchemeHTTP, Scheme: "basic"}
	mtls := card.SecurityScheme{Type: card.SchemeMutualTLS}
	flow := card.SecurityScheme{Type: card.SchemeOAuth2, Flow: &card.OAuthFlow{Type: card.FlowClientCredentials}}
	code := card.SecurityScheme{Type: card.SchemeOAuth2, Flow: &card.OAuthFlow{Type: card.FlowAuthorizationCode}}
	of := func(t a2av1alpha1.RemoteCredentialsType) *a2av1alpha1.RemoteCredentials {
		return &a2av1alpha1.RemoteCredentials{Type: t}
	}
	header := func(name string) *a2av1alpha1.RemoteCredentials {
		return &a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Header: name}}
	}
	tests := []struct {
		schemes     []card.SecurityScheme
		credentials *a2av1alpha1.RemoteCredentials
		want        string
	}{
		{nil, nil, ""},
		{nil, of(a2av1alpha1.RemoteCredentialsBearer), ""},
		{[]card.SecurityScheme{bearer}, nil, ""}, // callers send the header
		{[]card.SecurityScheme{key}, nil, `an API key; set spec.remote.credentials.type to APIKey, and apiKey.header to "X-K"`},
		{[]card.SecurityScheme{mtls}, nil, "set spec.remote.credentials.type to ClientCertificate"},
		{[]card.SecurityScheme{mtls}, of(a2av1alpha1.RemoteCredentialsClientCertificate), ""},
		{[]card.SecurityScheme{mtls, key}, header("x-k"), ""},
		{[]card.SecurityScheme{key}, header("X-Other"), `apiKey.header to "X-K"`},
		{[]card.SecurityScheme{query}, header("key"), `apiKey.query to "key"`},
		{[]card.SecurityScheme{query}, &a2av1alpha1.RemoteCredentials{Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Query: "key"}}, ""},
		{[]card.SecurityScheme{bearer}, of(a2av1alpha1.RemoteCredentialsBasic), "a bearer token; set spec.remote.credentials.type to Bearer or OAuth2"},
		{[]card.SecurityScheme{basic}, of(a2av1alpha1.RemoteCredentialsBasic), ""},
		{[]card.SecurityScheme{basic}, of(a2av1alpha1.RemoteCredentialsBearer), "set spec.remote.credentials.type to Basic"},
		{[]card.SecurityScheme{flow}, of(a2av1alpha1.RemoteCredentialsOAuth2), ""},
		{[]card.SecurityScheme{flow}, header("X-K"), "set spec.remote.credentials.type to OAuth2"},
		{[]card.SecurityScheme{code}, of(a2av1alpha1.RemoteCredentialsBearer), ""},
		{[]card.SecurityScheme{bearer}, header("Authorization"), ""},
		{[]card.SecurityScheme{{Type: card.SchemeAPIKey, In: "cookie", ParameterName: "s\u202e"}}, of(a2av1alpha1.RemoteCredentialsBearer), "which spec.remote.credentials cannot send"},
	}
	for i, test := range tests {
		got := mismatch(test.schemes, test.credentials, false)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) || strings.Contains(got, "\u202e") {
			t.Errorf("%d: %q, want %q", i, got, test.want)
		}
	}
	if got := mismatch([]card.SecurityScheme{key, mtls}, nil, true); got != "" {
		t.Errorf("an agent that gets the certificate of the sidecar: %q", got)
	}
	if got := mismatch([]card.SecurityScheme{key}, nil, true); got == "" {
		t.Error("an agent that gets the certificate of the sidecar, and requires a key: no message")
	}
}
