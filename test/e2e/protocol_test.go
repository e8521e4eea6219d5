//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("An agent", Ordered, func() {
	var agent *a2av1alpha1.Agent

	BeforeAll(func(ctx SpecContext) {
		talker := newAgent(namespace(ctx), "talker")
		// The SDKs use the interfaces of the card, gRPC included.
		talker.Spec.Protocol.Bindings = []a2av1alpha1.CardBinding{a2av1alpha1.CardBindingJSONRPC, a2av1alpha1.CardBindingHTTPJSON, a2av1alpha1.CardBindingGRPC}
		agent = create(ctx, talker)
		expectReady(ctx, agent)
	})

	It("serves the card at both well-known paths without a token", func(ctx SpecContext) {
		var etags []string
		for _, path := range []string{"/.well-known/agent.json", "/.well-known/agent-card.json"} {
			response, body := get(ctx, caller(""), serviceURL(agent)+path)
			Expect(response.StatusCode).To(Equal(http.StatusOK))
			Expect(body).To(ContainSubstring(`"supportedInterfaces"`))
			Expect(body).To(ContainSubstring(`"protocolVersion":"0.3.0"`))
			etags = append(etags, response.Header.Get("ETag"))
		}
		Expect(etags[0]).NotTo(BeEmpty())
		Expect(etags[1]).To(Equal(etags[0]))
	})

	It("refuses a caller without a token, with a token for another agent, and from another namespace", func(ctx SpecContext) {
		Expect(post(ctx, caller(""), agent).StatusCode).To(Equal(http.StatusUnauthorized))
		Expect(post(ctx, caller("a.b.c"), agent).StatusCode).To(Equal(http.StatusUnauthorized))
		apiServers := token(ctx, agent.Namespace, "https://kubernetes.default.svc")
		Expect(post(ctx, caller(apiServers), agent).StatusCode).To(Equal(http.StatusUnauthorized))
		strangers := token(ctx, operatorNamespace, audience(agent))
		Expect(post(ctx, caller(strangers), agent).StatusCode).To(Equal(http.StatusForbidden))
		friends := token(ctx, agent.Namespace, audience(agent))
		Expect(post(ctx, caller(friends), agent).StatusCode).To(Equal(http.StatusOK))
	})

	DescribeTable("serves an official SDK", func(ctx SpecContext, connect func(context.Context, *http.Client, string) (sdk, error)) {
		client, err := connect(ctx, caller(token(ctx, agent.Namespace, audience(agent))), serviceURL(agent))
		Expect(err).NotTo(HaveOccurred())

		By("sending a message")
		sent, err := client.send(ctx, "good morning")
		Expect(err).NotTo(HaveOccurred())
		Expect(sent).To(HaveField("State", "completed"))
		Expect(sent.Text).To(Equal("good morning"))

		By("reading the task")
		Expect(client.get(ctx, sent.ID)).To(Equal(sent))

		By("streaming an answer, chunk by chunk")
		var text, final string
		var arrivals []time.Time
		for e, err := range client.stream(ctx, "stream 10 50ms") {
			Expect(err).NotTo(HaveOccurred())
			if e.Text != "" {
				text += e.Text
				arrivals = append(arrivals, time.Now())
			}
			if e.State != "" {
				final = e.State
			}
		}
		Expect(final).To(Equal("completed"))
		Expect(strings.Fields(text)).To(HaveLen(10))
		Expect(arrivals[len(arrivals)-1].Sub(arrivals[0])).To(BeNumerically(">", 300*time.Millisecond), "chunks arrive while the agent writes")

		By("disconnecting from a stream and resuming it")
		var id string
		for e, err := range client.stream(ctx, "stream 40 50ms") {
			Expect(err).NotTo(HaveOccurred())
			if e.Text != "" {
				id = e.TaskID
				break
			}
		}
		text, final = "", ""
		for e, err := range client.resubscribe(ctx, id) {
			Expect(err).NotTo(HaveOccurred())
			text += e.Text
			if e.State != "" {
				final = e.State
			}
		}
		Expect(final).To(Equal("completed"))
		Expect(strings.Fields(text)).To(HaveLen(40), "snapshot and live events have no gap and no repetition")

		By("cancelling a task")
		for e, err := range client.stream(ctx, "stream 1000 50ms") {
			Expect(err).NotTo(HaveOccurred())
			id = e.TaskID
			break
		}
		Expect(client.cancel(ctx, id)).To(HaveField("State", "canceled"))
		Expect(client.get(ctx, id)).To(HaveField("State", "canceled"))
		_, err = client.cancel(ctx, id)
		Expect(err).To(HaveOccurred(), "a canceled task cannot be canceled")

		By("reading a task that does not exist")
		_, err = client.get(ctx, "nobody-knows")
		Expect(err).To(MatchError(ContainSubstring("not found")))
	},
		Entry("of protocol 1.0", newSDKV1),
		Entry("of protocol 1.0 over REST", newSDKV1REST),
		Entry("of protocol 1.0 over gRPC", newSDKV1GRPC),
		Entry("of protocol 0.3", newSDKV03),
	)

	It("fails a task with a reason if the agent sends garbage", func(ctx SpecContext) {
		client, err := newSDKV1(ctx, caller(token(ctx, agent.Namespace, audience(agent))), serviceURL(agent))
		Expect(err).NotTo(HaveOccurred())
		Expect(client.send(ctx, "garbage")).To(HaveField("State", "failed"))
	})

	It("hides tasks from other callers of the same namespace", func(ctx SpecContext) {
		owner, err := newSDKV1(ctx, caller(token(ctx, agent.Namespace, audience(agent))), serviceURL(agent))
		Expect(err).NotTo(HaveOccurred())
		sent, err := owner.send(ctx, "mine")
		Expect(err).NotTo(HaveOccurred())
		other, err := newSDKV1(ctx, caller(tokenOf(ctx, agent.Namespace, agent.Name, audience(agent))), serviceURL(agent))
		Expect(err).NotTo(HaveOccurred())
		_, foreign := other.get(ctx, sent.ID)
		_, missing := other.get(ctx, "nobody-knows")
		Expect(foreign).To(HaveOccurred())
		Expect(strings.ReplaceAll(foreign.Error(), sent.ID, "ID")).To(Equal(strings.ReplaceAll(missing.Error(), "nobody-knows", "ID")))
	})
})

// serviceURL returns the URL of an agent without a trailing slash.
func serviceURL(agent *a2av1alpha1.Agent) string {
	return "http://" + agent.Name + "." + agent.Namespace + ".svc." + clusterDomain
}

// get reads a URL.
func get(ctx context.Context, client *http.Client, url string) (*http.Response, string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response, string(body)
}

// post sends a message as a 0.3 client does, and returns the response without its body.
func post(ctx context.Context, client *http.Client, agent *a2av1alpha1.Agent) *http.Response {
	GinkgoHelper()
	const message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":` +
		`{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, serviceURL(agent)+"/", strings.NewReader(message))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response
}
