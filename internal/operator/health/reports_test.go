// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/operator/leaderfence"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// podStore is a cache with one pod, and the API server behind it.
type podStore struct {
	client.Reader
	client.SubResourceWriter
	pod     corev1.Pod
	account corev1.ServiceAccount
	// counted counts heartbeats.
	counted *Heartbeats
	patches []string
	err     error
}

func (s *podStore) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if account, is := into.(*corev1.ServiceAccount); is && key == client.ObjectKeyFromObject(&s.account) {
		s.account.DeepCopyInto(account)
		return nil
	}
	if _, is := into.(*corev1.Pod); !is || key != client.ObjectKeyFromObject(&s.pod) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
	}
	s.pod.DeepCopyInto(into.(*corev1.Pod))
	return nil
}

func (s *podStore) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := p.Data(o)
	if err != nil || p.Type() != types.StrategicMergePatchType {
		return err
	}
	s.patches = append(s.patches, string(data))
	var patch corev1.Pod
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	for _, next := range patch.Status.Conditions {
		found := false
		for i := range s.pod.Status.Conditions {
			if s.pod.Status.Conditions[i].Type == next.Type {
				s.pod.Status.Conditions[i], found = next, true
			}
		}
		if !found {
			s.pod.Status.Conditions = append(s.pod.Status.Conditions, next)
		}
	}
	return s.err
}

func newReports(t *testing.T) (pods *podStore, clock *testclock.FakePassiveClock, put func(token, body string) (int, string)) {
	t.Helper()
	clock = testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pods = &podStore{pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "echo-1", UID: "u1", Labels: map[string]string{a2av1alpha1.LabelAgent: "echo"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "echo-5d9c", UID: "uid", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}}
	tokens := map[string]auth.BoundPod{}
	for token, uid := range map[string]string{"echo-1": "u1", "former echo-1": "u0", "echo-2": "u2"} {
		tokens[token] = auth.BoundPod{Namespace: "team", Name: strings.TrimPrefix(token, "former "), UID: uid}
	}
	reports := newReportsOf(pods, pods, nil, clock)
	return pods, clock, func(token, body string) (int, string) {
		serve := reports.Put
		if of, found := strings.CutPrefix(token, "POST /v1/alive "); found {
			serve, token = reports.Alive, of
		}
		reports.options.Heartbeats = pods.counted
		w := httptest.NewRecorder()
		err := serve(w, httptest.NewRequest(http.MethodPut, "/v1/health", strings.NewReader(body)), tokens[token])
		if refused, ok := errors.AsType[*apierror.Error](err); ok {
			refused.Write(w)
		} else if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return w.Code, w.Body.String()
	}
}

func newReportsOf(pods client.Reader, status client.SubResourceWriter, annotations client.Writer, clock clock.PassiveClock) *Reports {
	return New(Options{Pods: pods, Status: status, Annotations: annotations, Limited: prometheus.NewCounter(prometheus.CounterOpts{}), Clock: clock})
}

// TestHeartbeats sends heartbeats of pods that a review has authenticated.
func TestHeartbeats(t *testing.T) {
	pods, clock, put := newReports(t)
	elected := make(chan struct{})
	reports := NewHeartbeats(elected, clock)
	if !reports.Last("u1").IsZero() {
		t.Error("reports are counted before this replica is the leader")
	}
	alive := func(token string) int {
		t.Helper()
		status, _ := put("POST /v1/alive "+token, "")
		return status
	}
	pods.counted = reports
	if got := alive("echo-1"); got != http.StatusAccepted {
		t.Errorf("a replica that is not the leader answers %d", got)
	}
	close(elected)
	began := clock.Now()
	if got := reports.Last("u1"); !got.Equal(began) {
		t.Errorf("the leader counts since %s, want %s", got, began)
	}
	clock.SetTime(began.Add(time.Minute))
	for token, want := range map[string]int{
		"echo-1": http.StatusNoContent, "former echo-1": http.StatusConflict, "echo-2": http.StatusConflict,
	} {
		if got := alive(token); got != want {
			t.Errorf("a heartbeat of %s is answered with %d, want %d", token, got, want)
		}
	}
	if got := reports.Last("u1"); !got.Equal(began.Add(time.Minute)) {
		t.Errorf("the last heartbeat was at %s", got)
	}
	if got := reports.Last("u2"); !got.Equal(began) {
		t.Errorf("a pod without a heartbeat has one at %s", got)
	}
	for range 20 {
		clock.SetTime(clock.Now().Add(forgetHeartbeats / 2))
		reports.count(types.UID(clock.Now().String()))
	}
	if len(reports.last) > 3 || len(pods.patches) != 0 {
		t.Errorf("%d heartbeats are remembered, %d patches of the pod", len(reports.last), len(pods.patches))
	}
}

// TestHeartbeatOfASignedToken sends a heartbeat with a token whose signature the registry has verified.
func TestHeartbeatOfASignedToken(t *testing.T) {
	pods, clock, _ := newReports(t)
	pods.account = corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo", UID: "a1"}}
	h := newReportsOf(pods, nil, nil, clock)
	bound := auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1", Account: "echo", AccountUID: "a1"}
	former, other := bound, bound
	former.AccountUID = "a0"
	other.Account = "other"
	for pod, want := range map[auth.BoundPod]string{
		bound: "", former: "the ServiceAccount of the token has been deleted", other: "the ServiceAccount of the token has been deleted",
		{Namespace: "team", Name: "echo-1", UID: "u0", Account: "echo", AccountUID: "a1"}: "has no pod of an Agent",
	} {
		w := httptest.NewRecorder()
		err := h.Alive(w, httptest.NewRequest(http.MethodPost, "/v1/alive", http.NoBody), pod)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", pod, err, want)
		}
	}
}

const refusedStore = `{"dependencies":[{"dependency":"TaskStore","cause":"ConnectionRefused","message":"redis:6379:\nconnection refused"}]}`

func TestHealthReports(t *testing.T) {
	pods, clock, put := newReports(t)
	send := func(body string, patches int) {
		t.Helper()
		if status, answer := put("echo-1", body); status != http.StatusNoContent || len(pods.patches) != patches {
			t.Fatalf("PUT = %d %s with %d patches, want 204 with %d", status, answer, len(pods.patches), patches)
		}
	}
	send(`{"dependencies":[]}`, 1) // no dependency fails or has failed: the condition shows that the sidecar reports
	send(`{"dependencies":[]}`, 1)
	send(refusedStore, 2)
	send(refusedStore, 2) // the pod already has this condition
	first := metav1.NewTime(clock.Now())
	clock.SetTime(clock.Now().Add(time.Minute))
	send(`{"dependencies":[{"dependency":"TaskStore","cause":"AuthenticationFailed","message":"redis:6379: WRONGPASS"}]}`, 3)
	want := []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: "a2a-operator.dev/Registry", Status: corev1.ConditionTrue, Reason: "Healthy", LastTransitionTime: first},
		{
			Type: "a2a-operator.dev/TaskStore", Status: corev1.ConditionFalse, Reason: "AuthenticationFailed",
			Message: "redis:6379: WRONGPASS", LastTransitionTime: first,
		},
	}
	equalTimes := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
	if diff := cmp.Diff(want, pods.pod.Status.Conditions, equalTimes); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	send(`{"dependencies":[]}`, 4)
	want[2] = corev1.PodCondition{
		Type: "a2a-operator.dev/TaskStore", Status: corev1.ConditionTrue, Reason: "Healthy", LastTransitionTime: metav1.NewTime(clock.Now()),
	}
	if diff := cmp.Diff(want, pods.pod.Status.Conditions, equalTimes); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if !strings.Contains(pods.patches[0], `"uid":"u1"`) || strings.Contains(pods.patches[0], `\n`) {
		t.Errorf("patch = %s, want the UID as a precondition and one line", pods.patches[0])
	}
}

// refusingWriter refuses every patch.
type refusingWriter struct{ client.Writer }

func (refusingWriter) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "echo-1", nil)
}

func TestConditionsAreWrittenIfSignaturesAreRefused(t *testing.T) {
	pods, _, _ := newReports(t)
	h := newReportsOf(pods, pods, refusingWriter{}, testclock.NewFakePassiveClock(time.Unix(0, 0)))
	report := &sidecarconfig.HealthReport{
		Dependencies:   []sidecarconfig.DependencyHealth{{Dependency: sidecarconfig.DependencyTaskStore, Cause: sidecarconfig.CauseRefused}},
		CardSignatures: &sidecarconfig.CardSignatures{Keys: json.RawMessage(`{}`), Signatures: []card.Signature{{Protected: "p", Signature: "s"}}},
	}
	if err := h.write(t.Context(), auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1"}, report); !apierrors.IsForbidden(err) {
		t.Errorf("write() = %v, want the refusal", err)
	}
	if len(pods.patches) != 1 {
		t.Errorf("patches of the status = %v, want the condition", pods.patches)
	}
	report.CardSignatures.Signatures[0].Protected = strings.Repeat("x", sidecarconfig.MaxCardSignatures)
	if err := h.write(t.Context(), auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1"}, report); err != nil {
		t.Errorf("write() of signatures that are too long = %v, want none of them written", err)
	}
}

// TestEveryReplicaWritesSignatures checks that the write fence of a replica that is not the leader
// lets the conditions and the card signatures of a report through.
func TestEveryReplicaWritesSignatures(t *testing.T) {
	pods, clock, _ := newReports(t)
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"team","name":"echo-1","uid":"u1"}}`))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	fence := leaderfence.New(clock, 10*time.Second)
	fenced, err := client.New(&rest.Config{Host: server.URL, WrapTransport: fence.Wrap}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	h := newReportsOf(pods, fenced.Status(), fenced, clock)
	report := &sidecarconfig.HealthReport{
		Dependencies:   []sidecarconfig.DependencyHealth{{Dependency: sidecarconfig.DependencyTaskStore, Cause: sidecarconfig.CauseRefused}},
		CardSignatures: &sidecarconfig.CardSignatures{Keys: json.RawMessage(`{}`), Signatures: []card.Signature{{Protected: "p", Signature: "s"}}},
	}
	if err := h.write(t.Context(), auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1"}, report); err != nil {
		t.Errorf("write() = %v", err)
	}
	want := []string{"PATCH /api/v1/namespaces/team/pods/echo-1/status", "PATCH /api/v1/namespaces/team/pods/echo-1"}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests to the API server (-want +got):\n%s", diff)
	}
}

// A pod can report only for itself. The registry refuses unknown values, and values beyond a limit.
func TestHealthReportsAreRefused(t *testing.T) {
	pods, clock, put := newReports(t)
	for name, test := range map[string]struct {
		token, body string
		status      int
	}{
		"a pod that is gone":           {"former echo-1", refusedStore, http.StatusConflict},
		"a pod that is not an agent's": {"echo-2", refusedStore, http.StatusConflict},
		"an unknown dependency":        {"echo-1", `{"dependencies":[{"dependency":"Ready","cause":"Invalid","message":""}]}`, http.StatusBadRequest},
		"a dependency twice":           {"echo-1", `{"dependencies":[{"dependency":"TaskStore","cause":"Invalid"},{"dependency":"TaskStore","cause":"Invalid"}]}`, http.StatusBadRequest},
		"an unknown cause":             {"echo-1", `{"dependencies":[{"dependency":"TaskStore","cause":"Because","message":""}]}`, http.StatusBadRequest},
		"a healthy one that fails":     {"echo-1", `{"dependencies":[{"dependency":"TaskStore","cause":"Healthy","message":""}]}`, http.StatusBadRequest},
		"a message without bounds":     {"echo-1", `{"dependencies":[{"dependency":"TaskStore","cause":"Invalid","message":"` + strings.Repeat("x", 513) + `"}]}`, http.StatusBadRequest},
		"a body without bounds":        {"echo-1", `{"dependencies":[],"x":"` + strings.Repeat("x", maxReport) + `"}`, http.StatusBadRequest},
		"no signatures of a card":      {"echo-1", `{"dependencies":[],"cardSignatures":{"keys":{},"signatures":[]}}`, http.StatusBadRequest},
		"no JSON":                      {"echo-1", "x", http.StatusBadRequest},
	} {
		clock.SetTime(clock.Now().Add(time.Minute))
		if status, body := put(test.token, test.body); status != test.status {
			t.Errorf("%s: PUT = %d %s, want %d", name, status, body, test.status)
		}
	}
	if len(pods.patches) != 0 {
		t.Errorf("patches = %v, want none", pods.patches)
	}
	pods.err = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "echo-1", nil)
	if status, body := put("echo-1", refusedStore); status != http.StatusConflict {
		t.Errorf("PUT for a pod that was replaced meanwhile = %d %s", status, body)
	}
	for range reportRate.Burst {
		_, _ = put("echo-1", refusedStore)
	}
	if status, body := put("echo-1", refusedStore); status != http.StatusTooManyRequests {
		t.Errorf("PUT of a pod that does not stop = %d %s", status, body)
	}
	if status, body := put("echo-2", refusedStore); status != http.StatusConflict {
		t.Errorf("PUT of another pod = %d %s", status, body)
	}
}

// TestPatchesOfANamespaceAreLimited sends reports that always differ, as many pods of a namespace can.
func TestPatchesOfANamespaceAreLimited(t *testing.T) {
	pods, clock, _ := newReports(t)
	h := newReportsOf(pods, pods, nil, clock)
	of := auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1"}
	send := func(i int) error {
		return h.write(t.Context(), of, &sidecarconfig.HealthReport{
			Dependencies: []sidecarconfig.DependencyHealth{{Dependency: sidecarconfig.DependencyTaskStore, Cause: sidecarconfig.CauseRefused, Message: fmt.Sprint(i)}},
		})
	}
	var last error
	for i := range 2 * writeRate.Burst {
		last = send(i)
	}
	if refused, ok := errors.AsType[*apierror.Error](last); !ok || refused.Status != http.StatusTooManyRequests || len(pods.patches) != writeRate.Burst {
		t.Errorf("%d patches, then %v; want %d and 429", len(pods.patches), last, writeRate.Burst)
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if err := send(-1); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// slowPods is an API server that answers patches when the test allows it.
type slowPods struct {
	*podStore

	mu      sync.Mutex
	allow   chan struct{}
	running map[string]int
	// most has the largest number of patches at a time, by namespace, "" for all.
	most map[string]int
}

func (s *slowPods) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.pod.DeepCopyInto(into.(*corev1.Pod))
	into.SetNamespace(key.Namespace)
	return nil
}

func (s *slowPods) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	if _, is := o.(*metav1.PartialObjectMetadata); !is {
		return fmt.Errorf("the answer decodes into a %T", o)
	}
	count := func(by int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, of := range []string{o.GetNamespace(), ""} {
			s.running[of] += by
			s.most[of] = max(s.most[of], s.running[of])
		}
	}
	count(1)
	defer count(-1)
	<-s.allow
	return nil
}

// TestPatchesTakeTurns sends many reports at a time: the metadata in the answers of the API server may be large.
func TestPatchesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, clock, _ := newReports(t)
		s := &slowPods{podStore: pods, allow: make(chan struct{}), running: map[string]int{}, most: map[string]int{}}
		h := newReportsOf(s, s, nil, clock)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				of := auth.BoundPod{Namespace: []string{"team", "other-" + strconv.Itoa(i)}[i%2], Name: "echo-1", UID: "u1"}
				if err := h.write(t.Context(), of, &sidecarconfig.HealthReport{}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(s.allow)
		all.Wait()
		if s.most[""] != concurrentPatches || s.most["team"] != sameNamespace {
			t.Errorf("%d patches at a time, %d of one namespace", s.most[""], s.most["team"])
		}
	})
}

// TestReportsThatWaitInVain has an API server that answers no patch. Reports that get no turn are refused, and cost the namespace nothing.
func TestReportsThatWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, clock, _ := newReports(t)
		s := &slowPods{podStore: pods, allow: make(chan struct{}), running: map[string]int{}, most: map[string]int{}}
		h := newReportsOf(s, s, nil, clock)
		results := make(chan error, 60)
		for range cap(results) {
			go func() {
				results <- h.write(t.Context(), auth.BoundPod{Namespace: "team", Name: "echo-1", UID: "u1"}, &sidecarconfig.HealthReport{})
			}()
		}
		time.Sleep(turnTimeout + time.Millisecond)
		synctest.Wait()
		if got := len(results); got != cap(results)-sameNamespace {
			t.Errorf("%d reports have an answer", got)
		}
		for range len(results) {
			err := <-results
			if refused, is := errors.AsType[*apierror.Error](err); !is || refused.Status != http.StatusTooManyRequests || refused.RetryAfter == 0 {
				t.Fatalf("a report that waited in vain: %v, want 429", err)
			}
		}
		close(s.allow)
		for range sameNamespace {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		left := 0
		for h.admitPatch("team") == nil {
			left++
		}
		if left != writeRate.Burst-sameNamespace {
			t.Errorf("the namespace may send %d more patches, want %d", left, writeRate.Burst-sameNamespace)
		}
	})
}
