//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// mounted bounds the time until the kubelet has updated a mounted Secret.
const mounted = 3 * time.Minute

var _ = Describe("A dependency", func() {
	It("N1: a task store that new pods cannot reach stops the rollout, and its loss keeps running pods ready", func(ctx SpecContext) {
		const password = "only-for-this-test"
		host := nodeAddress(ctx)
		server := redistest.Start(GinkgoTB(), "--bind", "127.0.0.1", host, "--requirepass", password)
		_, port, err := net.SplitHostPort(server.Address())
		Expect(err).NotTo(HaveOccurred())
		agent := create(ctx, newAgent(namespace(ctx), "stored"))
		for name, text := range map[string]string{"right": password, "wrong": "not-the-password"} {
			Expect(cluster.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: name}, StringData: map[string]string{"password": text},
			})).To(Succeed())
		}
		expectReady(ctx, agent)
		before := pods(ctx, agent)[0]
		store := func(address, secret string) {
			GinkgoHelper()
			update(ctx, agent, func(a *a2av1alpha1.Agent) {
				a.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
					Type: a2av1alpha1.TaskStoreRedis,
					Redis: &a2av1alpha1.AgentRedis{
						Addresses: []string{address}, PasswordSecretRef: &a2av1alpha1.SecretReference{Name: secret},
					},
				}
			})
		}
		stopped := func(reason string, parts ...string) {
			GinkgoHelper()
			for _, part := range parts {
				Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionAvailable).WithTimeout(2 * time.Minute).
					Should(And(HavePrefix("True "+reason), ContainSubstring(part)))
			}
			Expect(describe(ctx, agent, a2av1alpha1.ConditionReady)).To(HavePrefix("False " + reason))
			Expect(sendText(ctx, agent, "still there?")).To(HaveField("State", "completed"))
			Expect(pods(ctx, agent)).To(ContainElement(HaveField("UID", before.UID)))
		}
		right := net.JoinHostPort(host, port)

		By("naming an address without a listener")
		closed := net.JoinHostPort(host, "1")
		store(closed, "right")
		stopped(a2av1alpha1.ReasonTaskStoreUnavailable, closed+": connection refused", "spec.workload.tasks.store.redis.addresses")
		By("naming a host that does not exist")
		store("redis.invalid:6379", "right")
		stopped(a2av1alpha1.ReasonTaskStoreUnavailable, "NameResolutionFailed")
		By("naming a wrong password")
		store(right, "wrong")
		stopped(a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "AuthenticationFailed", `Secret "wrong"`)
		By("naming a Secret that does not exist")
		store(right, "missing")
		stopped(a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "(Missing)", `create Secret "missing" with key "password"`)

		By("correcting the store")
		store(right, "right")
		expectReady(ctx, agent)

		By("stopping the store")
		after := pods(ctx, agent)[0]
		server.Kill()
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).
			Should(And(HavePrefix("True "+a2av1alpha1.ReasonTaskStoreUnavailable), ContainSubstring(right)))
		Expect(pods(ctx, agent)).To(ContainElement(And(HaveField("UID", after.UID), WithTransform(isReady, BeTrue()))))
		server.Run()
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).
			Should(And(HavePrefix("True"), Not(ContainSubstring(a2av1alpha1.ReasonTaskStoreUnavailable))))
	})

	It("N4: an expired certificate never replaces a valid one, and starts no pod", func(ctx SpecContext) {
		ns := namespace(ctx)
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cert"}, Type: corev1.SecretTypeTLS,
			Data: newCertificate(time.Now().Add(time.Hour)),
		}
		Expect(cluster.Create(ctx, secret)).To(Succeed())
		withTLS := func(a *a2av1alpha1.Agent) {
			a.Spec.Access.TLS = &a2av1alpha1.AccessTLS{SecretRef: a2av1alpha1.SecretReference{Name: "cert"}}
		}
		agent := create(ctx, newAgent(ns, "encrypted", withTLS))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).Should(HavePrefix("True"))

		expired := time.Now().Add(-time.Hour)
		date := "expired on " + expired.UTC().Format(time.RFC3339)
		secret.Data = newCertificate(expired)
		Expect(cluster.Update(ctx, secret)).To(Succeed())
		// After this change, the operator patches the pod. The kubelet then updates the volumes of the pod at once.
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Has an expired certificate." })
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).WithTimeout(mounted).
			Should(And(HavePrefix("True "+a2av1alpha1.ReasonTLSUnusable), ContainSubstring(date), ContainSubstring(`Secret "cert"`)))

		late := create(ctx, newAgent(ns, "late", withTLS))
		Eventually(ctx, describe).WithArguments(ctx, late, a2av1alpha1.ConditionAvailable).WithTimeout(time.Minute).
			Should(And(HavePrefix("False "+a2av1alpha1.ReasonTLSUnusable), ContainSubstring(date)))
	})

	It("N7: an issuer without keys is named in a condition, and a pod that cannot admit any caller is not ready", func(ctx SpecContext) {
		const keys = "https://kubernetes.default.svc/no-such-keys"
		agent := create(ctx, newAgent(namespace(ctx), "keyless", func(a *a2av1alpha1.Agent) {
			a.Spec.TrustBundle = &a2av1alpha1.CABundleReference{Name: "kube-root-ca.crt"}
			a.Spec.Access.Authentication = []a2av1alpha1.Authentication{{
				Type: a2av1alpha1.AuthenticationJWT,
				JWT:  &a2av1alpha1.JWTAuthentication{Issuer: "https://issuer.example.com", Audiences: []string{"keyless"}, JWKSURL: keys},
			}}
		}))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).WithTimeout(time.Minute).Should(And(
			HavePrefix("False "+a2av1alpha1.ReasonIssuerKeysUnavailable),
			ContainSubstring("GET "+keys+" is answered with status 40"), ContainSubstring("spec.access.authentication[0].jwt.jwksURL")))

		update(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Access.Authentication = append(a.Spec.Access.Authentication, a2av1alpha1.Authentication{Type: a2av1alpha1.AuthenticationKubernetes})
		})
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).WithTimeout(mounted).
			Should(HavePrefix("True " + a2av1alpha1.ReasonIssuerKeysUnavailable))
	})
})

func isReady(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodeAddress returns the address at which pods reach programs of the node.
func nodeAddress(ctx context.Context) (host string) {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(cluster.List(ctx, nodes)).To(Succeed())
	Expect(nodes.Items).To(HaveLen(1))
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			host = address.Address
		}
	}
	Expect(host).NotTo(BeEmpty())
	return host
}

// newCertificate returns the content of a kubernetes.io/tls Secret.
func newCertificate(until time.Time) map[string][]byte {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "agent"}, DNSNames: []string{"agent"},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	private, err := x509.MarshalPKCS8PrivateKey(key)
	Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
