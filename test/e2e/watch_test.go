//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("A watch of the registry", func() {
	It("resumes on other replicas, without a missed change, when the replica that serves it dies", func(ctx SpecContext) {
		ns := namespace(ctx)
		create(ctx, newAgent(ns, "removed"))
		edited := create(ctx, newAgent(ns, "edited"))
		create(ctx, newAgent(ns, "kept"))
		var replicas []corev1.Pod
		Eventually(ctx, func() []corev1.Pod {
			replicas = managers(ctx)
			return replicas
		}).Should(HaveLen(2))
		callerOfNamespace := caller(token(ctx, ns, a2av1alpha1.Audience))
		watchOf := func(pod corev1.Pod, lastEventID string) *registryWatch {
			GinkgoHelper()
			return openWatch(ctx, callerOfNamespace, "http://"+net.JoinHostPort(pod.Status.PodIP, "8444")+"/v1/agents?watch=true&namespace="+ns, lastEventID)
		}

		By("watching at one replica, and killing it")
		dying, other := replicas[0], replicas[1]
		before := watchOf(dying, "")
		before.awaitSynced(ctx)
		before.awaitState(ctx, HaveLen(3))
		Expect(cluster.Delete(ctx, &dying, client.GracePeriodSeconds(0))).To(Succeed())
		before.awaitEnd(ctx)

		By("changing agents while nothing is watched")
		Expect(cluster.Delete(ctx, &a2av1alpha1.Agent{ObjectMeta: newAgent(ns, "removed").ObjectMeta})).To(Succeed())
		update(ctx, edited, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Was edited in the gap." })
		added := create(ctx, newAgent(ns, "added"))

		By("resuming at the replica that lives")
		after := watchOf(other, before.lastID)
		after.agents = maps.Clone(before.agents)
		after.awaitSynced(ctx)
		after.await(ctx, time.Minute, watchEvent{kind: "remove", agent: ns + "/removed"})
		after.await(ctx, time.Minute, watchEvent{kind: "upsert", agent: ns + "/edited"})
		after.await(ctx, time.Minute, watchEvent{kind: "upsert", agent: ns + "/added"})
		Expect(after.events).NotTo(ContainElement(watchEvent{kind: "reset"}), "the replica replays the changes")
		awaitCurrent(ctx, after, ns)

		By("resuming at the replica that started later")
		Eventually(ctx, func() []corev1.Pod {
			replicas = managers(ctx)
			return replicas
		}).Should(And(HaveLen(2), Not(ContainElement(HaveField("UID", dying.UID)))))
		late := replicas[slices.IndexFunc(replicas, func(pod corev1.Pod) bool { return pod.UID != other.UID })]
		response, body := get(ctx, callerOfNamespace, "http://"+net.JoinHostPort(late.Status.PodIP, "8444")+"/v1/agents?minRevision="+added.ResourceVersion+"-0&namespace="+ns)
		Expect(response.StatusCode).To(Equal(http.StatusOK), body)
		resumed := watchOf(late, before.lastID)
		resumed.agents = maps.Clone(before.agents)
		resumed.awaitSynced(ctx)
		awaitCurrent(ctx, resumed, ns)
	})
})

// awaitCurrent reads events until the client has the state after the changes. This can take some time: the leader writes the
// card of an agent, and the killed replica may have been the leader.
func awaitCurrent(ctx context.Context, w *registryWatch, ns string) {
	GinkgoHelper()
	w.awaitState(ctx, And(HaveLen(3), HaveKey(ns+"/kept"), HaveKey(ns+"/added"),
		HaveKeyWithValue(ns+"/edited", HaveField("Description", "Was edited in the gap."))))
}

// watchEvent is an event of a watch. agent is the namespace/name of the agent that the event is about, or "".
type watchEvent struct{ kind, agent string }

// registryWatch is a client of a watch. Its methods read the stream; they are not safe for concurrent use.
type registryWatch struct {
	stream <-chan frame
	// events are all events that were read.
	events []watchEvent
	// agents is the state of the client, by namespace/name.
	agents map[string]registryEntry
	// lastID is the id at which the client resumes.
	lastID string
}

// frame is an event as it is on the wire.
type frame struct{ id, kind, data string }

// openWatch opens a watch, which ends with the test. It resumes after lastEventID, unless that is "".
func openWatch(ctx context.Context, client *http.Client, url, lastEventID string) *registryWatch {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(response.Body.Close)
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	frames := make(chan frame, 10_000)
	go func() {
		defer close(frames)
		var f frame
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case lines.Text() == "" && f.kind != "":
				frames <- f
				f = frame{}
			case name == "id":
				f.id = value
			case name == "event":
				f.kind = value
			case name == "data":
				f.data = value
			}
		}
	}()
	return &registryWatch{stream: frames, agents: map[string]registryEntry{}}
}

// apply stores an event, and changes the state by the rules for clients in docs/reference/registry.md.
func (w *registryWatch) apply(f frame) {
	GinkgoHelper()
	event := watchEvent{kind: f.kind}
	if f.id != "" {
		w.lastID = f.id
	}
	switch f.kind {
	case "reset":
		w.lastID = ""
		w.agents = map[string]registryEntry{}
	case "upsert", "remove":
		var entry registryEntry
		Expect(json.Unmarshal([]byte(f.data), &entry)).To(Succeed())
		event.agent = entry.name()
		w.agents[event.agent] = entry
		if f.kind == "remove" {
			delete(w.agents, event.agent)
		}
	}
	w.events = append(w.events, event)
}

// await reads events until the given one has been read, now or by an earlier call.
func (w *registryWatch) await(ctx context.Context, timeout time.Duration, want watchEvent) {
	GinkgoHelper()
	for !slices.Contains(w.events, want) {
		var next frame
		Eventually(ctx, w.stream).WithTimeout(timeout).Should(Receive(&next), "await %v after %v", want, w.events)
		w.apply(next)
	}
}

// awaitSynced reads until the client has the state of a revision.
func (w *registryWatch) awaitSynced(ctx context.Context) {
	GinkgoHelper()
	w.await(ctx, time.Minute, watchEvent{kind: "synced"})
}

// awaitState reads events until the agents of the client match.
func (w *registryWatch) awaitState(ctx context.Context, want types.GomegaMatcher) {
	GinkgoHelper()
	for {
		same, err := want.Match(w.agents)
		Expect(err).NotTo(HaveOccurred())
		if same {
			return
		}
		var next frame
		Eventually(ctx, w.stream).WithTimeout(time.Minute).Should(Receive(&next), func() string { return want.FailureMessage(w.agents) })
		w.apply(next)
	}
}

// awaitEnd reads until the stream ends.
func (w *registryWatch) awaitEnd(ctx context.Context) {
	GinkgoHelper()
	for {
		select {
		case f, ok := <-w.stream:
			if !ok {
				return
			}
			w.apply(f)
		case <-ctx.Done():
			Fail("the stream did not end")
		}
	}
}
