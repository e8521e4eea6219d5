//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// withdrawalTime bounds the time until a caller that has lost the right no longer sees an agent. The manager watches RBAC
// objects, so this usually takes less than a second after a RoleBinding is deleted. The rest is a margin for a busy node.
const withdrawalTime = 10 * time.Second

var _ = Describe("An agent that searches through its gateway", func() {
	It("finds an agent of another namespace by a RoleBinding, and loses it within 10 s without", func(ctx SpecContext) {
		here, there := namespace(ctx), namespace(ctx)
		seeker := create(ctx, newAgent(here, "seeker"))
		hidden := create(ctx, newAgent(there, "hidden", withSkill("needle")))
		expectReady(ctx, seeker)
		expectReady(ctx, hidden)
		registry := gatewayOf(ctx, seeker) + "/registry"
		client := caller("")
		search := func(g Gomega) []string { return agentsAt(ctx, g, client, registry+"/v1/agents?skill=needle") }
		status := func() int {
			response, _ := get(ctx, client, registry+"/v1/agents/"+there+"/hidden")
			return response.StatusCode
		}

		By("searching without the right")
		Expect(search(Default)).To(BeEmpty())
		Expect(status()).To(Equal(http.StatusNotFound))
		watch := openWatch(ctx, client, registry+"/v1/agents?watch=true&skill=needle", "")
		watch.awaitSynced(ctx)
		Expect(watch.agents).To(BeEmpty())

		By("searching with it")
		binding := letSee(ctx, seeker, there)
		Eventually(ctx, search).Should(ConsistOf(there + "/hidden"))
		Expect(status()).To(Equal(http.StatusOK))
		watch.await(ctx, time.Minute, watchEvent{kind: "upsert", agent: there + "/hidden"})

		By("deleting the RoleBinding")
		Expect(cluster.Delete(ctx, binding)).To(Succeed())
		start := time.Now()
		Eventually(ctx, search).WithTimeout(withdrawalTime).Should(BeEmpty())
		unseen := time.Since(start)
		watch.await(ctx, withdrawalTime-unseen, watchEvent{kind: "remove", agent: there + "/hidden"})
		removed := time.Since(start)
		Expect(status()).To(Equal(http.StatusNotFound))
		AddReportEntry("RoleBinding deleted to agent hidden", unseen.Round(time.Millisecond).String())
		AddReportEntry("RoleBinding deleted to remove event", removed.Round(time.Millisecond).String())
		GinkgoWriter.Println("hidden after", unseen, "remove event after", removed)
	})
})

var _ = Describe("A public agent", func() {
	It("is found without a token and from other namespaces, and other agents are not", func(ctx SpecContext) {
		ns, foreign := namespace(ctx), namespace(ctx)
		public := create(ctx, newAgent(ns, "public", withSkill("juggle"), func(a *a2av1alpha1.Agent) {
			a.Spec.Discovery.Visibility = a2av1alpha1.VisibilityPublic
		}))
		create(ctx, newAgent(ns, "private", withSkill("juggle")))
		expectReady(ctx, public)

		By("searching without a token")
		search := func() []string { return anonymousSearch(ctx, "juggling") }
		Eventually(ctx, search).Should(ConsistOf(ns + "/public"))
		response, body := get(ctx, caller(""), registryURL+"/ard/catalogs/"+ns)
		Expect(response.StatusCode).To(Equal(http.StatusOK), body)
		Expect(body).To(And(ContainSubstring(":"+ns+":public"), Not(ContainSubstring("private"))))

		By("searching with the token of another namespace, which gives no right to call the agent")
		stranger := caller(token(ctx, foreign, a2av1alpha1.Audience))
		seen := func(g Gomega) []string {
			return agentsAt(ctx, g, stranger, registryURL+"/v1/agents?skill=juggle&namespace="+ns)
		}
		Eventually(ctx, seen).Should(ConsistOf(ns + "/public"))
		Expect(post(ctx, caller(token(ctx, foreign, audience(public))), public).StatusCode).To(Equal(http.StatusForbidden))

		By("making it private")
		update(ctx, public, func(a *a2av1alpha1.Agent) { a.Spec.Discovery.Visibility = a2av1alpha1.VisibilityCluster })
		Eventually(ctx, search).Should(BeEmpty())
		Eventually(ctx, seen).Should(BeEmpty())
	})
})

// anonymousSearch returns the agents that a client without a token finds by ARD, as namespace/name.
func anonymousSearch(ctx context.Context, text string) []string {
	GinkgoHelper()
	body := fmt.Sprintf(`{"query":{"text":%q}}`, text)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, registryURL+"/ard/search", strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := caller("").Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	var page struct {
		Results []struct{ Metadata registryEntry }
	}
	Expect(json.NewDecoder(response.Body).Decode(&page)).To(Succeed())
	names := []string{}
	for _, result := range page.Results {
		names = append(names, result.Metadata.name())
	}
	return names
}

// letSee grants an agent the right to find the agents of a namespace. The RoleBinding ends with the namespace.
func letSee(ctx context.Context, agent *a2av1alpha1.Agent, namespace string) *rbacv1.RoleBinding {
	GinkgoHelper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "let-" + agent.Name + "-see"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: release + "-registry-viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: agent.Namespace, Name: agent.Name}},
	}
	Expect(cluster.Create(ctx, binding)).To(Succeed())
	return binding
}

// agentsAt returns the agents of the first page of a search, as namespace/name.
func agentsAt(ctx context.Context, g Gomega, client *http.Client, url string) []string {
	GinkgoHelper()
	response, body := get(ctx, client, url)
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), body)
	var page struct{ Items []registryEntry }
	g.Expect(json.Unmarshal([]byte(body), &page)).To(Succeed())
	names := []string{}
	for _, item := range page.Items {
		names = append(names, item.name())
	}
	return names
}

// registryEntry holds the members of an entry of the registry that the tests check.
type registryEntry struct{ Namespace, Name, Description, URL string }

func (e registryEntry) name() string { return e.Namespace + "/" + e.Name }
