//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("The aggregate card of the registry", func() {
	It("has the skills of the agents that its caller sees, and of no others", func(ctx SpecContext) {
		mine, foreign := namespace(ctx), namespace(ctx)
		create(ctx, newAgent(mine, "first", withSkill("sing")))
		create(ctx, newAgent(foreign, "hidden", withSkill("whisper")))
		own := caller(token(ctx, mine, a2av1alpha1.Audience))
		// Public agents of other specs may be on the card, too.
		known := func(client *http.Client) []string {
			return slices.DeleteFunc(cardSkills(ctx, client, registryURL+"/.well-known/agent.json"), func(id string) bool {
				return strings.Contains(id, ".") && !strings.HasPrefix(id, mine+".") && !strings.HasPrefix(id, foreign+".")
			})
		}
		skills := func() []string { return known(own) }
		Eventually(ctx, skills).Should(ContainElement(mine + ".first.sing"))

		By("adding a second agent")
		create(ctx, newAgent(mine, "second", withSkill("dance")))
		Eventually(ctx, skills).Should(ContainElements(mine+".first.sing", mine+".second.dance", "find-agents", "get-card"))
		Expect(skills()).To(HaveLen(4), "no skill of another namespace")

		By("reading the public card, and the card of a caller of the other namespace")
		Expect(known(caller(""))).To(ConsistOf("find-agents", "get-card"))
		theirs := caller(token(ctx, foreign, a2av1alpha1.Audience))
		Expect(known(theirs)).To(ConsistOf("find-agents", "get-card", foreign+".hidden.whisper"))
	})
})

// cardSkills returns the ids of the skills of the card at a URL.
func cardSkills(ctx context.Context, client *http.Client, url string) []string {
	GinkgoHelper()
	response, body := get(ctx, client, url)
	Expect(response.StatusCode).To(Equal(http.StatusOK), body)
	var card struct{ Skills []struct{ ID string } }
	Expect(json.Unmarshal([]byte(body), &card)).To(Succeed())
	ids := []string{}
	for _, skill := range card.Skills {
		ids = append(ids, skill.ID)
	}
	return ids
}
