// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// loss is a way to lose the leader.
type loss string

const (
	// killed ends the process at once, terminated ends it by a signal that it handles.
	killed     loss = "kill"
	terminated loss = "terminate"
	// severed blocks only the requests about the Lease.
	severed loss = "lease unreachable"
	// stopped pauses the process until another one is the leader.
	stopped loss = "pause"
	// ahead and behind kill a leader whose clock is wrong by skew.
	ahead  loss = "kill, 5 min ahead"
	behind loss = "kill, 5 min behind"
)

const (
	skew = 5 * time.Minute
	// takeover is the longest time without a leader.
	takeover = 17 * time.Second
	// lastWrite is how long a process that was paused, and has not read the clock yet, may
	// continue to write.
	lastWrite = time.Second
)

// candidate is one of two managers and its requests.
type candidate struct {
	next    http.RoundTripper
	process *process
	skew    time.Duration

	mu      sync.Mutex
	severed bool
	// asked is true after the candidate's first request for the Lease. elected is the time at which the candidate acquired
	// the Lease, zero before.
	asked   bool
	elected time.Time
	writes  []span
}

// span is the time that a write takes.
type span struct {
	what       string
	began, end time.Time
}

// TestTwoLeaders is the campaign "leaders" of docs/explanation/reliability.md. Two managers share a
// Lease while objects change all the time. After each kind of loss of the leader, the other manager
// must take over in time, and no write of the former leader may arrive while the other one leads.
func TestTwoLeaders(t *testing.T) {
	losses := []loss{killed, terminated, severed, stopped, ahead, behind}
	runs := 5
	if !full {
		losses, runs = []loss{severed, ahead}, 1
	}
	current := build(t, "")
	var mu sync.Mutex
	took := map[loss][]time.Duration{}
	late := 0
	t.Run("parallel sequences", func(t *testing.T) {
		for n, how := range losses {
			t.Run(string(how), func(t *testing.T) {
				t.Parallel()
				b := newLeaders(t, fmt.Sprintf("chaos-leaders-%d", n))
				leader := b.candidate(current, how)
				leader.waits(t, "to lead", func() bool { return !leader.elected.IsZero() })
				for range runs {
					next := b.candidate(current, how)
					next.waits(t, "to wait", func() bool { return next.asked })
					d, l := b.lose(leader, next, how)
					mu.Lock()
					took[how], late = append(took[how], d), late+l
					mu.Unlock()
					leader = next
				}
				b.ends(leader)
			})
		}
	})
	for _, how := range losses {
		if len(took[how]) > 0 {
			t.Logf("%s: %d takeovers, within %s at most", how, len(took[how]), slices.Max(took[how]).Round(100*time.Millisecond))
		}
	}
	t.Logf("writes of paused leaders within %s after their continuation: %d", lastWrite, late)
}

// leaders is a namespace with two managers and a user who changes objects all the time.
type leaders struct {
	*bench
	stopEditing func()
	edits       int
}

func newLeaders(t *testing.T, namespace string) *leaders {
	t.Helper()
	l := &leaders{bench: &bench{t: t, namespace: namespace, user: &user{cluster: cluster, namespace: namespace}, transport: &transport{}}}
	ensureNamespace(t, namespace)
	runKubelet(t, namespace)
	l.clean()
	if err := l.user.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.edit(ctx)
	}()
	l.stopEditing = func() {
		cancel()
		<-done
	}
	t.Cleanup(l.stopEditing)
	return l
}

// edit changes the skill, and with it the sidecar configuration and the pods, ten times a second.
func (l *leaders) edit(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		patch := fmt.Sprintf(`{"spec":{"description":"Sings song %d."}}`, l.edits+1)
		// WithoutCancel, because an edit counts as soon as its request is sent.
		if cluster.Patch(context.WithoutCancel(ctx), l.user.skill(), client.RawPatch("application/merge-patch+json", []byte(patch))) == nil {
			l.edits++
		}
	}
}

// candidate starts a manager.
func (l *leaders) candidate(v version, how loss) *candidate {
	l.t.Helper()
	c := &candidate{}
	switch how {
	case ahead:
		c.skew = skew
	case behind:
		c.skew = -skew
	default:
	}
	c.process = v.run(l.t, l.namespace, func(next http.RoundTripper) http.RoundTripper {
		c.next = next
		return c
	}, "--leader-elect", "--namespace", l.namespace)
	return c
}

// lose causes the loss of the leader. It returns the time without a leader, and the number of writes
// of a leader that was paused.
func (l *leaders) lose(leader, next *candidate, how loss) (time.Duration, int) {
	l.t.Helper()
	leader.waits(l.t, "to write", func() bool {
		return len(leader.writes) > 0 && time.Since(leader.writes[len(leader.writes)-1].began) < time.Second
	})
	began := time.Now()
	switch how {
	case terminated:
		_ = leader.process.Process.Signal(syscall.SIGTERM)
	case severed:
		leader.mu.Lock()
		leader.severed = true
		leader.mu.Unlock()
	case stopped:
		_ = leader.process.Process.Signal(syscall.SIGSTOP)
	default:
		_ = leader.process.Process.Kill()
	}
	next.waits(l.t, "to lead", func() bool { return !next.elected.IsZero() })
	took := next.elected.Sub(began)
	// Check the time only in the full campaign, which runs alone: other tests on the machine would distort it.
	if full && took > takeover {
		l.t.Errorf("%s: no leader for %s, want at most %s", how, took, takeover)
	}
	allowed := next.elected
	if how == stopped {
		allowed = time.Now().Add(lastWrite)
		_ = leader.process.Process.Signal(syscall.SIGCONT)
	}
	timer := time.NewTimer(runTimeout)
	defer timer.Stop()
	select {
	case <-leader.process.exited:
	case <-timer.C:
		l.t.Fatalf("%s: the former leader continues", how)
	}
	late := 0
	leader.mu.Lock()
	defer leader.mu.Unlock()
	for _, w := range leader.writes {
		if w.end.After(allowed) {
			l.t.Errorf("%s: %s of the former leader began %s after the other one became the leader, and ended %s after",
				how, w.what, w.began.Sub(next.elected), w.end.Sub(next.elected))
		}
		if w.began.After(next.elected) {
			late++
		}
	}
	return took, late
}

// ends waits until the last leader has processed the last edit and is idle.
func (l *leaders) ends(leader *candidate) {
	l.t.Helper()
	l.stopEditing()
	want := fmt.Sprintf(`Sings song %d.`, l.edits)
	l.eventually("the last edit", func() string {
		state := l.state()
		if strings.Count(state, want) < 2 || !strings.Contains(state, ready) {
			return want + "\n" + state
		}
		leader.mu.Lock()
		defer leader.mu.Unlock()
		if time.Since(leader.writes[len(leader.writes)-1].end) < longestDelay {
			return "still writing"
		}
		return ""
	})
}

// waits calls the function `is` until it returns true, and fails the test after runTimeout. The mutex of the candidate
// is locked during each call.
func (c *candidate) waits(t *testing.T, what string, is func() bool) {
	t.Helper()
	timer := time.NewTimer(runTimeout)
	defer timer.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		c.mu.Lock()
		ok := is()
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-timer.C:
			t.Fatalf("waited for a manager %s:\n%s", what, c.process.output.String())
		}
	}
}

// RoundTrip implements http.RoundTripper.
func (c *candidate) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/leases") {
		return c.lease(r)
	}
	if !writes(r) {
		return c.next.RoundTrip(r)
	}
	w := span{what: r.Method + " " + r.URL.Path, began: time.Now()}
	response, err := c.next.RoundTrip(r)
	w.end = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, w)
	return response, err
}

// lease forwards requests about the Lease with the times of a clock that may be wrong. The API
// server does not check these times, and other candidates read them.
func (c *candidate) lease(r *http.Request) (*http.Response, error) {
	// Read the body first, even if the Lease is unreachable: a server notices a closed connection only after it has read
	// the body.
	r, leads, err := c.dated(r)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	severed := c.severed
	c.asked = true
	c.mu.Unlock()
	if severed {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	response, err := c.next.RoundTrip(r)
	if leads && err == nil && response.StatusCode < http.StatusMultipleChoices {
		c.mu.Lock()
		if c.elected.IsZero() {
			c.elected = time.Now()
		}
		c.mu.Unlock()
	}
	return response, err
}

// dated returns the request with the times of the Lease by a clock that is wrong by skew. It reports whether the sender
// would hold the Lease after the request.
func (c *candidate) dated(r *http.Request) (*http.Request, bool, error) {
	if r.Method == http.MethodGet {
		return r, false, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, false, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, false, fmt.Errorf("read Lease: %w", err)
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok || lease.Spec.RenewTime == nil || lease.Spec.AcquireTime == nil {
		return nil, false, fmt.Errorf("%s %s is about %T", r.Method, r.URL, object)
	}
	for _, at := range []*metav1.MicroTime{lease.Spec.RenewTime, lease.Spec.AcquireTime} {
		at.Time = at.Add(c.skew)
	}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	if body, err = json.Marshal(lease); err != nil {
		return nil, false, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r, lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", nil
}
