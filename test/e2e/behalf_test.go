//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
)

// testIssuerImage has the issuer of test/issuer.
const testIssuerImage = "a2a-operator/test-issuer:dev"

var _ = Describe("The page on calls on behalf of a user", func() {
	It("tells two users apart behind two agents, in rules, logs and tasks", func(ctx SpecContext) {
		all, err := blocks.Read("../..", "docs/how-to/on-behalf-of.md")
		Expect(err).NotTo(HaveOccurred())
		ns, dir := namespace(ctx), GinkgoT().TempDir()
		issuer := startIssuerInCluster(ctx, ns, "researcher.example.com")
		onPage := strings.NewReplacer(
			"https://id.example.com#u1", issuer.address.String()+"#id1", "https://id.example.com", issuer.address.String(),
			"namespace: team", "namespace: "+ns, "serviceaccount:team:", "serviceaccount:"+ns+":", "-n team", "-n "+ns,
			"Ask relay to ask echo", "call "+ns+"/relay call "+ns+"/echo", "Ask echo", "call "+ns+"/echo",
		)
		for name, text := range blocks.Files(all) {
			for _, agent := range []string{"researcher", "relay", "echo"} {
				text = strings.ReplaceAll(text, "image: registry.example.com/"+agent+":1", "image: "+testAgentImage)
			}
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(onPage.Replace(text)), 0o600)).To(Succeed())
		}
		host := issuer.address.Hostname()
		u1 := signIn(ctx, issuer, "test-user@"+host).access
		u2 := signIn(ctx, issuer, "test-user2").access
		GinkgoT().Setenv("TOKEN_OF_U1", u1)
		GinkgoT().Setenv("TOKEN_OF_U2", u2)
		config, err := clientcmd.LoadFromFile(setting("KUBECONFIG"))
		Expect(err).NotTo(HaveOccurred())
		user := &person{kubeconfig: filepath.Join(dir, "kubeconfig"), home: dir}
		Expect(clientcmd.WriteToFile(*config, user.kubeconfig)).To(Succeed())
		ran := 0
		for _, b := range all {
			if b.Markers[blocks.RunBy] != "test/e2e" {
				continue
			}
			ran++
			By(b.String())
			run := func(g Gomega) {
				out, err := runBlock(ctx, dir, user.kubeconfig, onPage.Replace(b.Text), "")
				g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", b, out)
				g.Expect(out).To(ContainSubstring(b.Markers[blocks.Prints]), b.String())
			}
			if strings.Contains(b.Text, "kubectl a2a logs") { // a line reaches the log of the node after the answer
				Eventually(ctx, run).Should(Succeed())
			} else {
				run(Default)
			}
		}
		Expect(ran).To(Equal(3))

		// ask sends researcher a message of a user, and returns the answer.
		ask := func(token, text string) string {
			GinkgoHelper()
			GinkgoT().Setenv("A2ACLI_BEARER", token)
			return user.ok(ctx, "send", "researcher", "-n", ns, text)
		}
		const completed, denied = `TASK_STATE_COMPLETED`, `PERMISSION_DENIED`
		direct := "call " + ns + "/echo"
		relayed := "call " + ns + "/relay call " + ns + "/echo"
		list := "list " + ns + "/echo"

		By("admitting u1 through both agents, and refusing u2")
		Expect(ask(u1, direct+" private of u1")).To(And(ContainSubstring(completed), ContainSubstring("private of u1")))
		Expect(ask(u1, relayed)).To(ContainSubstring(completed))
		Expect(ask(u2, direct)).To(ContainSubstring(denied))
		Expect(ask(u2, relayed)).To(ContainSubstring(denied))

		By("admitting u2 by a rule on the claims")
		inFinance := signIn(ctx, issuer, "test-user2", "group:finance").access
		Expect(ask(inFinance, direct+" private of u2")).To(ContainSubstring(completed))
		Expect(ask(inFinance, relayed)).To(ContainSubstring(denied), "the rule for finance admits researcher only")

		By("keeping their tasks apart")
		Expect(ask(u1, list)).To(And(ContainSubstring("private of u1"), Not(ContainSubstring("private of u2"))))
		Expect(ask(inFinance, list)).To(And(ContainSubstring("private of u2"), Not(ContainSubstring("private of u1"))))

		By("naming them in the log of the last agent")
		agent := "system:serviceaccount:" + ns + ":"
		subject := "jwt:" + issuer.address.String() + "#"
		researcher := agent + "researcher"
		relay := agent + "relay"
		Eventually(ctx, func() []call { return callsOf(user.ok(ctx, "logs", "echo", "-n", ns, "-c", "sidecar")) }).Should(ContainElements(
			call{"request ended", "SendMessage", researcher, subject + "id1", true, ""},
			call{"request ended", "SendMessage", relay, subject + "id1", true, ""},
			call{"request ended", "ListTasks", researcher, subject + "id1", true, ""},
			call{"request ended", "SendMessage", researcher, subject + "id2", true, ""},
			call{"request denied", "SendMessage", researcher, subject + "id2", true, noRule},
			call{"request denied", "SendMessage", relay, subject + "id2", true, noRule},
		))
		Expect(user.ok(ctx, "logs", "echo", "-n", ns, "-c", "sidecar")).NotTo(Or(ContainSubstring(u1), ContainSubstring(u2)))
	})
})

// noRule is the cause of a denial by the rules of the page.
const noRule = "none of the rules that allow calls matches: research-for-u1, research-for-finance, relay-for-u1"

// call is a line of the log about a call for a user.
type call struct {
	message, method, caller, subject string
	proven                           bool
	cause                            string
}

// callsOf reads the calls for users from a log.
func callsOf(log string) []call {
	var all []call
	for line := range strings.Lines(log) {
		var e struct {
			Message   string `json:"msg"`
			Method    string `json:"method"`
			Operation string `json:"operation"`
			Caller    string `json:"caller"`
			Subject   string `json:"subject"`
			Proven    bool   `json:"proven"`
			Cause     string `json:"cause"`
		}
		begin := max(strings.Index(line, "{"), 0) // the name of the pod is before it
		if json.Unmarshal([]byte(line[begin:]), &e) == nil && e.Subject != "" {
			all = append(all, call{e.Message, e.Method + e.Operation, e.Caller, e.Subject, e.Proven, e.Cause})
		}
	}
	return all
}

// startIssuerInCluster runs an OpenID Connect issuer in a pod, whose access tokens are for an audience, and lets the manager connect to it.
func startIssuerInCluster(ctx context.Context, ns, audience string) *oidcIssuer {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: ns, Name: "issuer", Labels: map[string]string{"app": "issuer"}}
	address := &url.URL{Scheme: "http", Host: "issuer." + ns + ".svc"}
	Expect(cluster.Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "issuer", Image: testIssuerImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Args: []string{
			"--issuer", address.String(), "--listen", ":8080", "--audience", audience,
			"--client", pageClient, "--secret", pageSecret, "--redirect", pageURL + "/callback",
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}}})).To(Succeed())
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	Expect(cluster.Create(ctx, service)).To(Succeed())
	ranges := make([]string, len(service.Spec.ClusterIPs))
	for i, ip := range service.Spec.ClusterIPs {
		ranges[i] = ip + "/32"
		if strings.Contains(ip, ":") {
			ranges[i] = ip + "/128"
		}
	}
	DeferCleanup(func(ctx SpecContext) { installChart(ctx) })
	installChart(ctx, "--set", "remote.allow={"+strings.Join(ranges, ",")+"}")
	issuer := &oidcIssuer{address: address}
	client := caller("")
	Eventually(ctx, func() error {
		_, _, err := fetch(ctx, client, "GET", address.String()+"/.well-known/openid-configuration", nil, "")
		return err
	}).Should(Succeed())
	return issuer
}
