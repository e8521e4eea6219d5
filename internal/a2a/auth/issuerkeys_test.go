// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

// provider is a fake issuer. Its responses need no network.
type provider struct {
	mu      sync.Mutex
	answers map[string]string
	status  int
	down    bool
	hangs   bool
	asked   []string
}

// set changes the responses of the issuer.
func (p *provider) set(change func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.String())
	if p.down {
		return nil, errors.New("no route")
	}
	text, ok := p.answers[r.URL.String()]
	status := p.status
	if status == 0 {
		status = http.StatusOK
	}
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader(text)), Request: r,
		Header: http.Header{"Location": {"https://evil.example/keys"}},
	}, nil
}

func discovery(issuer, jwks string) string {
	return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, jwks)
}

const (
	oidcIssuer = "https://login.example/realms/one"
	oidcKeys   = "https://keys.example/jwks"
)

func newProvider(keys []byte) *provider {
	return &provider{answers: map[string]string{
		oidcIssuer + discoveryPath: discovery(oidcIssuer, oidcKeys),
		oidcKeys:                   string(keys),
	}}
}

func newIssuerKeys(p *provider, source KeySource) *IssuerKeys {
	return NewIssuerKeys(IssuerKeysConfig{
		Source: source, Transport: p, Observe: func(error) {}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

// inBackground calls Run until the test ends.
func inBackground(t *testing.T, k *IssuerKeys) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	synctest.Wait()
}

func TestIssuerKeysAreFetched(t *testing.T) {
	s := newSigner(t)
	good := string(s.keys(t))
	const set = "https://keys.example/other"
	discover := oidcIssuer + discoveryPath
	tests := map[string]struct {
		source  KeySource
		answers map[string]string
		status  int
		asked   []string
		known   bool
	}{
		"by discovery":         {KeySource{Issuer: oidcIssuer}, map[string]string{discover: discovery(oidcIssuer, oidcKeys), oidcKeys: good}, 200, []string{discover, oidcKeys}, true},
		"by URL":               {KeySource{Issuer: oidcIssuer, URL: set}, map[string]string{set: good}, 200, []string{set}, true},
		"issuer with a slash":  {KeySource{Issuer: oidcIssuer + "/"}, map[string]string{discover: discovery(oidcIssuer+"/", oidcKeys), oidcKeys: good}, 200, []string{discover, oidcKeys}, true},
		"in the cluster":       {KeySource{Issuer: "http://dex.auth.svc"}, map[string]string{"http://dex.auth.svc" + discoveryPath: discovery("http://dex.auth.svc", "http://dex.auth.svc/k"), "http://dex.auth.svc/k": good}, 200, []string{"http://dex.auth.svc" + discoveryPath, "http://dex.auth.svc/k"}, true},
		"of another issuer":    {KeySource{Issuer: oidcIssuer}, map[string]string{discover: discovery("https://evil.example", oidcKeys)}, 200, []string{discover}, false},
		"keys without TLS":     {KeySource{Issuer: oidcIssuer}, map[string]string{discover: discovery(oidcIssuer, "http://keys.example/jwks"), "http://keys.example/jwks": good}, 200, []string{discover}, false},
		"keys in a file":       {KeySource{Issuer: oidcIssuer}, map[string]string{discover: discovery(oidcIssuer, "file:///etc/passwd")}, 200, []string{discover}, false},
		"no address":           {KeySource{Issuer: oidcIssuer}, map[string]string{discover: `{"issuer":"` + oidcIssuer + `"}`}, 200, []string{discover}, false},
		"discovery is no JSON": {KeySource{Issuer: oidcIssuer}, map[string]string{discover: "<html>"}, 200, []string{discover}, false},
		"a redirect":           {KeySource{Issuer: oidcIssuer, URL: set}, map[string]string{set: good}, 302, []string{set}, false},
		"an error":             {KeySource{Issuer: oidcIssuer, URL: set}, map[string]string{set: good}, 500, []string{set}, false},
		"too large":            {KeySource{Issuer: oidcIssuer, URL: set}, map[string]string{set: good + strings.Repeat(" ", maxKeysBytes)}, 200, []string{set}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{answers: test.answers, status: test.status}
				k := newIssuerKeys(p, test.source)
				inBackground(t, k)
				if got := k.current(time.Now()) != nil; got != test.known {
					t.Errorf("keys are known: %v", got)
				}
				if diff := cmp.Diff(test.asked, p.asked); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestKeysAreUsedForAnHourWithoutTheIssuer checks that the last keys are used for an hour
// after the issuer has failed, and no keys after that.
func TestKeysAreUsedForAnHourWithoutTheIssuer(t *testing.T) {
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(s.keys(t))
		k := newIssuerKeys(p, KeySource{Issuer: oidcIssuer})
		inBackground(t, k)
		first := k.current(time.Now())
		time.Sleep(keysInterval)
		synctest.Wait()
		if k.current(time.Now()) != first {
			t.Error("equal keys are a new set")
		}
		p.set(func(p *provider) { p.down = true })
		time.Sleep(maxKeysAge)
		synctest.Wait()
		if k.current(time.Now()) == nil {
			t.Error("keys are not used within the hour")
		}
		time.Sleep(time.Second)
		if k.current(time.Now()) != nil {
			t.Error("keys are used after the hour")
		}
		p.set(func(p *provider) { p.down = false })
		time.Sleep(keysBackoff)
		synctest.Wait()
		if k.current(time.Now()) != first {
			t.Error("keys are not fetched a minute after the issuer answers again")
		}
	})
}

// TestForgedKeysDelayNewKeysLittle sends tokens of unknown keys all the time. A key that the issuer publishes meanwhile is known ten seconds
// later, and the issuer is not asked more often than that.
func TestForgedKeysDelayNewKeysLittle(t *testing.T) {
	first, second := newSigner(t), newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(first.keys(t))
		k := newIssuerKeys(p, KeySource{Issuer: oidcIssuer, URL: oidcKeys})
		inBackground(t, k)
		former := k.current(time.Now())
		forge := func(seconds int) {
			for range seconds {
				for range 100 {
					k.requestFetch(k.current(time.Now()))
				}
				time.Sleep(time.Second)
			}
			synctest.Wait()
		}
		forge(2 * 60)
		if n := len(p.asked); n > 14 {
			t.Errorf("%d requests in two minutes, want the first, one at once and one each ten seconds", n)
		}
		p.set(func(p *provider) { p.answers[oidcKeys] = string(second.keys(t)) })
		forge(10)
		if k.current(time.Now()) == former {
			t.Error("the new key is not known after ten seconds")
		}
	})
}

// TestTokenFindsTheFetchEnded looks for a key in former keys, which a fetch replaces before the token asks for newer ones.
func TestTokenFindsTheFetchEnded(t *testing.T) {
	first, second := newSigner(t), newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(first.keys(t))
		k := newIssuerKeys(p, KeySource{Issuer: oidcIssuer, URL: oidcKeys})
		inBackground(t, k)
		former := k.current(time.Now())
		p.set(func(p *provider) { p.answers[oidcKeys] = string(second.keys(t)) })
		fetched := k.newer(t.Context(), former)
		if fetched == nil {
			t.Fatal("the new key is not fetched")
		}
		if k.newer(t.Context(), former) != fetched {
			t.Error("a token that has looked in the former keys does not get the fetched ones")
		}
		time.Sleep(2 * keysPause)
		synctest.Wait()
		if n := len(p.asked); n != 2 {
			t.Errorf("%d requests, want two", n)
		}
	})
}

// TestHangingIssuerDelaysNoTokenForLong lets the issuer hang when it has a new key. Tokens with this key wait for two seconds at most, and not
// at all once the fetch has failed. A fetch at the end of Run wakes them, too.
func TestHangingIssuerDelaysNoTokenForLong(t *testing.T) {
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(s.keys(t))
		k := newIssuerKeys(p, KeySource{Issuer: oidcIssuer, URL: oidcKeys})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			k.Run(ctx)
			close(ended)
		}()
		synctest.Wait()
		former := k.current(time.Now())
		waits := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if k.newer(t.Context(), former) != nil || time.Since(began) != want {
				t.Errorf("newer() returns after %s, want no keys after %s", time.Since(began), want)
			}
		}
		p.set(func(p *provider) { p.hangs = true })
		waits(keysWait)
		waits(keysWait)
		time.Sleep(keysTimeout)
		waits(0)
		time.Sleep(keysPause)
		time.AfterFunc(time.Second, stop)
		waits(time.Second)
		<-ended
		waits(0)
	})
}

func TestFailedFetchesBackOff(t *testing.T) {
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(s.keys(t))
		p.down = true
		k := newIssuerKeys(p, KeySource{Issuer: oidcIssuer, URL: oidcKeys})
		inBackground(t, k)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// The requests are sent after 0, 1, 3, 7, 15, 31 and 63 s, and then every minute.
		if n := len(p.asked); n < 12 || n > 16 {
			t.Errorf("%d requests in ten minutes", n)
		}
	})
}

func TestParseKeys(t *testing.T) {
	s, weak := newSigner(t), weakKey(t)
	text := func(keys ...jose.JSONWebKey) string {
		out, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	good := jose.JSONWebKey{Key: s.ecdsa.Public(), KeyID: "e"}
	one := strings.TrimSuffix(strings.TrimPrefix(text(good), `{"keys":[`), `]}`)
	tests := map[string]struct {
		text string
		want int
	}{
		"no JSON":                    {"x", 0},
		"no set":                     {"[]", 0},
		"null":                       {"null", 0},
		"trailing data":              {text(good) + "{}", 0},
		"none":                       {`{"keys":[]}`, 0},
		"secret":                     {`{"keys":[{"kty":"oct","k":"c2VjcmV0c2VjcmV0"}]}`, 0},
		"private":                    {text(jose.JSONWebKey{Key: s.ecdsa}), 0},
		"RSA of 1024 bits":           {text(jose.JSONWebKey{Key: weak.Public()}), 0},
		"for encryption":             {text(jose.JSONWebKey{Key: s.rsa.Public(), Use: "enc"}), 0},
		"to wrap other keys":         {`{"keys":[` + strings.Replace(one, "{", `{"key_ops":["wrapKey"],`, 1) + `]}`, 0},
		"to verify":                  {`{"keys":[` + strings.Replace(one, "{", `{"key_ops":["verify"],`, 1) + `]}`, 1},
		"good beside unknown":        {`{"keys":[{"kty":"LATTICE"},7,` + one + `]}`, 1},
		"all kinds":                  {string(s.keys(t)), 2},
		"too many":                   {`{"keys":[` + strings.Repeat(one+",", maxKeys) + one + `]}`, 0},
		"the maximum number of keys": {`{"keys":[` + strings.Repeat(one+",", maxKeys-1) + one + `]}`, maxKeys},
		"point not on its curve":     {`{"keys":[{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"}]}`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys, err := parseKeys([]byte(test.text))
			if len(keys) != test.want || (err == nil) != (test.want > 0) {
				t.Errorf("parseKeys() = %d keys, %v, want %d", len(keys), err, test.want)
			}
		})
	}
}
