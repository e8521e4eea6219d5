//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grant is a right in one namespace: the given rule or, if the rule is zero, the role view.
type grant struct {
	namespace string
	rule      rbacv1.PolicyRule
}

// view is the role view in a namespace.
func view(namespace string) grant { return grant{namespace: namespace} }

// The rights that the page on kubectl a2a lists beside the role view.
var (
	forwardPorts  = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}}
	requestToken  = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"default"}, Verbs: []string{"create"}}
	applyAgents   = rbacv1.PolicyRule{APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}, Verbs: []string{"create", "patch"}}
	listEndpoints = rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list"}}
	listServices  = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}}
)

// person is a user of kubectl a2a with a kubeconfig.
type person struct{ kubeconfig, home string }

// newPerson returns a user with the grants and no other right. The namespace of the first grant is the namespace of the
// kubeconfig. The user is a ServiceAccount in a separate namespace.
func newPerson(ctx context.Context, grants ...grant) *person {
	GinkgoHelper()
	home := namespace(ctx)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "person"}}
	Expect(cluster.Create(ctx, account)).To(Succeed())
	for _, g := range grants {
		bind(ctx, account, g)
	}
	for _, g := range grants {
		awaitGrant(ctx, account, g)
	}
	issued, err := clientset.CoreV1().ServiceAccounts(home).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	config := clientcmdapi.NewConfig()
	config.Clusters["node"] = &clientcmdapi.Cluster{Server: anonymous.Host, CertificateAuthority: anonymous.CAFile, CertificateAuthorityData: anonymous.CAData}
	config.AuthInfos["person"] = &clientcmdapi.AuthInfo{Token: issued.Status.Token}
	config.Contexts["person"] = &clientcmdapi.Context{Cluster: "node", AuthInfo: "person", Namespace: grants[0].namespace}
	config.CurrentContext = "person"
	directory := GinkgoT().TempDir()
	p := &person{kubeconfig: filepath.Join(directory, "kubeconfig"), home: directory}
	Expect(clientcmd.WriteToFile(*config, p.kubeconfig)).To(Succeed())
	return p
}

// bind grants a right to a ServiceAccount. The objects end with the namespace of the ServiceAccount, or after the test.
func bind(ctx context.Context, account *corev1.ServiceAccount, g grant) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: g.namespace, GenerateName: account.Namespace + "-"}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}
	var objects []client.Object
	if len(g.rule.Verbs) > 0 {
		role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{g.rule}}
		Expect(cluster.Create(ctx, role)).To(Succeed())
		ref.Kind, ref.Name = "Role", role.Name
		objects = append(objects, role)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{{
		Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name,
	}}}
	Expect(cluster.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, object := range append(objects, binding) {
			Expect(client.IgnoreNotFound(cluster.Delete(ctx, object))).To(Succeed())
		}
	})
}

// awaitGrant waits until the authorizer of the API server applies a grant.
func awaitGrant(ctx context.Context, account *corev1.ServiceAccount, g grant) {
	GinkgoHelper()
	wanted := &authorizationv1.ResourceAttributes{Namespace: g.namespace, Group: "a2a-operator.dev", Resource: "agents", Verb: "list"}
	if len(g.rule.Verbs) > 0 {
		resource, subresource, _ := strings.Cut(g.rule.Resources[0], "/")
		wanted = &authorizationv1.ResourceAttributes{
			Namespace: g.namespace, Group: g.rule.APIGroups[0], Resource: resource, Subresource: subresource, Verb: g.rule.Verbs[0],
		}
		if len(g.rule.ResourceNames) > 0 {
			wanted.Name = g.rule.ResourceNames[0]
		}
	}
	user := "system:serviceaccount:" + account.Namespace + ":" + account.Name
	Eventually(ctx, func() (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: wanted}}
		err := cluster.Create(ctx, review)
		return review.Status.Allowed, err
	}).Should(BeTrue(), "%s %s in namespace %s", wanted.Verb, wanted.Resource, g.namespace)
}

// outcome is the result of a command.
type outcome struct {
	status         int
	stdout, stderr string
}

// command returns a command line of kubectl a2a with the kubeconfig of the person.
func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "kubectl", append([]string{"a2a"}, args...)...)
	command.Dir = p.home
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "HOME="+p.home)
	return command
}

// a2a runs a command line of kubectl a2a without a terminal.
func (p *person) a2a(ctx context.Context, args ...string) outcome {
	GinkgoHelper()
	return finish(p.command(ctx, args...))
}

// finish runs a command to its end.
func finish(command *exec.Cmd) outcome {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a command and returns its stdout. It fails the test if the command fails.
func (p *person) ok(ctx context.Context, args ...string) string {
	GinkgoHelper()
	got := p.a2a(ctx, args...)
	Expect(got.status).To(Equal(0), "kubectl a2a %s\n%s%s", strings.Join(args, " "), got.stdout, got.stderr)
	return got.stdout
}

// decode runs a command and decodes its stdout. It fails the test if the command fails.
func (p *person) decode(ctx context.Context, into any, args ...string) {
	GinkgoHelper()
	text := p.ok(ctx, args...)
	Expect(json.Unmarshal([]byte(text), into)).To(Succeed(), text)
}

// field returns the last value of a field in text output, such as State.
func (o outcome) field(label string) (value string) {
	for line := range strings.Lines(o.stdout) {
		if v, found := strings.CutPrefix(line, label+": "); found {
			value = strings.TrimSpace(v)
		}
	}
	return value
}
