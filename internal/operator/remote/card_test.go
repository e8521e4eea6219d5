// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

func withToken(a *a2av1alpha1.Agent) {
	a.Spec.Remote.Credentials = &a2av1alpha1.RemoteCredentials{SecretRef: a2av1alpha1.RemoteSecretRef{Name: "access", Key: "token"}, Type: a2av1alpha1.RemoteCredentialsBearer}
}

// decoded returns the card of a result.
func decoded(t *testing.T, result *state.Remote) card.Card {
	t.Helper()
	var c card.Card
	if err := json.Unmarshal([]byte(result.Card.Text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStoredCardTakesTheMemoryOfItsText stores cards that take several times the memory of their text when they are
// decoded.
func TestStoredCardTakesTheMemoryOfItsText(t *testing.T) {
	e := newFakeRemote(t)
	text := `{"name":"a","url":"https://echo.example/","protocolVersion":"0.3.0","skills":[{"id":"a"}],"capabilities":{"extensions":[` +
		strings.Repeat(`{"uri":"a"},`, 20_000) + `{"uri":"a"}]}}`
	e.setAnswer(status(200, text))
	const cards = 16
	var before, after runtime.MemStats
	stored := make([]*state.Remote, cards)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range stored {
		var err error
		if stored[i], err = e.source().reader.readCard(t.Context(), remoteAgent()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / cards
	t.Logf("a stored card of %d KiB takes %d KiB, its text %d KiB", len(text)>>10, each>>10, len(stored[0].Card.Text)>>10)
	if most := int64(len(stored[0].Card.Text)) + 256<<10; each > most {
		t.Errorf("a stored card of %d KiB takes %d KiB, want at most %d KiB", len(text)>>10, each>>10, most>>10)
	}
	if stored[0].Card.TooLarge || stored[0].Card.Skills != 1 || stored[0].Card.Digest == "" {
		t.Errorf("card of %d bytes: %t, %d skills, digest %q", len(stored[0].Card.Text), stored[0].Card.TooLarge, stored[0].Card.Skills, stored[0].Card.Digest)
	}
	// The encoding of the stored card escapes each "<" as \u003c, so this card is too large for a
	// ConfigMap.
	e.setAnswer(status(200, `{"name":"a","url":"https://echo.example/","protocolVersion":"0.3.0","description":"`+strings.Repeat("<", maxCard-200)+`"}`))
	large, err := e.source().reader.readCard(t.Context(), remoteAgent())
	if err != nil || !large.Card.TooLarge || large.Card.Text != "" {
		t.Errorf("card that is too large to publish: %d bytes, %v", len(large.Card.Text), err)
	}
}

func TestProblemOfEachFailure(t *testing.T) {
	fails := func(err error) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("wrapped: %w", err) }
	}
	redirect := func(to string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to}}, Body: http.NoBody}, nil
		}
	}
	tests := map[string]struct {
		answer          func(*http.Request) (*http.Response, error)
		change          func(*a2av1alpha1.Agent)
		secret          string
		reason, message string
	}{
		"no name":         {answer: fails(&net.DNSError{IsNotFound: true}), reason: "RemoteUnreachable", message: "https://echo.example cannot be reached: its host name does not exist"},
		"no name service": {answer: fails(&net.DNSError{IsTemporary: true}), reason: "RemoteUnreachable", message: "its host name could not be resolved"},
		"refused":         {answer: fails(syscall.ECONNREFUSED), reason: "RemoteUnreachable", message: "the connection was refused"},
		"reset":           {answer: fails(syscall.ECONNRESET), reason: "RemoteUnreachable", message: "the connection failed"},
		"untrusted": {
			answer: fails(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			reason: "RemoteUnreachable", message: "the operator does not know its authority; ask its administrator to add a private authority with the chart's remote.ca (--remote-ca-file)",
		},
		"a certificate for another host": {
			answer: fails(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "echo.example"}}),
			reason: "RemoteUnreachable", message: "its certificate is not trusted, or is for another host; correct spec.remote.url",
		},
		"a client certificate that is required": {
			answer: fails(&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}),
			reason: "RemoteUnreachable", message: "https://echo.example refuses the TLS connection: it may require a client certificate, or another one than that in spec.remote.credentials",
		},
		"a forbidden address":      {answer: fails(egress.ErrDenied), reason: "RemoteForbidden", message: "the chart's remote.allow (--remote-allow)"},
		"404":                      {answer: status(404, ""), reason: "RemoteCardNotServed", message: "at /.well-known/agent-card.json: it answers with status 404; set spec.remote.cardPath"},
		"401":                      {answer: status(401, ""), reason: "RemoteCardNotServed", message: "401; set spec.remote.credentials"},
		"redirect to another host": {answer: redirect("https://new.example/x"), reason: "RemoteCardNotServed", message: "a redirect to new.example, which is not followed; set spec.remote.url"},
		"redirect to no host name": {answer: redirect("https://\xff\u009b31m.example/"), reason: "RemoteCardNotServed", message: `a redirect to \xff\x9b31m.example, which is not followed`},
		"redirect to another path": {answer: redirect("/card"), reason: "RemoteCardNotServed", message: "a redirect, which is not followed; set spec.remote.cardPath"},
		"a web page":               {answer: status(200, "<html>"), reason: "RemoteCardInvalid", message: "is not valid: read card"},
		"a duplicate member":       {answer: status(200, `{"name":"a","name":"b"}`), reason: "RemoteCardInvalid", message: "or set spec.remote.url and spec.remote.cardPath to a valid card"},
		"too large":                {answer: status(200, strings.Repeat(" ", maxCard+1)), reason: "RemoteCardInvalid", message: "more than 512 KiB"},
		"too many skills":          {answer: status(200, `{"name":"a","url":"https://echo.example","skills":[`+strings.Repeat(`{"id":"x"},`, maxSkills)+`{"id":"x"}]}`), reason: "RemoteCardInvalid", message: "more than 256 skills"},
		"no address":               {answer: status(200, `{"name":"a"}`), reason: "RemoteCardInvalid", message: "none of its 0 interfaces is at https://echo.example:443"},
		"cut off": {
			answer: func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), failingReader{}))}, nil
			},
			reason: "RemoteUnreachable", message: "the connection failed",
		},
		"a missing Secret": {
			change: func(a *a2av1alpha1.Agent) { withToken(a); a.Spec.Remote.Credentials.SecretRef.Name = "gone" },
			reason: "RemoteCredentialsUnusable", message: `spec.remote.credentials.secretRef: Secret "gone" does not exist in namespace "team"; create it`,
		},
		"a missing key": {
			change: func(a *a2av1alpha1.Agent) { withToken(a); a.Spec.Remote.Credentials.SecretRef.Key = "other" },
			reason: "RemoteCredentialsUnusable", message: `Secret "access" has no value for the key "other"`,
		},
		"a value of two lines": {change: withToken, secret: "a\r\nX: b", reason: "RemoteCredentialsUnusable", message: "characters that no header can carry"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.secret == "" {
				test.secret = "swordfish"
			}
			e := newFakeRemote(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte(test.secret)},
			})
			e.setAnswer(test.answer)
			// Each case has a Secret. The failure must not contain its content.
			a := remoteAgent(withToken)
			if test.change != nil {
				test.change(a)
			}
			result, err := e.source().reader.readCard(t.Context(), a)
			if err == nil || result.Failure == nil {
				t.Fatalf("look() = %+v, %v", result, err)
			}
			if result.Failure.Reason != test.reason || !strings.Contains(result.Failure.Message, test.message) {
				t.Errorf("failure %s: %s\nwant %s: …%s", result.Failure.Reason, result.Failure.Message, test.reason, test.message)
			}
			if strings.Contains(result.Failure.Message+err.Error(), test.secret) {
				t.Errorf("the failure shows the value of the Secret: %s, %v", result.Failure.Message, err)
			}
		})
	}
}

// hugeBody is a body with a size. It counts the bytes that were read.
type hugeBody struct {
	size, read int64
	closed     bool
}

func (b *hugeBody) Read(p []byte) (int, error) {
	n := min(int64(len(p)), b.size-b.read)
	if n == 0 {
		return 0, io.EOF
	}
	b.read += n
	return int(n), nil
}

func (b *hugeBody) Close() error {
	b.closed = true
	return nil
}

func TestHugeCardIsReadUpToTheLimit(t *testing.T) {
	for name, size := range map[string]int64{"64 MB": 64 << 20, "endless": math.MaxInt64} {
		body := &hugeBody{size: size}
		e := newFakeRemote(t)
		e.setAnswer(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body}, nil
		})
		result, err := e.source().reader.readCard(t.Context(), remoteAgent())
		if err == nil || result.Failure == nil || !strings.Contains(result.Failure.Message, "it has more than 512 KiB") {
			t.Errorf("%s: readCard() = %+v, %v, want a failure that names the limit", name, result, err)
		}
		if body.read > maxCard+1 || !body.closed {
			t.Errorf("%s: %d bytes are read, closed: %t", name, body.read, body.closed)
		}
	}
}

// TestRegisteredOriginReplacesAddresses checks that calls go to the registered origin whatever the card says, and that the first replaced
// address is reported.
func TestRegisteredOriginReplacesAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		card     string
		want     []string
		replaced string
		omitted  int
	}{
		"bound to all addresses": {
			`{"name":"a","url":"http://0.0.0.0:8000/a2a?v=1","protocolVersion":"0.3"}`,
			[]string{"https://echo.example/a2a?v=1"},
			"http://0.0.0.0:8000/a2a?v=1", 0,
		},
		"right already": {`{"name":"a","url":"https://ECHO.example:443/a","protocolVersion":"0.3"}`, []string{"https://ECHO.example:443/a"}, "", 0},
		"several": {
			`{"name":"a","supportedInterfaces":[{"url":"https://echo.example/b","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
				{"url":"http://internal:9/c","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"http://other:9/","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`,
			[]string{"https://echo.example/b", "https://echo.example/c", "https://echo.example/"},
			"http://internal:9/c", 0,
		},
		"no web addresses": {
			`{"name":"a","supportedInterfaces":[{"url":"https://echo.example/b","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
				{"url":"internal:9","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"https://u:p@internal/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`,
			[]string{"https://echo.example/b"},
			"", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeRemote(t)
			e.setAnswer(status(200, test.card))
			agent := remoteAgent()
			agent.Spec.Remote.Addresses = a2av1alpha1.RemoteAddressesRegistered
			result, err := e.source().reader.readCard(t.Context(), agent)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range decoded(t, result).Interfaces {
				got = append(got, i.URL)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if result.ReplacedAddress != test.replaced || result.OmittedAddresses != test.omitted {
				t.Errorf("replaced %q, omitted %d; want %q, %d", result.ReplacedAddress, result.OmittedAddresses, test.replaced, test.omitted)
			}
		})
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestCardKeepsOnlyURLsOfItsOrigin(t *testing.T) {
	addresses := []string{
		"http://echo.example/", "https://echo.example.evil/", "https://evil.example/", "https://echo.example:8443/", "//evil.example/",
		"https://user@echo.example/", "https://echo.example@evil.example/", "https://ECHO.example.:443/", "ftp://echo.example/", "https:echo.example",
		"https://echo.example%2eevil.example/", "https://[::1]/", "https://127.0.0.1/", "https://echo.examplе/", "javascript:alert(1)",
		"https://echo.example\\@evil.example/", "https://sub.echo.example/", "wss://echo.example/", " https://echo.example/", "http://echo.example:443/",
	}
	for _, address := range addresses {
		for _, text := range []string{
			`{"name":"a","url":"https://echo.example/a","protocolVersion":"0.3","additionalInterfaces":[{"url":%q,"transport":"HTTP+JSON"}]}`,
			`{"name":"a","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"https://ECHO.example:443/a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`,
		} {
			e := newFakeRemote(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte("swordfish\n")},
			})
			e.setAnswer(status(200, fmt.Sprintf(text, address)))
			result, err := e.source().reader.readCard(t.Context(), remoteAgent(withToken))
			if err != nil {
				t.Errorf("%q: %v", address, err)
				continue
			}
			if c := decoded(t, result); len(c.Interfaces) != 1 || !strings.HasSuffix(c.Interfaces[0].URL, "/a") || result.OmittedAddresses != 1 {
				t.Errorf("a card with %q: interfaces %+v", address, c.Interfaces)
			}
			for _, r := range e.requests {
				if r.URL.Host != "echo.example:443" || r.URL.Scheme != "https" || r.Header.Get("Authorization") != "Bearer swordfish" {
					t.Errorf("%q: request to %s with Authorization %q", address, r.URL, r.Header.Get("Authorization"))
				}
			}
		}
	}
	t.Logf("T-CARD-URL: %d addresses of other origins, 0 listed, 0 received credentials", len(addresses))
}

func TestCardPathsAndHeaders(t *testing.T) {
	tests := map[string]struct {
		change func(*a2av1alpha1.Agent)
		want   string
	}{
		"by itself": {want: "https://echo.example:443/.well-known/agent-card.json https://echo.example:443/.well-known/agent.json"},
		"below a path": {
			change: func(a *a2av1alpha1.Agent) { a.Spec.Remote.URL = "https://echo.example/a%2Fb/" },
			want:   "https://echo.example:443/a%2Fb/.well-known/agent-card.json https://echo.example:443/a%2Fb/.well-known/agent.json",
		},
		"named": {
			change: func(a *a2av1alpha1.Agent) { a.Spec.Remote.URL += "/x"; a.Spec.Remote.CardPath = "/c.json" },
			want:   "https://echo.example:443/c.json",
		},
		"another port": {
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Remote.URL = "http://ECHO.example:81"
				a.Spec.Remote.CardPath = "/c"
			},
			want: "http://echo.example:81/c",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newFakeRemote(t)
			e.setAnswer(status(404, ""))
			a := remoteAgent()
			if test.change != nil {
				test.change(a)
			}
			_, _ = e.source().reader.readCard(t.Context(), a)
			var asked []string
			for _, r := range e.requests {
				asked = append(asked, r.URL.String())
				if r.Header.Get("Authorization") != "" || r.Header.Get("A2A-Version") != "1.0" {
					t.Errorf("request has the headers %v", r.Header)
				}
			}
			if got := strings.Join(asked, " "); got != test.want {
				t.Errorf("requests to %s\nwant %s", got, test.want)
			}
		})
	}
	e := newFakeRemote(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte("swordfish")},
	})
	e.setAnswer(status(200, echoCard))
	if _, err := e.source().reader.readCard(t.Context(), remoteAgent(withToken, func(a *a2av1alpha1.Agent) {
		a.Spec.Remote.Credentials.Type = a2av1alpha1.RemoteCredentialsAPIKey
		a.Spec.Remote.Credentials.APIKey = &a2av1alpha1.RemoteAPIKey{Header: "X-API-Key"}
	})); err != nil {
		t.Fatal(err)
	}
	if got := e.requests[0].Header; got.Get("X-API-Key") != "swordfish" || got.Get("Authorization") != "" {
		t.Errorf("headers %v", got)
	}
}
