//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

var _ = Describe("A rollout", func() {
	It("interrupts no task of an agent with Redis", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "rolling", onRedis(ctx, 2)))
		expectReady(ctx, agent)
		before := pods(ctx, agent)
		Expect(before).To(HaveLen(2))

		load := startLoad(ctx, agent, 20)
		Eventually(ctx, load.chunks.Load).Should(BeNumerically(">", 100))
		replacePods(ctx, agent)
		Eventually(ctx, func(g Gomega) {
			for _, pod := range before {
				g.Expect(apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(&pod), &pod))).To(BeTrue(), pod.Name)
			}
		}).WithTimeout(2 * time.Minute).Should(Succeed())
		expectReady(ctx, agent)
		load.end()

		AddReportEntry("streams during a rollout", load.String())
		GinkgoWriter.Println(load)
		Expect(load.problems).To(BeEmpty())
	})

	It("ends each stream of an agent without Redis in a resumable way", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "forgetful", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.TerminationGracePeriodSeconds = new(int64(10))
		}))
		expectReady(ctx, agent)
		const streams = 10
		var begun atomic.Int32
		finals := make(chan string, streams)
		for range streams {
			one := connect(ctx, agent)
			go func() {
				final, first := "no end", true
				for e, err := range one.stream(ctx, "stream 6000 100ms") {
					if err != nil {
						final = err.Error()
						break
					}
					if first && e.Text != "" {
						first = false
						begun.Add(1)
					}
					if e.State != "" {
						final = e.State
					}
				}
				finals <- final
			}()
		}
		Eventually(ctx, begun.Load).Should(BeEquivalentTo(streams))
		replacePods(ctx, agent)
		for range streams {
			Eventually(ctx, finals).WithTimeout(time.Minute).Should(Receive(Equal("failed")))
		}
		expectReady(ctx, agent)
	})

	It("allows the eviction of one pod, and of the next after its replacement", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "budgeted", onRedis(ctx, 2)))
		expectReady(ctx, agent)
		budget := &policyv1.PodDisruptionBudget{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), budget)).To(Succeed())
			g.Expect(budget.Status.DisruptionsAllowed).To(BeEquivalentTo(1))
		}).Should(Succeed())
		evict := func(pod *corev1.Pod) error {
			return clientset.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
		}
		both := pods(ctx, agent)
		Expect(evict(&both[0])).To(Succeed())
		Expect(apierrors.IsTooManyRequests(evict(&both[1]))).To(BeTrue(), "the budget allows one missing pod")
		Eventually(ctx, func() error { return evict(&both[1]) }).Should(Succeed())
		expectReady(ctx, agent)
	})
})

// The program needs eight seconds to start. Until the next pod is ready, the Service has only the pod that ends.
var _ = DescribeTable("An agent with one pod refuses no call", func(ctx SpecContext, end func(context.Context, *a2av1alpha1.Agent, *corev1.Pod)) {
	agent := create(ctx, newAgent(namespace(ctx), "only", func(a *a2av1alpha1.Agent) {
		a.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A2A_TEST_START_AFTER", Value: "8s"}}
	}))
	expectReady(ctx, agent)
	before := pods(ctx, agent)
	Expect(before).To(HaveLen(1))

	calls := startCalls(ctx, agent, 4)
	Eventually(ctx, calls.answered.Load).Should(BeNumerically(">", 10))
	end(ctx, agent, &before[0])
	Eventually(ctx, func() bool {
		return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(&before[0]), &before[0]))
	}).WithTimeout(2 * time.Minute).Should(BeTrue())
	expectReady(ctx, agent)
	Expect(pods(ctx, agent)[0].Name).NotTo(Equal(before[0].Name))
	calls.end()

	AddReportEntry("calls", calls.String())
	GinkgoWriter.Println(calls)
	Expect(calls.refused).To(BeEmpty())
},
	Entry("while its pod is evicted", func(ctx context.Context, _ *a2av1alpha1.Agent, pod *corev1.Pod) {
		Expect(clientset.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})).To(Succeed())
	}),
	Entry("while a rollout replaces its pod", func(ctx context.Context, agent *a2av1alpha1.Agent, _ *corev1.Pod) {
		replacePods(ctx, agent)
	}),
)

// calls is a set of callers, each of which sends ten messages a second.
type calls struct {
	answered atomic.Int64
	stopping chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	refused []string
}

func startCalls(ctx context.Context, agent *a2av1alpha1.Agent, callers int) *calls {
	GinkgoHelper()
	c := &calls{stopping: make(chan struct{})}
	for range callers {
		one := connect(ctx, agent)
		c.running.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-c.stopping:
					return
				case <-tick.C:
				}
				if _, err := one.send(ctx, "hello"); err != nil {
					c.mu.Lock()
					c.refused = append(c.refused, time.Now().Format(time.TimeOnly)+" "+err.Error())
					c.mu.Unlock()
					continue
				}
				c.answered.Add(1)
			}
		})
	}
	return c
}

// end waits until the callers have ended.
func (c *calls) end() {
	close(c.stopping)
	c.running.Wait()
}

func (c *calls) String() string {
	return fmt.Sprintf("%d of %d calls refused", len(c.refused), c.answered.Load()+int64(len(c.refused)))
}

// onRedis gives an agent replicas that share a Redis server, which runs on the node and not in a pod.
func onRedis(ctx context.Context, replicas int32) func(*a2av1alpha1.Agent) {
	GinkgoHelper()
	host := nodeAddress(ctx)
	const password = "only-for-this-test"
	server := redistest.Start(GinkgoTB(), "--bind", "127.0.0.1", host, "--requirepass", password)
	_, port, err := net.SplitHostPort(server.Address())
	Expect(err).NotTo(HaveOccurred())
	return func(a *a2av1alpha1.Agent) {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "redis"}, StringData: map[string]string{"password": password},
		}
		Expect(cluster.Create(ctx, secret)).To(Succeed())
		a.Spec.Workload.Replicas = &replicas
		a.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
			Type: a2av1alpha1.TaskStoreRedis,
			Redis: &a2av1alpha1.AgentRedis{
				Addresses:         []string{net.JoinHostPort(host, port)},
				PasswordSecretRef: &a2av1alpha1.SecretReference{Name: secret.Name},
			},
		}
	}
}

// replacePods changes the pod template such that the behaviour of the agent stays the same.
func replacePods(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	update(ctx, agent, func(a *a2av1alpha1.Agent) {
		a.Spec.Workload.Template.Annotations = map[string]string{"example.com/rolled": "yes"}
	})
}

// load is a set of callers. Each sends one message after another, and reads the stream of each to its end, over
// several connections if needed.
type load struct {
	chunks, tasks, resumed atomic.Int64
	stopping               chan struct{}
	running                sync.WaitGroup

	mu       sync.Mutex
	problems []string
}

const chunksOfLoad = 30

func startLoad(ctx context.Context, agent *a2av1alpha1.Agent, callers int) *load {
	GinkgoHelper()
	l := &load{stopping: make(chan struct{})}
	for range callers {
		one := connect(ctx, agent)
		l.running.Go(func() {
			for {
				select {
				case <-l.stopping:
					return
				default:
				}
				if err := l.call(ctx, one); err != nil {
					l.mu.Lock()
					l.problems = append(l.problems, err.Error())
					l.mu.Unlock()
					return
				}
				l.tasks.Add(1)
			}
		})
	}
	return l
}

// end waits until the callers have finished their current message.
func (l *load) end() {
	close(l.stopping)
	l.running.Wait()
}

func (l *load) String() string {
	return fmt.Sprintf("%d tasks, %d chunks, %d streams resumed, %d problems", l.tasks.Load(), l.chunks.Load(), l.resumed.Load(), len(l.problems))
}

// call sends a message, and resumes its stream after each disconnect. The task must have all chunks at the end.
func (l *load) call(ctx context.Context, client sdk) error {
	var id, state string
	var broken error
	events := client.stream(ctx, fmt.Sprintf("stream %d 100ms", chunksOfLoad))
	for range 10 {
		for e, err := range events {
			if err != nil {
				broken = err
				break
			}
			if id == "" {
				id = e.TaskID
			}
			if e.Text != "" {
				l.chunks.Add(1)
			}
			if e.State != "" {
				state = e.State
			}
		}
		if state == "completed" {
			return l.complete(ctx, client, id)
		}
		if id == "" {
			return fmt.Errorf("no task was created: %w", broken)
		}
		if state != "working" && state != "submitted" {
			return fmt.Errorf("task %s is %s", id, state)
		}
		l.resumed.Add(1)
		events = client.resubscribe(ctx, id)
	}
	return fmt.Errorf("task %s did not end: %w", id, broken)
}

func (l *load) complete(ctx context.Context, client sdk, id string) error {
	kept, err := client.get(ctx, id)
	if err != nil {
		return fmt.Errorf("read task %s: %w", id, err)
	}
	for i, chunk := range strings.Fields(kept.Text) {
		if want := fmt.Sprintf("chunk-%d", i); chunk != want {
			return fmt.Errorf("task %s has %s in the place of %s", id, chunk, want)
		}
	}
	if got := len(strings.Fields(kept.Text)); got != chunksOfLoad {
		return errors.New("task " + id + " has " + fmt.Sprint(got) + " chunks")
	}
	return nil
}
