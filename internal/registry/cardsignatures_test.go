// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

// signedAgent is the agent team/echo: its card, and the base URLs at which its pods serve the card.
type signedAgent struct {
	// card is the card in the sidecar configuration, with the interfaces of the Service.
	card  *card.Card
	bases []card.Base
}

func newSignedAgent(description string) *signedAgent {
	base := card.NewBase("http://echo.team.svc.cluster.local/")
	c := &card.Card{
		Name: "Écho", Description: description, Version: "1.0.0",
		Skills:          []card.Skill{{ID: "echo", Name: "Echo", Description: "Says back", Tags: []string{"text"}}, {ID: "more", Name: "More", Extended: true}},
		Capabilities:    card.Capabilities{Streaming: true, ExtendedCard: true},
		SecuritySchemes: []card.SecurityScheme{{Name: "kubernetes", Type: card.SchemeHTTP, Scheme: "bearer"}},
	}
	return &signedAgent{c.At(base), []card.Base{card.NewBase("https://agents.example.com/echo/"), base}}
}

func (a *signedAgent) entry(t *testing.T) *index.Entry {
	t.Helper()
	text, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": a.card, "bases": a.bases})
	if err != nil {
		t.Fatal(err)
	}
	e, err := index.NewEntry(index.Facts{Key: index.Key{Namespace: "team", Name: "echo"}, URL: a.bases[1].URL, Ready: true}, index.CardSource{Text: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newSigner(t *testing.T) *signing.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signing.NewSigner([]*signing.Key{key}, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// serve returns the endpoint of a pod that serves the card, and the signatures that its sidecar
// reports.
func (a *signedAgent) serve(t *testing.T, signer *signing.Signer) (*wellknown.Handler, *sidecarconfig.CardSignatures) {
	t.Helper()
	h := &wellknown.Handler{}
	if err := h.Swap(wellknown.Content{Card: a.card, Bases: a.bases, Signer: signer}); err != nil {
		t.Fatal(err)
	}
	signatures, err := signer.Sign(a.card)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := signer.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	return h, &sidecarconfig.CardSignatures{Keys: keys, Signatures: signatures}
}

// addPod adds a ready pod of team/echo. The token of the pod is its name.
func (w *world) addPod(t *testing.T, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{a2av1alpha1.LabelAgent: "echo"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "echo-5d9c", UID: "uid", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if err := w.cluster.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.tokens[name] = caller(t, "system:serviceaccount:team:echo", map[string]authenticationv1.ExtraValue{access.ExtraPodName: {name}, access.ExtraPodUID: {string(pod.UID)}})
}

// report sends a health report of a pod with card signatures.
func (w *world) report(t *testing.T, pod string, s *sidecarconfig.CardSignatures) {
	t.Helper()
	body, err := json.Marshal(sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}, CardSignatures: s})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/health", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+pod)
	r.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusNoContent {
		t.Fatalf("PUT /v1/health = %d %s", recorder.Code, recorder.Body)
	}
}

// newSigningWorld returns a registry with the agent a. The spec of its Agent has card signing.
func newSigningWorld(t *testing.T, a *signedAgent) *world {
	t.Helper()
	w := newWorld(t, snapshotOf(a.entry(t)))
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"}}
	agent.Spec.CardSigning = &a2av1alpha1.AgentCardSigning{}
	if err := w.cluster.Create(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	return w
}

const echoCard = "/v1/agents/team/echo/card"

func trustedKeys(t *testing.T, signer *signing.Signer) (set jose.JSONWebKeySet) {
	t.Helper()
	text, err := signer.JWKS()
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// wantUnsigned checks that the registry serves the card without signatures and with the header
// for omitted signatures.
func (w *world) wantUnsigned(t *testing.T, when string) {
	t.Helper()
	response := w.get(t, "admin", echoCard)
	if body := bodyOf(t, response); strings.Contains(body, "signatures") || response.Header.Get(signaturesHeader) != signaturesOmitted {
		t.Errorf("%s: %v %s", when, response.Header, body)
	}
}

func TestSignedCardsHaveTheBytesThatTheSidecarServes(t *testing.T) {
	agent, signer := newSignedAgent("Says things"), newSigner(t)
	w := newSigningWorld(t, agent)
	w.addPod(t, "echo-1")
	w.wantUnsigned(t, "before a pod reports")
	served, report := agent.serve(t, signer)
	w.report(t, "echo-1", report)
	for version, form := range map[string]card.Form{"1.0": card.FormV10, "0.3": card.FormV03} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://echo.team.svc.cluster.local"+wellknown.Path, nil)
		r.Header.Set("A2A-Version", version)
		want := httptest.NewRecorder()
		served.ServeHTTP(want, r)
		got := w.get(t, "admin", echoCard, "A2A-Version", version)
		body := bodyOf(t, got)
		if diff := cmp.Diff(want.Body.String(), body); diff != "" || got.Header.Get("ETag") != want.Header().Get("ETag") || got.Header.Get(signaturesHeader) != "" {
			t.Errorf("%s: %v (-sidecar +registry):\n%s", version, got.Header, diff)
		}
		if err := signingtest.Verify([]byte(body), form, trustedKeys(t, signer)); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	if again := bodyOf(t, w.get(t, "admin", echoCard)); !strings.Contains(again, "signatures") {
		t.Errorf("a second request: %s", again)
	}
	_, message := w.send10(t, "admin", `{"text":"team/echo"}`, getCard)
	if !strings.Contains(message, `"signatures":[{"protected"`) {
		t.Errorf("get-card: %s", message)
	}
	w.report(t, "echo-1", nil)
	w.wantUnsigned(t, "after the pod withdraws its signatures")
}

func TestOnlySignaturesOfTheServedCardAreServed(t *testing.T) {
	agent, signer := newSignedAgent("Says things"), newSigner(t)
	_, valid := agent.serve(t, signer)
	_, stale := newSignedAgent("Said other things").serve(t, signer)
	_, otherKey := agent.serve(t, newSigner(t))
	for name, report := range map[string]*sidecarconfig.CardSignatures{
		"of another card":          stale,
		"of another key":           {Keys: valid.Keys, Signatures: otherKey.Signatures},
		"one of another card":      {Keys: valid.Keys, Signatures: append(append([]card.Signature(nil), valid.Signatures...), stale.Signatures[0])},
		"no keys":                  {Keys: json.RawMessage(`{}`), Signatures: valid.Signatures},
		"unreadable":               {Keys: valid.Keys, Signatures: []card.Signature{{Protected: "e30", Signature: "x"}}},
		"an algorithm without key": {Keys: valid.Keys, Signatures: []card.Signature{{Protected: "eyJhbGciOiJub25lIn0", Signature: ""}}},
	} {
		w := newSigningWorld(t, agent)
		w.addPod(t, "echo-1")
		w.report(t, "echo-1", report)
		w.wantUnsigned(t, "signatures "+name)
		// Another pod has read the present card.
		w.addPod(t, "echo-2")
		w.report(t, "echo-2", valid)
		body := bodyOf(t, w.get(t, "admin", echoCard))
		if err := signingtest.Verify([]byte(body), card.FormV03, trustedKeys(t, signer)); err != nil {
			t.Errorf("signatures %s of one pod, and valid ones of another: %v", name, err)
		}
	}
}

// readyOf returns the condition Ready of a pod.
func readyOf(pod *corev1.Pod) *corev1.PodCondition {
	return &pod.Status.Conditions[slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })]
}

func TestOnlyReadyPodsOfSigningAgentsCount(t *testing.T) {
	agent := newSignedAgent("Says things")
	_, valid := agent.serve(t, newSigner(t))
	w := newSigningWorld(t, agent)
	w.addPod(t, "echo-1")
	w.report(t, "echo-1", valid)
	if body := bodyOf(t, w.get(t, "admin", echoCard)); !strings.Contains(body, "signatures") {
		t.Fatalf("card = %s", body)
	}
	pod := &corev1.Pod{}
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "echo-1"}, pod); err != nil {
		t.Fatal(err)
	}
	readyOf(pod).Status = corev1.ConditionFalse
	if err := w.cluster.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.wantUnsigned(t, "a pod that is not ready")

	readyOf(pod).Status = corev1.ConditionTrue
	if err := w.cluster.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	signs := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"}}
	if err := w.cluster.Delete(t.Context(), signs); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.Create(t.Context(), &a2av1alpha1.Agent{ObjectMeta: signs.ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	response := w.get(t, "admin", echoCard)
	if body := bodyOf(t, response); strings.Contains(body, "signatures") || response.Header.Get(signaturesHeader) != "" {
		t.Errorf("an Agent that does not sign: %v %s", response.Header, body)
	}
}

// The registry does not read an annotation that is longer than a sidecar writes, even if its
// signatures are valid.
func TestOverlongReportsAreNotRead(t *testing.T) {
	agent := newSignedAgent("Says things")
	_, valid := agent.serve(t, newSigner(t))
	w := newSigningWorld(t, agent)
	w.addPod(t, "echo-1")
	w.report(t, "echo-1", valid)
	pod := &corev1.Pod{}
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "echo-1"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Annotations[a2av1alpha1.AnnotationCardSignatures] += strings.Repeat(" ", 250<<10)
	if err := w.cluster.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.wantUnsigned(t, "a report of 250 KiB")
}

// While a verification occupies the only slot for verifications, a request for a signed card gets
// 503, but a search is answered.
func TestVerificationsUseASeparateSlot(t *testing.T) {
	agent := newSignedAgent("Says things")
	_, valid := agent.serve(t, newSigner(t))
	w := newSigningWorld(t, agent)
	w.addPod(t, "echo-1")
	w.report(t, "echo-1", valid)
	release, err := w.api.signatures.verifications.Acquire(t.Context(), a2a.AccountingPrincipal{Principal: "other"})
	if err != nil {
		t.Fatal(err)
	}
	verifications, searches := limitedRequests(t, "card_verifications"), limitedRequests(t, "concurrent_searches")
	response := w.get(t, "admin", echoCard)
	if body := bodyOf(t, response); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(body, "signatures of other cards") {
		t.Errorf("a card while another one is verified = %d %s, want 503 with Retry-After and the cause", response.StatusCode, body)
	}
	verifications, searches = limitedRequests(t, "card_verifications")-verifications, limitedRequests(t, "concurrent_searches")-searches
	if verifications != 1 || searches != 0 {
		t.Errorf("rejected by the limit card_verifications: %d, by concurrent_searches: %d, want 1 and 0", verifications, searches)
	}
	if response := w.get(t, "admin", "/v1/agents"); response.StatusCode != http.StatusOK {
		t.Errorf("a search while a card is verified = %d, want 200", response.StatusCode)
	}
	release()
	timed := timedSearches(t)
	if body := bodyOf(t, w.get(t, "admin", echoCard)); !strings.Contains(body, "signatures") {
		t.Errorf("the card after that: %s", body)
	}
	if timed = timedSearches(t) - timed; timed != 0 {
		t.Errorf("the verification counts as %d searches in the duration of searches", timed)
	}
}

// TestVerificationsWaitForASecondTogether has many pods with different reports that are not valid, while verifications of another namespace
// take their turns. The request gets its answer after a second, and uses no slot of searches meanwhile.
func TestVerificationsWaitForASecondTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newSignedAgent("Says things")
		_, valid := agent.serve(t, newSigner(t))
		w := newSigningWorld(t, agent)
		securitypage.Attempts(t, "T-SIGNATURES", maxReportsRead)
		for i := range maxReportsRead {
			name := fmt.Sprint("echo-", i)
			w.addPod(t, name)
			w.report(t, name, &sidecarconfig.CardSignatures{Keys: valid.Keys, Signatures: []card.Signature{{Protected: "e30", Signature: fmt.Sprint(i)}}})
		}
		var wg sync.WaitGroup
		for range maxReportsRead { // all wait from the beginning, so that the request gets every second turn
			wg.Go(func() {
				release, err := w.api.signatures.verifications.Acquire(context.Background(), a2a.AccountingPrincipal{Principal: "other"})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(2 * searchTimeout / 3)
				release()
			})
		}
		synctest.Wait()
		began := time.Now()
		var response *http.Response
		wg.Go(func() { response = w.get(t, "admin", echoCard) })
		for range 10 {
			synctest.Wait()
			waiting, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			release, err := w.api.searchLimits.slots.Acquire(waiting, a2a.AccountingPrincipal{Principal: "searches"})
			cancel()
			if err != nil {
				t.Error("a search waits for verifications")
				break
			}
			release()
			time.Sleep(searchTimeout / 10)
		}
		synctest.Wait()
		if response == nil || response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("after %s, the response is %+v, want 503", time.Since(began), response)
		}
		wg.Wait()
	})
}

// TestCardsUseTheSlotsOfSearches requests cards by each API while searches of another tenant occupy all slots. The caller gets 503 as for a
// search. With a slot, the card is served, and does not count in the duration of searches.
func TestCardsUseTheSlotsOfSearches(t *testing.T) {
	w := newWorld(t, fleet(t))
	occupy := func(of *searchLimits) (free func()) {
		releases := []func(){}
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			release, err := of.slots.Acquire(ctx, a2a.AccountingPrincipal{Principal: "other"})
			cancel()
			if err != nil {
				return func() {
					for _, each := range releases {
						each()
					}
				}
			}
			releases = append(releases, release)
		}
	}
	free := occupy(w.api.searchLimits)
	rejected := limitedRequests(t, "concurrent_searches")
	const of = "/v1/agents/team-a/echo/card"
	if response := w.get(t, "home", of); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("a card without a slot = %d %s, want 503 with Retry-After", response.StatusCode, bodyOf(t, response))
	}
	if _, message := w.send10(t, "home", `{"text":"team-a/echo"}`, getCard); strings.Contains(message, `"supportedInterfaces"`) {
		t.Errorf("get-card without a slot = %s", message)
	}
	if rejected = limitedRequests(t, "concurrent_searches") - rejected; rejected != 2 {
		t.Errorf("the limit of searches has rejected %d cards, want 2", rejected)
	}
	free()
	timed := timedSearches(t)
	if response := w.get(t, "home", of); response.StatusCode != http.StatusOK {
		t.Errorf("a card with a slot = %d", response.StatusCode)
	}
	if timed = timedSearches(t) - timed; timed != 0 {
		t.Errorf("the card counts as %d searches in the duration of searches", timed)
	}
}

// TestCardWaitsForMemory requests a card while another response uses the memory.
func TestCardWaitsForMemory(t *testing.T) {
	w := newWorld(t, fleet(t))
	w.api.searchLimits.responses = limit.NewBudget(1<<10, time.Minute)
	full, err := w.api.searchLimits.reserve(t.Context(), a2a.AccountingPrincipal{Principal: "other"}, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, full)
	const of = "/v1/agents/team-a/echo/card"
	if response := w.get(t, "home", of); response.StatusCode != http.StatusOK {
		t.Errorf("a card that gets memory in time = %d", response.StatusCode)
	}
	full, err = w.api.searchLimits.reserve(t.Context(), a2a.AccountingPrincipal{Principal: "other"}, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer full()
	etag := w.get(t, "home", of, "If-None-Match", "*").Header.Get("ETag")
	if response := w.get(t, "home", of, "If-None-Match", etag); response.StatusCode != http.StatusNotModified {
		t.Errorf("a card that the client has = %d without memory", response.StatusCode)
	}
}

// limitedRequests returns the number of requests that a limit has rejected.
func limitedRequests(t *testing.T, name string) int {
	t.Helper()
	var m dto.Metric
	if err := limited.WithLabelValues(name).Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetCounter().GetValue())
}

// timedSearches returns the number of searches in the histogram of their durations.
func timedSearches(t *testing.T) int {
	t.Helper()
	var m dto.Metric
	if err := searchDuration.Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetHistogram().GetSampleCount())
}
