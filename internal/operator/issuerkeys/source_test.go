// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

const (
	configuration = `{"issuer":"https://issuer.example","jwks_uri":"https://elsewhere"}`
	oneKey        = `{"keys":[{"kid":"a"}]}`
)

// documents is an API server with fixed answers, which a test sets.
type documents struct {
	mutex         sync.Mutex
	configuration string
	keys          string
	err           error
	reads         atomic.Int32
}

func (d *documents) Get(_ context.Context, path string) ([]byte, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.reads.Add(1)
	switch {
	case d.err != nil:
		return nil, d.err
	case path == configurationPath:
		return []byte(d.configuration), nil
	case path == keysPath:
		return []byte(d.keys), nil
	default:
		return nil, errors.New("no such document")
	}
}

// answer sets the key set, or the error, that the API server returns from now on.
func (d *documents) answer(keys string, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.keys, d.err = keys, err
}

// answerIssuer sets the OpenID configuration that the API server returns from now on.
func (d *documents) answerIssuer(configuration string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.configuration = configuration
}

func TestParse(t *testing.T) {
	const want = `{"keys":[{"kid":"a","kty":"EC"},{"kid":"b","kty":"RSA"}]}`
	for _, keys := range []string{
		`{"keys":[{"kid":"a","kty":"EC"},{"kid":"b","kty":"RSA"}]}`,
		`{ "keys": [ {"kty":"RSA","kid":"b"}, {"kty":"EC","kid":"a"} ] }`,
	} {
		got, err := parse([]byte(configuration), []byte(keys))
		if err != nil {
			t.Fatalf("parse() error = %v", err)
		}
		encoded, err := encode(got.keys)
		if err != nil || got.url != "https://issuer.example" {
			t.Errorf("parse() = %v; encode() error = %v", got, err)
		}
		if diff := cmp.Diff(want, string(encoded)); diff != "" {
			t.Errorf("encode() (-want +got):\n%s", diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ configuration, keys string }{
		"no JSON":        {"<html>", `{"keys":[{}]}`},
		"no issuer":      {`{}`, `{"keys":[{}]}`},
		"keys no JSON":   {configuration, "<html>"},
		"no keys":        {configuration, `{"keys":[]}`},
		"keys no object": {configuration, `[]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := parse([]byte(test.configuration), []byte(test.keys)); err == nil {
				t.Errorf("parse() = %v, want an error", got)
			}
		})
	}
}

func TestSourceFollowsTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, nil)
		start(t, source)

		synctest.Wait()
		if got := source.Current(); got == nil || string(got.Keys) != oneKey {
			t.Fatalf("Current() = %v", got)
		}
		expectChange(t, source, true)

		time.Sleep(2 * refreshPeriod)
		synctest.Wait()
		expectChange(t, source, false)

		const rotated = `{"keys":[{"kid":"b"}]}`
		server.answer(rotated, nil)
		time.Sleep(2 * refreshPeriod)
		synctest.Wait()
		expectChange(t, source, true)
		if got, want := string(source.Current().Keys), `{"keys":[{"kid":"a"},{"kid":"b"}]}`; got != want {
			t.Errorf("Current() = %s, want %s", got, want)
		}
		time.Sleep(retainedKeys + 2*refreshPeriod)
		synctest.Wait()
		expectChange(t, source, true)
		if got := source.Current(); string(got.Keys) != rotated {
			t.Errorf("Current() = %s, want %s", got.Keys, rotated)
		}
	})
}

// TestReplicasWithOtherKeysChangeTheKeysOnce reads, in turns, from two API servers of one control
// plane with different keys. The keys of the Source must change once, to the union of both.
func TestReplicasWithOtherKeysChangeTheKeysOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, nil)
		start(t, source)
		synctest.Wait()
		expectChange(t, source, true)
		changes := 0
		for range 20 {
			for _, keys := range []string{`{"keys":[{"kid":"b"},{"kid":"a"}]}`, `{"keys":[{"kid":"b"}]}`, oneKey} {
				server.answer(keys, nil)
				time.Sleep(2 * refreshPeriod)
				synctest.Wait()
				select {
				case <-source.Changes():
					changes++
				default:
				}
			}
		}
		if changes != 1 {
			t.Errorf("%d changes, want 1: both keys", changes)
		}
		if got, want := string(source.Current().Keys), `{"keys":[{"kid":"a"},{"kid":"b"}]}`; got != want {
			t.Errorf("Current() = %s, want %s", got, want)
		}
	})
}

// TestFormerIssuersStayForADay changes the issuer of a control plane with two API servers. The source must accept both issuers
// from the first answer of the new one until a day after the last answer of the former one, and change twice.
func TestFormerIssuersStayForADay(t *testing.T) {
	const former = `{"issuer":"https://former.example"}`
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: former, keys: oneKey}
		source := New(server.Get, nil)
		start(t, source)
		synctest.Wait()
		expectChange(t, source, true)

		for range 10 {
			for _, next := range []string{configuration, former} {
				server.answerIssuer(next)
				time.Sleep(2 * refreshPeriod)
				synctest.Wait()
			}
		}
		expectChange(t, source, true)
		expectChange(t, source, false)
		both := []string{"https://former.example", "https://issuer.example"}
		if got := source.Current(); !slices.Equal(append([]string{got.URL}, got.Others...), both) {
			t.Errorf("issuers = %s %s, want %s", got.URL, got.Others, both)
		}

		server.answerIssuer(configuration)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := source.Current(); len(got.Others) != 1 {
			t.Errorf("issuers after a day = %s %s, want both", got.URL, got.Others)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		expectChange(t, source, true)
		if got := source.Current(); got.URL != "https://issuer.example" || len(got.Others) != 0 {
			t.Errorf("issuers = %s %s, want the new one only", got.URL, got.Others)
		}
	})
}

// TestAcceptedTokensExtendAnIssuer reports tokens that a TokenReview has accepted: of an unknown issuer, which must be in use before
// the next period, and of a former issuer, which must stay in use.
func TestAcceptedTokensExtendAnIssuer(t *testing.T) {
	const former = "https://former.example"
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, nil)
		start(t, source)
		synctest.Wait()
		expectChange(t, source, true)

		reads := server.reads.Load()
		for range 100 {
			source.Accepted(former, false)
		}
		time.Sleep(leastPeriod)
		synctest.Wait()
		expectChange(t, source, true)
		if got := source.Current(); !slices.Contains(append(got.Others, got.URL), former) {
			t.Errorf("issuers after a second = %s %s, want the accepted one, too", got.URL, got.Others)
		}
		if read := server.reads.Load() - reads; read > 4 {
			t.Errorf("%d reads for a hundred tokens, want at most 4", read)
		}
		for range 10 {
			time.Sleep(20 * time.Hour)
			source.Accepted(former, true)
		}
		time.Sleep(20 * time.Hour)
		synctest.Wait()
		expectChange(t, source, false)
		if got := source.Current(); len(got.Others) != 1 {
			t.Errorf("issuers = %s %s, want both while tokens are accepted", got.URL, got.Others)
		}
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		expectChange(t, source, true)
		if got := source.Current(); len(got.Others) != 0 {
			t.Errorf("issuers = %s %s, want one after a day without a token", got.URL, got.Others)
		}
	})
}

// TestARestartKeepsFormerIssuers restarts during a change of the issuer. Pods have tokens of the former one for a day, and sidecars, whose tokens last
// an hour, show none of them.
func TestARestartKeepsFormerIssuers(t *testing.T) {
	const former = "https://former.example"
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, func(context.Context) []string { return []string{former, "https://issuer.example"} })
		start(t, source)
		synctest.Wait()
		if got := source.Current(); !slices.Equal(append([]string{got.URL}, got.Others...), []string{former, "https://issuer.example"}) {
			t.Errorf("issuers = %s %s, want the former one, too", got.URL, got.Others)
		}
		time.Sleep(retainedIssuers - 2*refreshPeriod)
		synctest.Wait()
		if got := source.Current(); len(got.Others) != 1 {
			t.Errorf("issuers after less than a day = %s %s, want the former one, too", got.URL, got.Others)
		}
		time.Sleep(4 * refreshPeriod)
		synctest.Wait()
		if got := source.Current(); got.URL != "https://issuer.example" || len(got.Others) != 0 {
			t.Errorf("issuers after a day = %s %s, want the new one only", got.URL, got.Others)
		}
	})
}

// TestIssuersOfBeforeARestartAreBounded leaves room for the issuers that the API server shows.
func TestIssuersOfBeforeARestartAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, func(context.Context) []string {
			return []string{"https://0.example", "https://1.example", "https://2.example", "https://3.example", "https://4.example"}
		})
		securitypage.Attempts(t, "T-FORMER", 5)
		start(t, source)
		synctest.Wait()
		if got := source.Current(); len(got.Others) != maxUnproven-1 {
			t.Errorf("issuers = %s %s, want %d in all", got.URL, got.Others, maxUnproven)
		}
	})
}

// TestPartitionDuringAnIssuerChange lets a client with a token of the former issuer, and later one of the new issuer, call once in a
// second. Two API servers answer in turns while the issuer changes, the manager reaches none of them for hours, and restarts in that
// time. Nobody who has a token that an API server has issued is refused, but for the new token until the first read after the partition.
func TestPartitionDuringAnIssuerChange(t *testing.T) {
	const former, present = "https://former.example", "https://issuer.example"
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: `{"issuer":"` + former + `"}`, keys: oneKey}
		// configured is what the sidecars have: the last configuration that a manager has written.
		var configured []string
		var source *Source
		// restart begins a manager, and returns the function that ends it.
		restart := func() func() {
			ctx, stop := context.WithCancel(log.IntoContext(t.Context(), logr.Discard()))
			running := make(chan error, 1)
			source = New(server.Get, func(context.Context) []string { return configured })
			go func() { running <- source.Start(ctx) }()
			return func() {
				stop()
				if err := <-running; err != nil {
					t.Errorf("Start() error = %v", err)
				}
			}
		}
		call := func(seconds int, issuers ...string) {
			t.Helper()
			for range seconds {
				time.Sleep(time.Second)
				synctest.Wait()
				if current := source.Current(); current != nil {
					configured = append([]string{current.URL}, current.Others...)
				}
				for _, issuer := range issuers {
					if !slices.Contains(configured, issuer) {
						t.Fatalf("a token of %s is refused; the sidecar accepts %s", issuer, configured)
					}
				}
			}
		}
		end := restart()
		call(60, former)
		for range 8 {
			for _, issuer := range []string{present, former} {
				server.answerIssuer(`{"issuer":"` + issuer + `"}`)
				call(20, former)
			}
		}
		server.answerIssuer(`{"issuer":"` + present + `"}`)
		server.answer(oneKey, errors.New("no route to host"))
		call(3*3600, former)
		end()
		end = restart()
		call(3600, former)
		server.answer(`{"keys":[{"kid":"a"},{"kid":"b"}]}`, nil)
		call(20, former)
		call(20*3600, former, present)
		end()
	})
}

// TestAcceptedIssuersAreBounded checks that tokens of many issuers, which another authenticator of the API server may accept, do not
// fill the memory.
func TestAcceptedIssuersAreBounded(t *testing.T) {
	source := New(nil, nil)
	for i := range 1000 {
		source.Accepted(fmt.Sprintf("https://%d.example", i), false)
	}
	if got := len(source.takeAccepted()); got != maxIssuers {
		t.Errorf("%d issuers, want %d", got, maxIssuers)
	}
}

// TestAnOutageDropsNothing checks that the time without an answer does not count.
func TestAnOutageDropsNothing(t *testing.T) {
	a := answer{url: "https://a.example", keys: []key{{id: "a", text: `{"kid":"a"}`}}}
	b := answer{url: "https://b.example", keys: []key{{id: "b", text: `{"kid":"b"}`}}}
	var all retained
	now := time.Unix(0, 0)
	for _, each := range []answer{a, b, a} {
		if _, err := all.merge(each, nil, nil, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	got, err := all.merge(a, nil, nil, now)
	if err != nil || len(got.Others) != 1 {
		t.Fatalf("issuers = %+v, %v, want both", got, err)
	}
	if got, err = all.merge(b, nil, nil, now.Add(48*time.Hour)); err != nil || len(got.Others) != 1 || string(got.Keys) != `{"keys":[{"kid":"a"},{"kid":"b"}]}` {
		t.Errorf("after an outage of two days: %+v, %v, want both issuers and keys", got, err)
	}
}

func TestSourceKeepsTheLastGoodKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey}
		source := New(server.Get, nil)
		start(t, source)
		synctest.Wait()
		expectChange(t, source, true)

		server.answer(oneKey, errors.New("connection refused"))
		time.Sleep(time.Hour)
		synctest.Wait()
		expectChange(t, source, false)
		if got := source.Current(); got == nil || string(got.Keys) != oneKey {
			t.Errorf("Current() = %v, want the last good keys", got)
		}
	})
}

func TestSourceRetriesSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &documents{configuration: configuration, keys: oneKey, err: errors.New("connection refused")}
		source := New(server.Get, nil)
		start(t, source)
		synctest.Wait()
		if source.Current() != nil {
			t.Fatalf("Current() = %v, want nil", source.Current())
		}
		select {
		case <-source.Tried():
		default:
			t.Error("Tried() is open after a read that failed")
		}

		server.answer(oneKey, nil)
		time.Sleep(2 * retryPeriod)
		synctest.Wait()
		expectChange(t, source, true)
		if source.Current() == nil {
			t.Error("Current() = nil after a retry that worked")
		}
		if reads := server.reads.Load(); reads != 3 {
			t.Errorf("%d reads, want 3: one that failed, two that did not", reads)
		}
	})
}

// start runs a source until the test ends.
func start(t *testing.T, source *Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(log.IntoContext(t.Context(), logr.Discard()))
	done := make(chan error)
	go func() { done <- source.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start() error = %v", err)
		}
	})
}

func expectChange(t *testing.T, source *Source, want bool) {
	t.Helper()
	got := false
	select {
	case <-source.Changes():
		got = true
	default:
	}
	if got != want {
		t.Errorf("a change was told: %v, want %v", got, want)
	}
}
