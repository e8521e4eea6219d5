// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

func withToken(a *a2av1alpha1.Agent) {
	a.Spec.Remote.Credentials = &a2av1alpha1.RemoteCredentials{SecretRef: a2av1alpha1.RemoteSecretRef{Name: "access", Key: "token"}, Header: "Authorization"}
}

// What the author of an Agent is told of each failure.
func TestFailures(t *testing.T) {
	fails := func(err error) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("wrapped: %w", err) }
	}
	redirect := func(to string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to}}, Body: http.NoBody}, nil
		}
	}
	tests := map[string]struct {
		answer       func(*http.Request) (*http.Response, error)
		change       func(*a2av1alpha1.Agent)
		secret       string
		reason, told string
	}{
		"no name":         {answer: fails(&net.DNSError{IsNotFound: true}), reason: "RemoteUnreachable", told: "https://echo.example: its name does not exist"},
		"no name service": {answer: fails(&net.DNSError{IsTemporary: true}), reason: "RemoteUnreachable", told: "its name could not be resolved"},
		"refused":         {answer: fails(syscall.ECONNREFUSED), reason: "RemoteUnreachable", told: "the connection was refused"},
		"reset":           {answer: fails(syscall.ECONNRESET), reason: "RemoteUnreachable", told: "the connection failed"},
		"untrusted": {
			answer: fails(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
			reason: "RemoteUnreachable", told: "the operator does not know its authority; whoever installed it can name a private one with the chart's remote.ca (--remote-ca-file)",
		},
		"another's certificate": {
			answer: fails(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "echo.example"}}),
			reason: "RemoteUnreachable", told: "its certificate is not trusted, or is another's; correct spec.remote.url",
		},
		"a forbidden address": {answer: fails(egress.ErrDenied), reason: "RemoteForbidden", told: "the chart's remote.allow (--remote-allow)"},
		"404":                 {answer: status(404, ""), reason: "RemoteCardNotServed", told: "at /.well-known/agent-card.json: it answers 404; set spec.remote.cardPath"},
		"401":                 {answer: status(401, ""), reason: "RemoteCardNotServed", told: "401; set spec.remote.credentials"},
		"elsewhere":           {answer: redirect("https://new.example/x"), reason: "RemoteCardNotServed", told: "a redirect to new.example, which is not followed; set spec.remote.url"},
		"another place":       {answer: redirect("/card"), reason: "RemoteCardNotServed", told: "a redirect, which is not followed; set spec.remote.cardPath"},
		"a web page":          {answer: status(200, "<html>"), reason: "RemoteCardInvalid", told: "set spec.remote.url and spec.remote.cardPath to where one is: read card"},
		"a twin member":       {answer: status(200, `{"name":"a","name":"b"}`), reason: "RemoteCardInvalid", told: "cannot be listed"},
		"endless":             {answer: status(200, strings.Repeat(" ", maxCard+1)), reason: "RemoteCardInvalid", told: "more than 512 KiB"},
		"too many skills":     {answer: status(200, `{"name":"a","url":"https://echo.example","skills":[`+strings.Repeat(`{"id":"x"},`, maxSkills)+`{"id":"x"}]}`), reason: "RemoteCardInvalid", told: "more than 256 skills"},
		"no address":          {answer: status(200, `{"name":"a"}`), reason: "RemoteCardInvalid", told: "none of its 0 addresses is at https://echo.example:443"},
		"cut off": {
			answer: func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), failing{}))}, nil
			},
			reason: "RemoteUnreachable", told: "the connection failed",
		},
		"no Secret": {
			change: func(a *a2av1alpha1.Agent) { withToken(a); a.Spec.Remote.Credentials.SecretRef.Name = "gone" },
			reason: "RemoteCredentialsUnusable", told: `spec.remote.credentials.secretRef: there is no Secret "gone" in namespace "team"; create it`,
		},
		"no key": {
			change: func(a *a2av1alpha1.Agent) { withToken(a); a.Spec.Remote.Credentials.SecretRef.Key = "other" },
			reason: "RemoteCredentialsUnusable", told: `Secret "access" has nothing under the key "other"`,
		},
		"a value of two lines": {change: withToken, secret: "a\r\nX: b", reason: "RemoteCredentialsUnusable", told: "characters that no header can carry"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.secret == "" {
				test.secret = "swordfish"
			}
			e := newElsewhere(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte(test.secret)},
			})
			e.answers(test.answer)
			// Whatever goes wrong, with a Secret at hand.
			a := remoteAgent(withToken)
			if test.change != nil {
				test.change(a)
			}
			seen, err := e.source().look(t.Context(), a)
			if err == nil || seen.Failure == nil {
				t.Fatalf("look() = %+v, %v", seen, err)
			}
			if seen.Failure.Reason != test.reason || !strings.Contains(seen.Failure.Message, test.told) {
				t.Errorf("told %s: %s\nwant %s: …%s", seen.Failure.Reason, seen.Failure.Message, test.reason, test.told)
			}
			if strings.Contains(seen.Failure.Message+err.Error(), test.secret) {
				t.Errorf("the Secret is shown: %s, %v", seen.Failure.Message, err)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

// Credentials go to the origin that the Agent names, and addresses of other
// origins are not listed.
func TestPinned(t *testing.T) {
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
			e := newElsewhere(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte("swordfish\n")},
			})
			e.answers(status(200, fmt.Sprintf(text, address)))
			seen, err := e.source().look(t.Context(), remoteAgent(withToken))
			if err != nil {
				t.Errorf("%q: %v", address, err)
				continue
			}
			if len(seen.Card.Interfaces) != 1 || !strings.HasSuffix(seen.Card.Interfaces[0].URL, "/a") || seen.OmittedAddresses != 1 {
				t.Errorf("%q is listed: %+v", address, seen.Card.Interfaces)
			}
			for _, r := range e.requests {
				if r.URL.Host != "echo.example:443" || r.URL.Scheme != "https" || r.Header.Get("Authorization") != "Bearer swordfish" {
					t.Errorf("%q: asked %s with %q", address, r.URL, r.Header.Get("Authorization"))
				}
			}
		}
	}
	t.Logf("T-CARD-URL: %d addresses of other origins, 0 listed, 0 credentials sent elsewhere", len(addresses))
}

// Where the card is looked for, and with what.
func TestPlaces(t *testing.T) {
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
			e := newElsewhere(t)
			e.answers(status(404, ""))
			a := remoteAgent()
			if test.change != nil {
				test.change(a)
			}
			_, _ = e.source().look(t.Context(), a)
			var asked []string
			for _, r := range e.requests {
				asked = append(asked, r.URL.String())
				if r.Header.Get("Authorization") != "" || r.Header.Get("A2A-Version") != "1.0" {
					t.Errorf("headers %v", r.Header)
				}
			}
			if got := strings.Join(asked, " "); got != test.want {
				t.Errorf("asked %s\nwant %s", got, test.want)
			}
		})
	}
	e := newElsewhere(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte("swordfish")},
	})
	e.answers(status(200, echoCard))
	if _, err := e.source().look(t.Context(), remoteAgent(withToken, func(a *a2av1alpha1.Agent) { a.Spec.Remote.Credentials.Header = "X-API-Key" })); err != nil {
		t.Fatal(err)
	}
	if got := e.requests[0].Header; got.Get("X-API-Key") != "swordfish" || got.Get("Authorization") != "" {
		t.Errorf("headers %v", got)
	}
}
