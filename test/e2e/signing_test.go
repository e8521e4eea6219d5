//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("A signed card", func() {
	It("has a signature and the key that verifies it, and gets a new key without a restart", func(ctx SpecContext) {
		ns := namespace(ctx)
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "card-key"},
			Data:       map[string][]byte{"tls.key": newKey()},
		}
		Expect(cluster.Create(ctx, secret)).To(Succeed())
		agent := create(ctx, newAgent(ns, "signer", func(a *a2av1alpha1.Agent) {
			a.Spec.CardSigning = &a2av1alpha1.AgentCardSigning{SecretRef: a2av1alpha1.SecretReference{Name: secret.Name}}
		}))
		expectReady(ctx, agent)
		before := pods(ctx, agent)

		keyIDs := func() []string {
			_, body := get(ctx, caller(""), serviceURL(agent)+"/.well-known/jwks.json")
			var set struct {
				Keys []struct {
					ID string `json:"kid"`
					D  string `json:"d"`
				} `json:"keys"`
			}
			Expect(json.Unmarshal([]byte(body), &set)).To(Succeed(), body)
			ids := []string{}
			for _, key := range set.Keys {
				Expect(key.D).To(BeEmpty(), "a private key is served")
				ids = append(ids, key.ID)
			}
			return ids
		}
		signatures := func() int {
			_, body := get(ctx, caller(""), serviceURL(agent)+"/.well-known/agent-card.json")
			var card struct {
				Signatures []struct {
					Protected string `json:"protected"`
				} `json:"signatures"`
			}
			Expect(json.Unmarshal([]byte(body), &card)).To(Succeed(), body)
			return len(card.Signatures)
		}
		Expect(signatures()).To(BeNumerically(">", 0))
		first := keyIDs()
		Expect(first).To(HaveLen(1))

		By("rotating the key")
		secret.Data = map[string][]byte{"previous.key": secret.Data["tls.key"], "tls.key": newKey()}
		Expect(cluster.Update(ctx, secret)).To(Succeed())
		// The kubelet updates a pod's volumes after a minute or so, and at once after a change of the pod by the
		// operator.
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Signs with a new key." })
		Eventually(ctx, keyIDs).Should(And(HaveLen(2), ContainElement(first[0])))
		Expect(pods(ctx, agent)[0].UID).To(Equal(before[0].UID))
	})
})

// newKey returns a private key in the format of cert-manager.
func newKey() []byte {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalPKCS8PrivateKey(key)
	Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
