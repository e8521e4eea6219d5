// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenkeys

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// apiServer is a fake API server with one Secret. It rejects writes with another resource version,
// as an API server does.
type apiServer struct {
	client.Reader
	mu      sync.Mutex
	data    map[string][]byte
	version int
	writes  int
	err     error
	denied  bool
	// inUse and inUseErr are the result of InUse.
	inUse    bool
	inUseErr error
}

// secretName is the name of the Secret in the tests.
const secretName = "a2a-operator-token-keys"

func (s *apiServer) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.data == nil {
		return apierrors.NewNotFound(corev1.Resource("secrets"), secretName)
	}
	secret := object.(*corev1.Secret)
	secret.Data, secret.ResourceVersion = s.data, strconv.Itoa(s.version)
	return nil
}

func (s *apiServer) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret := object.(*corev1ac.SecretApplyConfiguration)
	switch {
	case s.denied:
		return apierrors.NewForbidden(corev1.Resource("secrets"), secretName, errors.New("no right"))
	case s.data == nil && *secret.ResourceVersion != noVersion, s.data != nil && *secret.ResourceVersion != strconv.Itoa(s.version):
		return apierrors.NewConflict(corev1.Resource("secrets"), secretName, errors.New("another version"))
	}
	s.version = max(s.version+1, 2)
	s.writes++
	s.data = secret.Data
	return nil
}

// change changes the API server, as an administrator or a failure does.
func (s *apiServer) change(change func(*apiServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
	s.version++
}

// replica is the Source of one replica of the manager.
type replica struct {
	*Source
	elect  func()
	events *events.FakeRecorder
	stop   func()
}

// newReplica starts a replica that reads and writes the Secret of an API server.
func newReplica(t *testing.T, server *apiServer) *replica {
	t.Helper()
	elected := make(chan struct{})
	recorder := events.NewFakeRecorder(100)
	source := New(Options{
		Reader: server, Writer: server, Namespace: "system", Name: secretName, Elected: elected,
		Events: recorder, Clock: clock.RealClock{},
		InUse: func(context.Context) (bool, error) { return server.inUse, server.inUseErr },
	})
	ctx, cancel := context.WithCancel(log.IntoContext(t.Context(), logr.Discard()))
	done := make(chan error, 1)
	go func() { done <- source.Start(ctx) }()
	r := &replica{Source: source, elect: sync.OnceFunc(func() { close(elected) }), events: recorder}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start() error = %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// signsWith returns the id of the key that signs.
func (r *replica) signsWith(t *testing.T) string {
	t.Helper()
	token, err := r.Keys().Sign(map[string]any{"sub": "x"})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Headers[0].KeyID
}

// published returns the ids of the public keys.
func (r *replica) published(t *testing.T) []string {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(r.Current().Keys, &set); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(set.Keys))
	for i, key := range set.Keys {
		if !key.IsPublic() || !key.Valid() {
			t.Fatalf("published key %q is private or not valid", key.KeyID)
		}
		ids[i] = key.KeyID
	}
	return ids
}

// changed reports whether Current has changed since the last call.
func (r *replica) changed() bool {
	select {
	case <-r.Changes():
		return true
	default:
		return false
	}
}

// event returns the reason of the next event, "" for none.
func (r *replica) event() string {
	select {
	case text := <-r.events.Events:
		return strings.Fields(text)[1]
	default:
		return ""
	}
}

// pass advances the time by d, and waits until all replicas have processed that time.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOnlyTheLeaderCreatesTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		leader, other := newReplica(t, server), newReplica(t, server)
		pass(time.Minute)
		if server.writes != 0 || leader.Keys() != nil {
			t.Fatalf("%d writes without a leader, want none", server.writes)
		}
		<-leader.Tried()
		leader.elect()
		pass(2 * time.Second)
		if server.writes != 1 || other.Keys() == nil {
			t.Fatalf("%d writes and keys %v on the other replica, want 1 and keys", server.writes, other.Keys())
		}
		if a, b := leader.signsWith(t), other.signsWith(t); a != b {
			t.Errorf("replicas sign with %s and %s", a, b)
		}
		if len(leader.published(t)) != 2 || !leader.changed() || !other.changed() {
			t.Errorf("published %v, want the key that signs and the next one, announced on both replicas", leader.published(t))
		}
		if got := leader.event(); got != "TokenKeysCreated" {
			t.Errorf("event %q", got)
		}
		pass(time.Hour)
		if server.writes != 1 || leader.changed() {
			t.Errorf("%d writes in an hour, want 1", server.writes)
		}
	})
}

func TestTwoLeadersHaveOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		a, b := newReplica(t, server), newReplica(t, server)
		a.elect()
		b.elect()
		pass(time.Minute)
		if server.writes != 1 || a.signsWith(t) != b.signsWith(t) {
			t.Errorf("%d writes; replicas sign with %s and %s", server.writes, a.signsWith(t), b.signsWith(t))
		}
	})
}

// TestRotationHasNoGap runs two replicas, which rotate keys, for 65 days. At every time, the
// published keys of each replica must verify all unexpired tokens of all replicas, even if the
// publication takes fifty minutes.
func TestRotationHasNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		leader, other := newReplica(t, server), newReplica(t, server)
		leader.elect()
		pass(2 * time.Second)
		const step, lifetime, publication = 10 * time.Minute, 10 * time.Minute, 50 * time.Minute
		var signed, verifies []string
		var publishedAt []time.Time
		var history [][]string
		publications := 0
		keys := map[string]bool{}
		leader.changed()
		for range 65 * 24 * 6 {
			pass(step)
			if leader.changed() {
				publications++
			}
			publishedAt, history = append(publishedAt, time.Now()), append(history, leader.published(t))
			// A sidecar has the keys that were published fifty minutes ago.
			for len(publishedAt) > 1 && time.Since(publishedAt[1]) >= publication {
				publishedAt, history = publishedAt[1:], history[1:]
			}
			verifies = history[0]
			signed = append(signed, leader.signsWith(t), other.signsWith(t))
			signed = signed[max(0, len(signed)-2*int(1+lifetime/step)):]
			for _, id := range signed {
				keys[id] = true
				if !slices.Contains(verifies, id) {
					t.Fatalf("a sidecar with the keys %v refuses a token of key %s", verifies, id)
				}
				if !slices.Contains(leader.published(t), id) {
					t.Fatalf("a sidecar with the current keys refuses a token of key %s", id)
				}
			}
		}
		// There are two rotations in 65 days: each key signs for 30 days and an hour.
		if len(keys) != 3 || publications != 2 {
			t.Errorf("%d keys signed and %d publications in 65 days, want 3 and 2", len(keys), publications)
		}
		if server.writes != 5 {
			t.Errorf("%d writes of the Secret, want 1 and 2 for each rotation", server.writes)
		}
	})
}

// TestNewLeaderPublishesBeforeItRotates starts a leader when a rotation is due. The new leader
// cannot know whether the former one published the next key.
func TestNewLeaderPublishesBeforeItRotates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		first := newReplica(t, server)
		first.elect()
		pass(time.Second)
		was := first.signsWith(t)
		first.stop()
		time.Sleep(2 * RotationPeriod)

		second := newReplica(t, server)
		second.elect()
		pass(publicationTime - time.Minute)
		if got := second.signsWith(t); got != was {
			t.Fatal("the next key signs before the new leader has published it for an hour")
		}
		pass(2 * time.Minute)
		if got := second.signsWith(t); got == was {
			t.Error("the next key does not sign after an hour of publication")
		}
		if got := second.event(); got != "TokenKeysRotated" {
			t.Errorf("event %q", got)
		}
	})
}

func TestRestartKeepsTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		first := newReplica(t, server)
		first.elect()
		pass(time.Second)
		first.stop()
		second := newReplica(t, server)
		second.elect()
		pass(time.Second)
		if server.writes != 1 || first.signsWith(t) != second.signsWith(t) || string(first.Current().Keys) != string(second.Current().Keys) {
			t.Errorf("%d writes, and other keys after a restart", server.writes)
		}
	})
}

func TestLostKeysAreReplacedOnAllReplicas(t *testing.T) {
	contents := map[string]map[string][]byte{
		"deleted":     nil,
		"empty":       {},
		"no JSON":     {secretKey: []byte("<html>")},
		"no keys":     {secretKey: []byte(`{}`)},
		"broken keys": {secretKey: []byte(`{"signing":{"created":"2026-01-01T00:00:00Z","pkcs8":"AAAA"},"next":{"created":"2026-01-01T00:00:00Z","pkcs8":"AAAA"}}`)},
		"64 MB":       {secretKey: []byte(strings.Repeat("[", 64<<20))},
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &apiServer{}
				leader, other := newReplica(t, server), newReplica(t, server)
				leader.elect()
				pass(2 * time.Second)
				was := leader.published(t)
				leader.changed()
				leader.event()

				server.change(func(s *apiServer) { s.data = content })
				pass(2 * (readPeriod + time.Second))
				if server.writes != 2 || leader.signsWith(t) != other.signsWith(t) {
					t.Fatalf("%d writes, and the replicas sign with %s and %s", server.writes, leader.signsWith(t), other.signsWith(t))
				}
				for _, id := range leader.published(t) {
					if slices.Contains(was, id) {
						t.Errorf("key %s was lost and is still published", id)
					}
				}
				if !leader.changed() {
					t.Error("the new keys were not announced")
				}
				if got := leader.event(); got != "TokenKeysReplaced" {
					t.Errorf("event %q", got)
				}
			})
		})
	}
}

func TestKeysStayWhileTheSecretCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		replica := newReplica(t, server)
		replica.elect()
		pass(time.Second)
		was := replica.signsWith(t)
		server.change(func(s *apiServer) { s.err = errors.New("connection refused") })
		pass(24 * time.Hour)
		if got := replica.signsWith(t); got != was || server.writes != 1 {
			t.Errorf("signs with %s after %d writes, want the former key", got, server.writes)
		}
	})
}

func TestDeniedWritePublishesNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{denied: true}
		replica := newReplica(t, server)
		replica.elect()
		pass(time.Minute)
		<-replica.Tried()
		if replica.Keys() != nil || replica.Current() != nil {
			t.Fatal("a manager signs with a key that no other replica can read")
		}
		server.change(func(s *apiServer) { s.denied = false })
		pass(2 * readPeriod)
		if replica.Keys() == nil {
			t.Error("no keys after the right was granted")
		}
	})
}

func TestChangedSecretIsReadAgain(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	set, err := Generate(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Change{Rotated, Renewed} {
		now = now.Add(RotationPeriod)
		next, change, err := set.advance(now, time.Time{})
		if err != nil || change != want {
			t.Fatalf("advance() = %s, %v, want %s", change, err, want)
		}
		text, err := next.encode()
		if err != nil {
			t.Fatal(err)
		}
		if want == Rotated && strings.Count(string(text), "pkcs8") != 1 {
			t.Errorf("the private key of the former key is kept: %s", text)
		}
		if set, err = decode(text); err != nil || string(set.KeySet()) != string(next.KeySet()) {
			t.Fatalf("decode() = %v, %v", set, err)
		}
	}
}

// TestKeysLostWithoutAManagerAreReported starts managers without a Secret. If agents run with
// earlier keys, the manager reports that the keys were lost.
func TestKeysLostWithoutAManagerAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		inUse bool
		err   error
		want  string
	}{
		"first installation": {false, nil, "Normal TokenKeysCreated"},
		"agents run":         {true, nil, "Warning TokenKeysReplaced The Secret was deleted. New keys sign, and agents refuse calls of each other until"},
		"unknown":            {false, errors.New("no cache"), "Normal TokenKeysCreated"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplica(t, &apiServer{inUse: test.inUse, inUseErr: test.err})
				r.elect()
				pass(2 * time.Second)
				select {
				case got := <-r.events.Events:
					if !strings.HasPrefix(got, test.want) {
						t.Errorf("event %q, want %q", got, test.want)
					}
				default:
					t.Error("there is no event")
				}
				r.stop()
			})
		})
	}
}
