// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// event is a change of an object in the cluster: the new state of the object, or the last
// state of a deleted object.
type event struct {
	object  client.Object
	deleted bool
}

// cluster is a log of events with resource versions.
type cluster struct {
	log     []event
	version int
	// generations has the generation of each object.
	generations map[string]int64
}

func newCluster() *cluster { return &cluster{generations: map[string]int64{}} }

func (c *cluster) write(o client.Object, deleted bool) {
	c.version++
	o.SetResourceVersion(strconv.Itoa(c.version))
	name := nameOf(o, client.ObjectKeyFromObject(o))
	c.generations[name]++
	o.SetGeneration(c.generations[name])
	c.log = append(c.log, event{object: o, deleted: deleted})
}

func agentAt(key index.Key, description string) *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID(key.Name)},
		Spec:       a2av1alpha1.AgentSpec{Description: description, Version: "1"},
	}
}

func configAt(key index.Key, skill string) *corev1.ConfigMap {
	agent := agentAt(key, "")
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: names.ConfigMap(key.Name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))},
		},
		Data: map[string]string{sidecarconfig.FileName: `{"version":"v1","card":{"name":"A","description":"card ` + skill + `","version":"1","skills":[{"id":"` + skill + `","name":"s","description":"d","tags":["t"]}]}}`},
	}
}

// replica has a cache that follows the log of a cluster, and a feed. The cache may be ahead of the
// notifications of the feed: cached and notified are the numbers of events that each has received.
type replica struct {
	client.Reader
	feed             *index.Feed
	mu               sync.Mutex
	objects          map[string]client.Object
	cached, notified int
	// known has, for each object, the state in the last notification of the feed.
	known map[string]client.Object
	stop  context.CancelFunc
	done  chan struct{}
}

func nameOf(o client.Object, key types.NamespacedName) string {
	return fmt.Sprintf("%T %s", o, key)
}

func (r *replica) Get(_ context.Context, key types.NamespacedName, into client.Object, _ ...client.GetOption) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o := r.objects[nameOf(into, key)].(type) {
	case *a2av1alpha1.Agent:
		o.DeepCopyInto(into.(*a2av1alpha1.Agent))
	case *corev1.ConfigMap:
		o.DeepCopyInto(into.(*corev1.ConfigMap))
	default:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// startReplica returns a replica that starts with a list of the present state of c.
func startReplica(t *testing.T, c *cluster) *replica {
	r := &replica{objects: make(map[string]client.Object), known: make(map[string]client.Object), done: make(chan struct{})}
	source := &index.Source{Reader: r}
	r.feed = index.NewFeed(source.Read, clock.RealClock{}, logr.Discard())
	r.cache(c, len(c.log))
	r.notified = r.cached
	for name, o := range r.objects {
		r.update(name, o)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { defer close(r.done); r.feed.Run(ctx) }()
	synctest.Wait()
	return r
}

func (r *replica) cache(c *cluster, until int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; r.cached < until; r.cached++ {
		e := c.log[r.cached]
		name := nameOf(e.object, client.ObjectKeyFromObject(e.object))
		if e.deleted {
			delete(r.objects, name)
		} else {
			r.objects[name] = e.object
		}
	}
}

func (r *replica) notify(c *cluster, until int) {
	for ; r.notified < until; r.notified++ {
		e := c.log[r.notified]
		name := nameOf(e.object, client.ObjectKeyFromObject(e.object))
		if e.deleted {
			r.handler(e.object).OnDelete(e.object)
			delete(r.known, name)
		} else {
			r.update(name, e.object)
		}
	}
}

// relist simulates the loss of the watch: the cache receives the present state, and the
// informer finds removed objects missing. It notifies the feed of the missing objects
// before the present state if missingFirst is true, else after it.
func (r *replica) relist(c *cluster, missingFirst bool) {
	r.cache(c, len(c.log))
	r.notified = r.cached
	missing := func() {
		for name, o := range r.known {
			if r.objects[name] == nil {
				r.handler(o).OnDelete(toolscache.DeletedFinalStateUnknown{Key: name, Obj: o})
				delete(r.known, name)
			}
		}
	}
	if missingFirst {
		missing()
	}
	for name, o := range r.objects {
		if r.known[name] != o {
			r.update(name, o)
		}
	}
	if !missingFirst {
		missing()
	}
}

func (r *replica) handler(o client.Object) toolscache.ResourceEventHandler {
	if _, ok := o.(*a2av1alpha1.Agent); ok {
		return r.feed.AgentHandler()
	}
	return r.feed.ConfigMapHandler()
}

// update notifies the feed of the state of an object.
func (r *replica) update(name string, o client.Object) {
	if before := r.known[name]; before != nil {
		r.handler(o).OnUpdate(before, o)
	} else {
		r.handler(o).OnAdd(o, false)
	}
	r.known[name] = o
}

// reader is a client that stores the agents of a stream.
type reader struct {
	mu     sync.Mutex
	agents map[string]string
	last   string
	// left is the number of events after which the connection breaks, negative for never.
	left   int
	resets int
}

var errBroken = errors.New("the connection broke")

// state returns the agents and the last id.
func (r *reader) state() (agents map[string]string, last string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.agents), r.last
}

func (r *reader) Flush() error { return nil }

func (r *reader) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		if block == "" {
			continue
		}
		if r.left == 0 {
			return 0, errBroken
		}
		r.left--
		var kind, data string
		id := r.last
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				kind = value
			case "data":
				data = value
			case "id":
				id = value
			}
		}
		key := func() string { // of {"namespace":"x","name":"y"...
			parts := strings.SplitN(data, `"`, 9)
			return parts[3] + "/" + parts[7]
		}
		switch kind {
		case "upsert":
			r.agents[key()] = data
		case "remove":
			delete(r.agents, key())
		case "reset":
			clear(r.agents)
			r.resets++
		}
		r.last = id
	}
	return len(text), nil
}

// adminSet returns a VisibleSet function for a caller that sees all agents.
func adminSet() func(context.Context) (*access.Set, error) {
	return constantSet(access.NewSet(access.VisibilityCluster))
}

func constantSet(set *access.Set) func(context.Context) (*access.Set, error) {
	return func(context.Context) (*access.Set, error) { return set, nil }
}

// connect runs a stream of the replica from to the reader r, until the connection breaks or ctx
// ends.
func (r *reader) connect(ctx context.Context, t *testing.T, from *replica, query string, sees func(context.Context) (*access.Set, error)) {
	t.Helper()
	q, err := index.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	o := watch.Options{Feed: from.feed, Query: q, VisibleSet: sees, Clock: clock.RealClock{}}
	if r.last != "" {
		cursor, err := watch.ParseCursor(r.last)
		if err != nil {
			t.Fatal(err)
		}
		o.Resume = &cursor
	}
	stream, err := watch.New(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			t.Fatal(err)
		}
		return
	}
	if err := stream.Run(ctx, r); !errors.Is(err, errBroken) && !errors.Is(err, context.Canceled) {
		t.Errorf("Run() error = %v", err)
	}
}

var visibilities = []a2av1alpha1.Visibility{"", a2av1alpha1.VisibilityCluster, a2av1alpha1.VisibilityFederated, a2av1alpha1.VisibilityPublic}

// mutate changes a random object of the cluster.
func (c *cluster) mutate(random *rand.Rand, agents, configs map[index.Key]client.Object) {
	key := index.Key{Namespace: "n" + strconv.Itoa(random.IntN(3)), Name: "a" + strconv.Itoa(random.IntN(12))}
	switch choice := random.IntN(10); {
	case choice < 4:
		agent := agentAt(key, "text "+strconv.Itoa(random.IntN(1000)))
		agent.Spec.Discovery.Visibility = visibilities[random.IntN(len(visibilities))]
		agents[key] = agent
		c.write(agent, false)
	case choice < 6 && agents[key] != nil:
		c.write(agents[key].DeepCopyObject().(client.Object), true)
		delete(agents, key)
	case choice < 9:
		configs[key] = configAt(key, "s"+strconv.Itoa(random.IntN(3)))
		c.write(configs[key], false)
	case configs[key] != nil:
		c.write(configs[key].DeepCopyObject().(client.Object), true)
		delete(configs, key)
	}
}

// The streams of four readers, one with a filter and two that see a part of the agents, break
// 1,000 times. They resume on one of three replicas, which lag, lose their watches and are
// replaced. At regular intervals, the test checks that each reader has exactly the agents that a
// new replica lists.
func TestResumesOnAnyReplicaLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(7, 11))
		c := newCluster()
		agents, configs := map[index.Key]client.Object{}, map[index.Key]client.Object{}
		for range 50 {
			c.mutate(random, agents, configs)
		}
		replicas := []*replica{startReplica(t, c), startReplica(t, c), startReplica(t, c)}
		queries := []string{"watch=true", "watch=true&skill=s1", "watch=true", "watch=true"}
		callers := []*access.Set{
			access.NewSet(access.VisibilityCluster), access.NewSet(access.VisibilityCluster),
			access.NewSet(access.VisibilityPublic, "n1"), access.NewSet(access.VisibilityFederated),
		}
		readers := make([]*reader, len(queries))
		for i := range readers {
			readers[i] = &reader{agents: map[string]string{}}
		}
		resumes := 0
		for round := 0; resumes < 1000; round++ {
			for i, r := range readers {
				from := replicas[random.IntN(len(replicas))]
				if r.last != "" {
					resumes++
				}
				r.left = 3 + random.IntN(60)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+random.IntN(200))*time.Millisecond)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer cancel()
					r.connectUntil(ctx, t, from, queries[i], constantSet(callers[i]))
				}()
				for range random.IntN(8) {
					c.mutate(random, agents, configs)
					lucky := replicas[random.IntN(len(replicas))]
					lucky.cache(c, lucky.cached+random.IntN(len(c.log)-lucky.cached+1))
					lucky.notify(c, lucky.notified+random.IntN(lucky.cached-lucky.notified+1))
					if follower := replicas[random.IntN(len(replicas))]; random.IntN(3) > 0 {
						follower.cache(c, len(c.log))
						follower.notify(c, len(c.log))
					}
					time.Sleep(time.Duration(random.IntN(15)) * time.Millisecond)
				}
				<-ended
			}
			if random.IntN(3) == 0 {
				resumes += len(readers)
				checkResume(t, c, random, replicas, readers, func(r *reader, from *replica, i int) {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					r.connectUntil(ctx, t, from, queries[i], constantSet(callers[i]))
				})
			}
			switch i := random.IntN(3); random.IntN(60) {
			case 0:
				replicas[i].relist(c, round%2 == 0)
			case 1:
				replicas[i].stop()
				<-replicas[i].done
				replicas[i] = startReplica(t, c)
			}
			if round%20 == 0 { // longer than missedQuiet; after the next change, streams can resume again
				time.Sleep(15 * time.Second)
			}
		}
		for i, r := range readers {
			if r.resets > resumes/8 {
				t.Errorf("%s: %d resets of %d resumes of all readers; most resumes need none", queries[i], r.resets, resumes)
			}
			t.Logf("%s: %d resets of %d resumes of all readers", queries[i], r.resets, resumes)
		}
		for _, r := range replicas {
			r.stop()
			<-r.done
		}
	})
}

// checkResume brings all replicas up to date, resumes each reader on one of them, and
// compares it with a reader of a new replica.
func checkResume(t *testing.T, c *cluster, random *rand.Rand, replicas []*replica, readers []*reader, connect func(*reader, *replica, int)) {
	t.Helper()
	for _, r := range replicas {
		r.cache(c, len(c.log))
		r.notify(c, len(c.log))
	}
	time.Sleep(time.Second)
	fresh := startReplica(t, c)
	for i, r := range readers {
		want := &reader{agents: map[string]string{}, left: -1}
		connect(want, fresh, i)
		r.left = -1
		connect(r, replicas[random.IntN(len(replicas))], i)
		if diff := cmp.Diff(want.agents, r.agents); diff != "" {
			t.Fatalf("reader %d (-fresh +resumed):\n%s", i, diff)
		}
	}
	fresh.stop()
	<-fresh.done
}

// connectUntil does the same as connect, but accepts the end of ctx as a normal end.
func (r *reader) connectUntil(ctx context.Context, t *testing.T, from *replica, query string, sees func(context.Context) (*access.Set, error)) {
	t.Helper()
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	r.connect(inner, t, from, query, sees)
}
