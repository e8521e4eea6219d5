// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agenttokens

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lifetime = 10 * time.Minute

// registry is a fake transport to the registry. Tests can make it fail.
type registry struct {
	mu       sync.Mutex
	requests int
	// fails returns the response or the error in place of a token. If it is nil, requests
	// succeed.
	fails func(*http.Request) (*http.Response, error)
	delay time.Duration
}

func (r *registry) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.requests++
	n, fails, delay := r.requests, r.fails, r.delay
	r.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	if err := request.ParseForm(); err != nil {
		return nil, err
	}
	if fails != nil {
		return fails(request)
	}
	return respond(http.StatusOK, fmt.Sprintf(`{"access_token":"%s.%d","token_type":"Bearer","expires_in":600}`, request.PostForm.Get("audience"), n)), nil
}

func (r *registry) set(fails func(*http.Request) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = fails
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

func respond(status int, body string, headers ...string) *http.Response {
	response := &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(headers); i += 2 {
		response.Header.Set(headers[i], headers[i+1])
	}
	return response
}

func answers(status int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return respond(status, body, headers...), nil }
}

func unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func newSource(transport http.RoundTripper) *Source {
	return New(Options{Transport: transport, Observe: func(error) {}, Now: time.Now})
}

func ask(ctx context.Context, s *Source, audience string) (string, error) {
	return s.Token(ctx, Request{URL: "http://registry/v1/token", Token: "mine", Audience: audience})
}

// expect checks the result of Token, and waits until the exchange in the background has
// ended.
func expect(t *testing.T, s *Source, want string, wantErr error) {
	t.Helper()
	if got, err := ask(t.Context(), s, "echo"); got != want || !errors.Is(err, wantErr) || (err == nil) != (wantErr == nil) {
		t.Errorf("Token() = %q, %v, want %q, %v", got, err, want, wantErr)
	}
	synctest.Wait()
}

func TestTokenIsCachedAndRefreshedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		expect(t, s, "echo.1", nil)
		time.Sleep(lifetime/2 - time.Second)
		expect(t, s, "echo.1", nil)
		if r.count() != 1 {
			t.Fatalf("%d exchanges in the first half of the lifetime, want 1", r.count())
		}
		time.Sleep(2 * time.Second)
		expect(t, s, "echo.1", nil) // this call requests the next token in the background
		expect(t, s, "echo.2", nil)
		if r.count() != 2 {
			t.Errorf("%d exchanges, want 2", r.count())
		}
	})
}

func TestCallsShareOneExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{delay: time.Second}
		s := newSource(r)
		first, leave := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := ask(first, s, "echo"); !errors.Is(err, context.Canceled) {
				t.Errorf("Token() error = %v, want that of the context", err)
			}
		})
		synctest.Wait()
		for range 100 {
			calls.Go(func() {
				if token, err := ask(t.Context(), s, "echo"); token != "echo.1" || err != nil {
					t.Errorf("Token() = %q, %v", token, err)
				}
			})
		}
		synctest.Wait()
		leave() // the exchange continues for the other callers
		calls.Wait()
		if r.count() != 1 {
			t.Errorf("%d exchanges for 101 calls, want 1", r.count())
		}
	})
}

func TestTokenIsUsedForItsLifetimeWhileTheRegistryIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		expect(t, s, "echo.1", nil)
		r.set(unreachable)
		for range int(lifetime/time.Minute) - 1 {
			time.Sleep(time.Minute)
			expect(t, s, "echo.1", nil)
		}
		before := r.count()
		for range 100 { // repeated calls cause no further attempts
			expect(t, s, "echo.1", nil)
		}
		if r.count() != before {
			t.Errorf("%d attempts in no time, want none", r.count()-before)
		}
		time.Sleep(time.Minute)
		expect(t, s, "", ErrUnavailable)
		r.set(nil)
		time.Sleep(refreshRetryAfter)
		if token, err := ask(t.Context(), s, "echo"); err != nil || token == "echo.1" {
			t.Errorf("Token() = %q, %v after the registry is back", token, err)
		}
	})
}

func TestSlowRegistryDelaysNoCallWithACachedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		expect(t, s, "echo.1", nil)
		r.mu.Lock()
		r.delay = time.Hour
		r.mu.Unlock()
		time.Sleep(lifetime / 2)
		began := time.Now()
		if token, err := ask(t.Context(), s, "echo"); token != "echo.1" || err != nil || time.Since(began) != 0 {
			t.Errorf("Token() = %q, %v after %v", token, err, time.Since(began))
		}
		began = time.Now()
		if _, err := ask(t.Context(), s, "other"); !errors.Is(err, ErrUnavailable) || time.Since(began) != exchangeTimeout {
			t.Errorf("Token() error = %v after %v, want %v after %v", err, time.Since(began), ErrUnavailable, exchangeTimeout)
		}
		synctest.Wait()
	})
}

func TestInvalidTokenResponsesAreRejected(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"HTML":                 answers(200, "<html>"),
		"empty":                answers(200, ""),
		"no token":             answers(200, `{"token_type":"Bearer","expires_in":600}`),
		"other type":           answers(200, `{"access_token":"a","token_type":"N_A","expires_in":600}`),
		"no expiry":            answers(200, `{"access_token":"a","token_type":"Bearer"}`),
		"expired":              answers(200, `{"access_token":"a","token_type":"Bearer","expires_in":-600}`),
		"header in the token":  answers(200, `{"access_token":"a\r\nX: y","token_type":"Bearer","expires_in":600}`),
		"space in the token":   answers(200, `{"access_token":"a b","token_type":"Bearer","expires_in":600}`),
		"token of 17 KiB":      answers(200, `{"access_token":"`+strings.Repeat("a", 17<<10)+`","token_type":"Bearer","expires_in":600}`),
		"redirect":             answers(302, "", "Location", "http://elsewhere/"),
		"not found":            answers(404, `{"error":{"code":"NotFound"}}`),
		"not allowed":          answers(405, `{"error":{"code":"MethodNotAllowed"}}`),
		"invalid token":        answers(400, `{"error":"invalid_request"}`),
		"internal":             answers(500, ""),
		"connection that ends": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"body that ends": func(*http.Request) (*http.Response, error) {
			response := respond(200, "")
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"access_token":`), &failing{}))
			return response, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &registry{fails: answer}
				s := newSource(r)
				expect(t, s, "", ErrUnavailable)
				if s.Len() != 0 {
					t.Error("a token is cached")
				}
				r.set(nil)
				time.Sleep(retryAfter)
				if _, err := ask(t.Context(), s, "echo"); err != nil {
					t.Errorf("Token() error = %v after the registry is well again", err)
				}
			})
		})
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// large is a response body of 64 MB that counts the bytes that were read.
type large struct {
	io.Reader
	read int
}

func (l *large) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.read += n
	return n, err
}

func TestLargeResponseIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &large{Reader: bytes.NewReader(make([]byte, 64<<20))}
		s := newSource(&registry{fails: func(*http.Request) (*http.Response, error) {
			response := respond(200, "")
			response.Body = io.NopCloser(body)
			return response, nil
		}})
		expect(t, s, "", ErrUnavailable)
		if body.read > 2*maxAnswer {
			t.Errorf("%d bytes of the answer were read, want at most %d", body.read, 2*maxAnswer)
		}
	})
}

func TestRejectionEndsTheUseOfACachedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		expect(t, s, "echo.1", nil)
		r.set(answers(400, `{"error":"invalid_target","error_description":"x"}`))
		time.Sleep(lifetime / 2)
		expect(t, s, "echo.1", nil) // the registry refuses the exchange in the background
		expect(t, s, "", ErrRefused)
	})
}

func TestRetryAfterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{fails: answers(429, `{"error":"slow_down"}`, "Retry-After", "10")}
		s := newSource(r)
		expect(t, s, "", ErrUnavailable)
		time.Sleep(9 * time.Second)
		expect(t, s, "", ErrUnavailable)
		if r.count() != 1 {
			t.Errorf("%d requests within Retry-After, want 1", r.count())
		}
		r.set(answers(503, "", "Retry-After", "99999999999"))
		time.Sleep(time.Second)
		expect(t, s, "", ErrUnavailable)
		r.set(nil)
		time.Sleep(maxRetryAfter)
		expect(t, s, "echo.3", nil)
	})
}

func TestRejectedTokenIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		expect(t, s, "echo.1", nil)
		for range 100 { // the agent rejects every token
			s.Reject("echo", "echo.1")
			expect(t, s, "echo.1", nil)
		}
		time.Sleep(minAge)
		s.Reject("echo", "another")
		expect(t, s, "echo.1", nil)
		s.Reject("echo", "echo.1")
		expect(t, s, "echo.2", nil)
	})
}

func TestCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		for i := range 3 * maxTokens {
			time.Sleep(time.Millisecond)
			if _, err := ask(t.Context(), s, fmt.Sprintf("agent-%d", i)); err != nil {
				t.Fatal(err)
			}
			if s.Len() > maxTokens {
				t.Fatalf("%d tokens are cached, want at most %d", s.Len(), maxTokens)
			}
		}
		before := r.count()
		if _, err := ask(t.Context(), s, fmt.Sprintf("agent-%d", 3*maxTokens-1)); err != nil || r.count() != before {
			t.Errorf("the newest token was evicted: %d exchanges, %v", r.count()-before, err)
		}
	})
}

// askFor requests a token on behalf of a subject.
func askFor(t *testing.T, s *Source, subject *a2a.Subject) (string, error) {
	t.Helper()
	return s.Token(t.Context(), Request{URL: "http://registry/v1/token", Token: "mine", Client: "a.team", Audience: "echo", Subject: subject})
}

// refuses returns the response of the registry to a request with an error and a reason.
func refuses(reason string) *http.Response {
	return respond(http.StatusBadRequest, fmt.Sprintf(`{"error":"invalid_request","error_description":"no","reason":%q}`, reason))
}

func TestTokensAreCachedBySubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		var forms []url.Values
		r.set(func(request *http.Request) (*http.Response, error) {
			forms = append(forms, request.PostForm)
			return respond(http.StatusOK, fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer","expires_in":600}`, len(forms))), nil
		})
		s := newSource(r)
		u1 := &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "token-of-u1"}
		subjects := []*a2a.Subject{
			nil, u1,
			{Principal: "u1", Owner: "u1", Credential: "next-token-of-u1"},
			{Principal: "u1", Owner: "u1"},
			{Principal: "u1", Owner: "u1", Actors: []string{"x"}},
			{Principal: "u2", Owner: "u1"},
			{Principal: "u1", Owner: "u2"},
		}
		for range 2 {
			for i, subject := range subjects {
				if token, err := askFor(t, s, subject); err != nil || token != fmt.Sprintf("token-%d", i+1) {
					t.Errorf("%+v: token %q, %v", subject, token, err)
				}
			}
		}
		if len(forms) != len(subjects) {
			t.Fatalf("%d exchanges, want %d", len(forms), len(subjects))
		}
		want := url.Values{
			"grant_type": {grantType}, "audience": {"echo"}, "subject_token": {"token-of-u1"}, "subject_token_type": {typeJWT},
			"actor_token": {"mine"}, "actor_token_type": {typeJWT}, "client_id": {"a.team"},
		}
		if diff := cmp.Diff(want, forms[1]); diff != "" {
			t.Errorf("form (-want +got):\n%s", diff)
		}
		asserted, err := base64.RawURLEncoding.DecodeString(forms[4].Get("subject_token"))
		if err != nil || string(asserted) != `{"principal":"u1","owner":"u1","actors":["x"]}` || forms[4].Get("subject_token_type") != a2a.TypeAssertedSubject || forms[4].Get("actor_token") != "mine" {
			t.Errorf("asserted: %v, %s", forms[4], asserted)
		}
		for key := range s.cached {
			if strings.Contains(key, "token-of-u1") {
				t.Error("a key of the cache has a credential")
			}
		}
	})
}

func TestUnprovenSubjectIsAsserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		r.set(func(request *http.Request) (*http.Response, error) {
			if request.PostForm.Get("subject_token_type") == typeJWT {
				return refuses(a2a.ReasonSubjectUnproven), nil
			}
			return respond(http.StatusOK, `{"access_token":"asserted","token_type":"Bearer","expires_in":600}`), nil
		})
		s := newSource(r)
		for range 3 {
			if token, err := askFor(t, s, &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "expired"}); err != nil || token != "asserted" {
				t.Errorf("token %q, %v", token, err)
			}
		}
		if r.count() != 2 {
			t.Errorf("%d requests, want 2", r.count())
		}
	})
}

// TestSubjectIsProvenOnceTheRegistryCan checks that an assertion replaces a proof for some seconds only: the registry may
// not have the keys of the subject's issuer yet.
func TestSubjectIsProvenOnceTheRegistryCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		knows := false
		r.set(func(request *http.Request) (*http.Response, error) {
			switch {
			case request.PostForm.Get("subject_token_type") != typeJWT:
				return respond(http.StatusOK, `{"access_token":"asserted","token_type":"Bearer","expires_in":600}`), nil
			case knows:
				return respond(http.StatusOK, `{"access_token":"proven","token_type":"Bearer","expires_in":600}`), nil
			default:
				return refuses(a2a.ReasonSubjectUnproven), nil
			}
		})
		s := newSource(r)
		expect := func(want string, requests int) {
			t.Helper()
			if token, err := askFor(t, s, &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "c"}); err != nil || token != want || r.count() != requests {
				t.Errorf("token %q, %v after %d requests, want %q after %d", token, err, r.count(), want, requests)
			}
		}
		expect("asserted", 2)
		time.Sleep(proveAfter)
		expect("asserted", 4)
		knows = true
		time.Sleep(proveAfter)
		expect("asserted", 4) // the time has doubled
		time.Sleep(proveAfter)
		expect("proven", 5)
	})
}

// TestTokenForASubjectHasHalfOfItsLifetimeLeft checks that the called agent can call further agents for the subject for some
// minutes: it has no other token for the subject.
func TestTokenForASubjectHasHalfOfItsLifetimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		s := newSource(r)
		subject := &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "c"}
		expect := func(want string) {
			t.Helper()
			began := time.Now()
			if token, err := askFor(t, s, subject); err != nil || token != want || time.Since(began) > renewalWait {
				t.Errorf("token %q, %v after %v, want %q", token, err, time.Since(began), want)
			}
		}
		expect("echo.1")
		time.Sleep(lifetime/2 - time.Second)
		expect("echo.1")
		time.Sleep(2 * time.Second)
		expect("echo.2")
		r.set(unreachable)
		time.Sleep(lifetime / 2)
		expect("echo.2") // the registry does not respond
		r.set(nil)
		r.mu.Lock()
		r.delay = 3 * time.Second
		r.mu.Unlock()
		time.Sleep(refreshRetryAfter)
		expect("echo.2") // it responds late
		time.Sleep(r.delay)
		expect("echo.4")
		r.set(answers(http.StatusBadRequest, `{"error":"invalid_target"}`))
		r.mu.Lock()
		r.delay = 0
		r.mu.Unlock()
		time.Sleep(lifetime / 2)
		if token, err := askFor(t, s, subject); token != "" || !errors.Is(err, ErrRefused) {
			t.Errorf("token %q, %v, want ErrRefused", token, err)
		}
	})
}

// TestResourceLearnsOfProvenSubjectsOnly checks that nothing is asserted to an MCP server, and that its tokens are those of no agent.
func TestResourceLearnsOfProvenSubjectsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		var forms []url.Values
		r.set(func(request *http.Request) (*http.Response, error) {
			forms = append(forms, request.PostForm)
			if request.PostForm.Get("subject_token") == "expired" {
				return refuses(a2a.ReasonSubjectUnproven), nil
			}
			return respond(http.StatusOK, `{"access_token":"for-the-server","token_type":"Bearer","expires_in":600}`), nil
		})
		s := newSource(r)
		ask := func(subject *a2a.Subject) (string, error) {
			return s.Token(t.Context(), Request{URL: "http://registry/v1/token", Token: "mine", Client: "a.team", Resource: "https://tools/mcp", Subject: subject})
		}
		for _, subject := range []*a2a.Subject{{Principal: "u1", Owner: "u1"}, {Principal: "u1", Owner: "u1", Credential: "expired"}} {
			if token, err := ask(subject); !errors.Is(err, ErrUnproven) || token != "" {
				t.Errorf("token %q, %v, want ErrUnproven", token, err)
			}
		}
		for _, subject := range []*a2a.Subject{nil, {Principal: "u1", Owner: "u1", Credential: "c"}} {
			if token, err := ask(subject); err != nil || token != "for-the-server" {
				t.Errorf("token %q, %v", token, err)
			}
		}
		want := []url.Values{
			{
				"grant_type": {grantType}, "resource": {"https://tools/mcp"}, "subject_token": {"expired"}, "subject_token_type": {typeJWT},
				"actor_token": {"mine"}, "actor_token_type": {typeJWT}, "client_id": {"a.team"},
			},
			{"grant_type": {grantType}, "resource": {"https://tools/mcp"}, "subject_token": {"mine"}, "subject_token_type": {typeJWT}, "client_id": {"a.team"}},
			{
				"grant_type": {grantType}, "resource": {"https://tools/mcp"}, "subject_token": {"c"}, "subject_token_type": {typeJWT},
				"actor_token": {"mine"}, "actor_token_type": {typeJWT}, "client_id": {"a.team"},
			},
		}
		if diff := cmp.Diff(want, forms); diff != "" {
			t.Errorf("forms (-want +got):\n%s", diff)
		}
	})
}

// TestOtherFailuresAssertNothing checks that a subject whose token may be valid is not asserted.
func TestOtherFailuresAssertNothing(t *testing.T) {
	for name, test := range map[string]struct {
		answer *http.Response
		want   error
	}{
		"chain":   {refuses(a2a.ReasonChain), ErrChain},
		"busy":    {respond(http.StatusServiceUnavailable, `{"error":"temporarily_unavailable"}`), ErrUnavailable},
		"refused": {respond(http.StatusBadRequest, `{"error":"invalid_target"}`), ErrRefused},
		"no JSON": {respond(http.StatusBadRequest, `<html>`), ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := &registry{}
			r.set(func(*http.Request) (*http.Response, error) { return test.answer, nil })
			s := newSource(r)
			if token, err := askFor(t, s, &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "c"}); !errors.Is(err, test.want) || token != "" || r.count() != 1 {
				t.Errorf("token %q, %v after %d requests, want %v", token, err, r.count(), test.want)
			}
		})
	}
}
