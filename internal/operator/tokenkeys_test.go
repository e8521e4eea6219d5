// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// publishedTokenKeys returns a function that returns the key set of the registry's tokens
// from the sidecar configuration of an Agent, or "" if there is none.
func publishedTokenKeys(agent *a2av1alpha1.Agent) func(context.Context) string {
	return func(ctx context.Context) string {
		configuration := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}}
		if cluster.Get(ctx, client.ObjectKeyFromObject(configuration), configuration) != nil {
			return ""
		}
		decoded, err := sidecarconfig.Decode([]byte(configuration.Data[sidecarconfig.FileName]))
		if err != nil {
			return err.Error()
		}
		for _, each := range decoded.Access.Authentication {
			if k := each.Kubernetes; k != nil && k.Issuer == sidecarconfig.TokenIssuer {
				return string(k.Keys)
			}
		}
		return ""
	}
}

// tokenKeysName is the name of the Secret of an operator with the default name.
const tokenKeysName = "a2a-operator-token-keys"

func tokenKeysSecret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, cluster.Get(ctx, client.ObjectKey{Namespace: leaseNamespace, Name: tokenKeysName}, secret)
}

var _ = It("publishes the public token keys, keeps them over a restart, and replaces them after the Secret is lost", Serial, func(ctx context.Context) {
	namespace := createNamespace(ctx, "token-keys-")
	agent := createAgent(ctx, namespace, "echo")
	published := publishedTokenKeys(agent)
	Eventually(published).WithContext(ctx).Should(ContainSubstring(`"kid"`))
	first := published(ctx)
	var set struct{ Keys []map[string]any }
	Expect(json.Unmarshal([]byte(first), &set)).To(Succeed())
	Expect(set.Keys).To(HaveLen(2), "the key that signs and the next one")
	for _, key := range set.Keys {
		Expect(key).NotTo(HaveKey("d"), "a private key is published")
	}

	By("restarting the manager")
	secret, err := tokenKeysSecret(ctx)
	Expect(err).NotTo(HaveOccurred())
	stop()
	stop = start()
	other := createAgent(ctx, namespace, "other")
	Eventually(publishedTokenKeys(other)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(first))
	after, err := tokenKeysSecret(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(after.ResourceVersion).To(Equal(secret.ResourceVersion))

	By("deleting the Secret")
	Expect(cluster.Delete(ctx, secret)).To(Succeed())
	Eventually(published).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(Equal(first))
	second := published(ctx)
	Expect(second).To(ContainSubstring(`"kid"`))
	Eventually(publishedTokenKeys(other)).WithContext(ctx).Should(Equal(second))
	Eventually(eventReasons).WithContext(ctx).WithArguments(leaseNamespace).Should(ContainElement("TokenKeysReplaced"))

	By("corrupting the Secret")
	secret, err = tokenKeysSecret(ctx)
	Expect(err).NotTo(HaveOccurred())
	mergePatch(ctx, secret, `{"data":{"keys.json":"PGh0bWw+"}}`)
	Eventually(published).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(Equal(second))
	Expect(published(ctx)).To(ContainSubstring(`"kid"`))
})

var _ = It("lets the manager create, read and change the Secret of the token keys, and no other", func(ctx context.Context) {
	user, err := environment.AddUser(envtest.User{Name: "token-keys-only"}, nil)
	Expect(err).NotTo(HaveOccurred())
	namespace := createNamespace(ctx, "token-rights-")
	role := tokenKeysRole()
	role.Namespace = namespace
	grant("token-keys-only", role)
	limited, err := client.New(user.Config(), client.Options{Scheme: cluster.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	apply := func(name string) error {
		secret := corev1ac.Secret(name, namespace).WithResourceVersion("1").WithData(map[string][]byte{"a": []byte("b")})
		return limited.Apply(ctx, secret, client.FieldOwner("test"), client.ForceOwnership)
	}
	Expect(apply(tokenKeysName)).To(Succeed())
	Expect(apierrors.IsConflict(apply(tokenKeysName))).To(BeTrue(), "a Secret that exists is created again")
	Expect(limited.Get(ctx, client.ObjectKey{Namespace: namespace, Name: tokenKeysName}, &corev1.Secret{})).To(Succeed())
	for what, err := range map[string]error{
		"create":                   apply("other"),
		"get":                      limited.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "other"}, &corev1.Secret{}),
		"list":                     limited.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace)),
		"delete":                   limited.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenKeysName}}),
		"get in another namespace": limited.Get(ctx, client.ObjectKey{Namespace: leaseNamespace, Name: tokenKeysName}, &corev1.Secret{}),
		"plain create":             limited.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "plain"}}),
	} {
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", what, err)
	}
})
