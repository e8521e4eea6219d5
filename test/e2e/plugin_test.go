//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("kubectl a2a for a user with the role view and the documented rights", Ordered, ContinueOnFailure, func() {
	var (
		ns    string
		agent *a2av1alpha1.Agent
		user  *person
	)
	BeforeAll(func(ctx SpecContext) {
		ns = namespace(ctx)
		agent = create(ctx, newAgent(ns, "echo", withSkill("repeat"), func(a *a2av1alpha1.Agent) {
			a.Spec.DefaultInputModes = []a2av1alpha1.MediaType{"text/plain", "application/octet-stream", "application/json"}
		}))
		user = newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, requestToken},
			view(operatorNamespace), grant{operatorNamespace, forwardPorts}, view("kube-system"))
		expectReady(ctx, agent)
	})

	It("lists and finds agents", func(ctx SpecContext) {
		Expect(user.ok(ctx, "list", "-o", "wide")).To(MatchRegexp(`(?m)^echo +True +Ready +1 .*http://echo\.` + ns))
		Expect(user.ok(ctx, "list", "-o", "name")).To(Equal("agent.a2a-operator.dev/echo\n"))
		Eventually(ctx, func() string {
			return user.a2a(ctx, "find", "repeating", "things", "-o", "name", "--registry-namespace", operatorNamespace).stdout
		}).Should(Equal(ns + "/echo\n"))
		Expect(user.ok(ctx, "find", "--skill", "repeat", "--ready", "--registry-namespace", operatorNamespace)).To(ContainSubstring("echo"))
	})

	It("shows the card that the agent serves", func(ctx SpecContext) {
		Expect(user.ok(ctx, "card", "get", "echo")).To(ContainSubstring("Skill: repeat: Repeat\n"))
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, serviceURL(agent)+"/.well-known/agent-card.json", nil)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("A2A-Version", "1.0")
		response, err := caller("").Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		served, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(user.ok(ctx, "card", "get", "echo", "-o", "json")).To(MatchJSON(served))
	})

	It("prints a token for just this agent", func(ctx SpecContext) {
		text := strings.TrimSpace(user.ok(ctx, "token", "echo"))
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
		Expect(err).NotTo(HaveOccurred())
		var claims struct {
			Audiences []string `json:"aud"`
		}
		Expect(json.Unmarshal(payload, &claims)).To(Succeed())
		Expect(claims.Audiences).To(ConsistOf(audience(agent)))
		Expect(post(ctx, caller(text), agent).StatusCode).To(Equal(http.StatusOK))
	})

	It("shows an answer while the agent writes it", func(ctx SpecContext) {
		command := user.command(ctx, "send", "echo", "stream 20 100ms")
		out, err := command.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(command.Start()).To(Succeed())
		lines := bufio.NewReader(out)
		_, err = io.ReadFull(lines, make([]byte, 1))
		Expect(err).NotTo(HaveOccurred())
		text, first := "", time.Time{}
		for {
			chunk := make([]byte, 4096)
			n, err := lines.Read(chunk)
			text += string(chunk[:n])
			if first.IsZero() && strings.Contains(text, "chunk-0 ") {
				first = time.Now()
				Expect(text).NotTo(ContainSubstring("chunk-19"))
			}
			if err != nil {
				break
			}
		}
		Expect(command.Wait()).To(Succeed())
		Expect(text).To(ContainSubstring("State: completed"))
		Expect(time.Since(first)).To(BeNumerically(">", time.Second), "the first words come long before the last ones")
	})

	It("sends and saves files and data", func(ctx SpecContext) {
		content := strings.Repeat("\x00\xff not a text", 1000)
		Expect(os.WriteFile(filepath.Join(user.home, "a.bin"), []byte(content), 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(user.home, "b.json"), []byte(`{"answer":42}`), 0o600)).To(Succeed())
		got := user.ok(ctx, "send", "echo", "parts", "--file", "a.bin", "--data", "b.json", "--save", "out")
		Expect(got).To(And(ContainSubstring("File: a.bin"), ContainSubstring(`"answer": 42`), ContainSubstring("State: completed")))
		saved, err := os.ReadFile(filepath.Join(user.home, "out", "a.bin"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(saved)).To(Equal(content))

		By("reading the text from stdin")
		command := user.command(ctx, "send", "echo", "-")
		command.Stdin = strings.NewReader("from stdin\n")
		Expect(finish(command).stdout).To(ContainSubstring("from stdin"))
	})

	It("answers a question of the agent", func(ctx SpecContext) {
		asked := user.a2a(ctx, "send", "echo", "ask")
		Expect(asked.status).To(Equal(0), asked.stderr)
		Expect(asked.field("State")).To(Equal("input-required"))
		Expect(asked.stdout).To(ContainSubstring("Which one?"))
		Expect(asked.stderr).To(ContainSubstring("--task-id " + asked.field("Task")))
		answered := user.a2a(ctx, "send", "echo", "--task-id", asked.field("Task"), "This one")
		Expect(answered.field("State")).To(Equal("completed"), answered.stderr)
		Expect(answered.stdout).To(ContainSubstring("This one"))
	})

	It("lists, watches, cancels and shows a task", func(ctx SpecContext) {
		started := user.a2a(ctx, "send", "echo", "--async", "stream 600 100ms")
		Expect(started.status).To(Equal(0), started.stderr)
		id := started.field("Task")
		Expect(user.ok(ctx, "task", "list", "echo", "--status", "working")).To(ContainSubstring(id))

		watch := user.command(ctx, "task", "watch", "echo", id)
		var watched strings.Builder
		words, err := watch.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(watch.Start()).To(Succeed())
		lines := bufio.NewReader(words)
		begin, err := lines.ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(begin).To(Equal("Task: " + id + "\n"))

		Expect(user.ok(ctx, "task", "cancel", "echo", id)).To(ContainSubstring("State: canceled"))
		_, err = io.Copy(&watched, lines)
		Expect(err).NotTo(HaveOccurred())
		Expect(watch.Wait()).To(Succeed())
		Expect(watched.String()).To(ContainSubstring("State: canceled"))
		Expect(user.ok(ctx, "task", "get", "echo", id, "--history", "1")).To(And(ContainSubstring("State: canceled"), ContainSubstring("stream 600 100ms")))

		By("canceling it again")
		Expect(user.ok(ctx, "task", "cancel", "echo", id)).To(ContainSubstring("State: canceled"))
		By("canceling a completed task")
		completed := user.a2a(ctx, "send", "echo", "hello")
		refused := user.a2a(ctx, "task", "cancel", "echo", completed.field("Task"))
		Expect(refused.status).To(Equal(1))
		Expect(refused.stderr).To(ContainSubstring("completed"))
	})

	It("prints logs and events", func(ctx SpecContext) {
		Expect(user.ok(ctx, "logs", "echo")).To(MatchRegexp(`(?m)^\[echo-\S+/` + a2av1alpha1.ContainerSidecar + `\] \{`))
		failed := user.a2a(ctx, "send", "echo", "garbage")
		Expect(failed.field("State")).To(Equal("failed"), failed.stderr)
		id := failed.field("Task")
		log := user.ok(ctx, "logs", "echo", "-c", "sidecar", "--task", id)
		Expect(log).NotTo(BeEmpty())
		for line := range strings.Lines(log) {
			Expect(line).To(ContainSubstring(id))
		}
		Expect(user.ok(ctx, "events", "echo")).To(MatchRegexp(`Normal +Started +pod/echo-`))
	})

	It("finds nothing wrong with a healthy agent", func(ctx SpecContext) {
		if hasForm(formRewrite) { // the policy is what it reports, and nothing else
			Eventually(ctx, func() string {
				got := user.a2a(ctx, "doctor", "echo")
				return got.stdout + got.stderr
			}).Should(And(MatchRegexp(`(?m)^ *warning +condition Programmed`), ContainSubstring(a2av1alpha1.ReasonFieldsContested),
				Not(MatchRegexp(`(?m)^ *(problem |warning +(sidecar|pods|Deployment|Service|card))`))))
			return
		}
		Eventually(ctx, func() string {
			got := user.a2a(ctx, "doctor", "echo")
			return got.stdout + got.stderr
		}).ShouldNot(MatchRegexp(`(?m)^ *(problem|warning) `))
		var report struct {
			Level  string
			Agents []struct{ Level string }
		}
		user.decode(ctx, &report, "doctor", "echo", "-o", "json")
		Expect(report.Level).To(Equal("ok"))
		Expect(report.Agents).To(HaveLen(1))
	})

	It("serves a page on loopback with the agents", func(ctx SpecContext) {
		command := user.command(ctx, "ui", "--no-browser", "--registry-namespace", operatorNamespace)
		out, err := command.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		command.Stderr = GinkgoWriter
		Expect(command.Start()).To(Succeed())
		address, err := bufio.NewReader(out).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(address).To(HavePrefix("http://127.0.0.1:"))
		response, body := get(ctx, http.DefaultClient, strings.TrimSpace(address))
		Expect(response.StatusCode).To(Equal(http.StatusOK))
		Expect(body).To(And(ContainSubstring("echo"), Not(ContainSubstring("eyJ"))), "no token reaches the browser")
		again, _ := get(ctx, &http.Client{}, strings.TrimSpace(address))
		Expect(again.StatusCode).NotTo(Equal(http.StatusOK), "the address works once")
		Expect(command.Process.Signal(os.Interrupt)).To(Succeed())
		Expect(command.Wait()).To(Succeed())
	})

	It("imports a Deployment that speaks A2A, and the API server accepts the Agent", func(ctx SpecContext) {
		editor := newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, applyAgents})
		labels := map[string]string{"app": "legacy"}
		pod := corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
				Containers: []corev1.Container{{
					Name: "legacy", Image: testAgentImage, ImagePullPolicy: corev1.PullIfNotPresent,
					Env:             []corev1.EnvVar{{Name: "A2A_TEST_CARD", Value: "Legacy"}, {Name: "PORT", Value: "9000"}},
					SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				}},
			},
		}
		Expect(cluster.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "legacy"},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod},
		})).To(Succeed())
		Expect(cluster.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "legacy"},
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(9000)}}},
		})).To(Succeed())
		var imported outcome
		Eventually(ctx, func() int {
			imported = editor.a2a(ctx, "import", "deployment", "legacy", "--name", "imported", "--dry-run", "server")
			return imported.status
		}).Should(Equal(0), func() string { return imported.stderr })
		Expect(imported.stdout).To(And(ContainSubstring("protocol: A2A"), ContainSubstring("displayName: Legacy"), ContainSubstring("port: 9000")))
		Expect(imported.stderr).To(ContainSubstring("spec.template.metadata.labels.app: left out"))

		By("validating nothing without the right to apply Agents")
		refused := user.a2a(ctx, "import", "deployment", "legacy", "--name", "imported", "--dry-run", "server")
		Expect(refused.status).To(Equal(4))
		Expect(refused.stderr).To(ContainSubstring(`{apiGroups: ["a2a-operator.dev"], resources: [agents], verbs: [create, patch]}`))

		By("applying the Agent")
		manifest := filepath.Join(user.home, "imported.yaml")
		Expect(os.WriteFile(manifest, []byte(imported.stdout), 0o600)).To(Succeed())
		run(ctx, "kubectl", "apply", "--server-side", "--filename", manifest)
		expectReady(ctx, &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "imported"}})
	})

	It("prints its version and completes names", func(ctx SpecContext) {
		Expect(user.ok(ctx, "version")).To(HavePrefix("kubectl a2a "))
		Expect(user.ok(ctx, "completion", "bash")).To(ContainSubstring("bash completion"))
		Expect(user.ok(ctx, "__complete", "send", "")).To(ContainSubstring("echo\n"))
	})
})

var _ = Describe("kubectl a2a without a right", Ordered, ContinueOnFailure, func() {
	var ns string
	BeforeAll(func(ctx SpecContext) {
		ns = namespace(ctx)
		expectReady(ctx, create(ctx, newAgent(ns, "echo")))
	})

	It("finds and diagnoses agents as a viewer of the namespace", func(ctx SpecContext) {
		viewer := newPerson(ctx, view(ns))
		found := viewer.a2a(ctx, "find", "--registry-namespace", operatorNamespace, "-o", "name")
		Expect(found.status).To(Equal(0), found.stderr)
		Expect(found.stdout).To(Equal(ns + "/echo\n"))
		Expect(found.stderr).To(ContainSubstring("Listed with your own rights"))
		Expect(viewer.ok(ctx, "find", "what the tests tell", "--as-self")).To(ContainSubstring("echo"))
		Expect(viewer.ok(ctx, "doctor", "echo")).To(ContainSubstring("You lack a right that the check needs"))
	})

	DescribeTable("names the rule that grants it", func(ctx SpecContext, grants func() []grant, rule string, commands ...string) {
		user := newPerson(ctx, grants()...)
		for _, line := range commands {
			got := user.a2a(ctx, strings.Fields(line)...)
			Expect(got.status).To(Equal(4), "%s\n%s%s", line, got.stdout, got.stderr)
			Expect(got.stderr).To(And(ContainSubstring(rule), ContainSubstring("Code: A2ACLI_ERR_AUTH_FAILED")), line)
			Expect(got.stdout).To(BeEmpty(), line)
		}
	},
		Entry("to read Agents", func() []grant { return []grant{{ns, forwardPorts}, {ns, requestToken}} },
			`resources: [agents], verbs: [`, "list", "list -A", "card get echo", "send echo Hello", "token echo", "task list echo", "logs echo", "events echo", "doctor echo"),
		Entry("to forward ports to agents", func() []grant { return []grant{view(ns), {ns, requestToken}} },
			`{apiGroups: [""], resources: [pods/portforward], verbs: [create]}`, "card get echo", "send echo Hello", "task list echo"),
		Entry("to request tokens", func() []grant {
			return []grant{view(ns), {ns, forwardPorts}, view(operatorNamespace), {operatorNamespace, forwardPorts}}
		},
			`{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [default], verbs: [create]}`,
			"send echo Hello", "token echo", "task list echo"),
		// A user who may list Agents needs no right in the namespace of the operator.
		Entry("to read the namespace of the operator", func() []grant { return []grant{{ns, requestToken}, {operatorNamespace, forwardPorts}} },
			`in namespace `+operatorNamespace+` with the rule {apiGroups: [`, "find --registry-namespace "+operatorNamespace, "ui --no-browser --registry-namespace "+operatorNamespace),
		Entry("to forward ports to the registry", func() []grant {
			return []grant{{ns, requestToken}, {operatorNamespace, listServices}, {operatorNamespace, listEndpoints}}
		},
			`in namespace `+operatorNamespace+` with the rule {apiGroups: [""], resources: [pods/portforward], verbs: [create]}`,
			"find --registry-namespace "+operatorNamespace, "ui --no-browser --registry-namespace "+operatorNamespace),
	)
})

var _ = Describe("A Deployment with an account and a volume of its own", func() {
	It("becomes an Agent by import and apply alone, which runs with both", func(ctx SpecContext) {
		ns := namespace(ctx)
		directory := filepath.Join(GinkgoT().TempDir(), "data")
		Expect(os.Mkdir(directory, 0o755)).To(Succeed())
		Expect(os.Chmod(filepath.Dir(directory), 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(directory, "notes"), []byte("of the volume"), 0o644)).To(Succeed())
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
		disk := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ns,
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: directory}},
			},
		}
		Expect(cluster.Create(ctx, disk)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, disk)).To(Succeed()) })
		labels := map[string]string{"app": "keeper"}
		for _, object := range []client.Object{
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keeper", Annotations: map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/keeper"}}},
			&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "notes"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: disk.Spec.AccessModes, StorageClassName: &disk.Spec.StorageClassName, Resources: corev1.VolumeResourceRequirements{Requests: size},
				},
			},
			&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keeper"},
				Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
						ServiceAccountName: "keeper",
						SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
						Containers: []corev1.Container{{
							Name: "keeper", Image: testAgentImage, ImagePullPolicy: corev1.PullIfNotPresent,
							Env:             []corev1.EnvVar{{Name: "PORT", Value: "9000"}},
							SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
							VolumeMounts:    []corev1.VolumeMount{{Name: "notes", MountPath: "/notes"}},
						}},
						Volumes: []corev1.Volume{{Name: "notes", VolumeSource: corev1.VolumeSource{
							PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "notes"},
						}}},
					}},
				},
			},
			&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keeper"},
				Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(9000)}}},
			},
		} {
			Expect(cluster.Create(ctx, object)).To(Succeed())
		}
		editor := newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, applyAgents})
		var imported outcome
		Eventually(ctx, func() int {
			imported = editor.a2a(ctx, "import", "deployment", "keeper")
			return imported.status
		}).Should(Equal(0), func() string { return imported.stderr })
		apply := exec.CommandContext(ctx, "kubectl", "apply", "--filename", "-")
		apply.Env = append(os.Environ(), "KUBECONFIG="+editor.kubeconfig)
		apply.Stdin = strings.NewReader(imported.stdout)
		out, err := apply.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keeper-agent"}}
		expectReady(ctx, agent)

		Expect(sendText(ctx, agent, "file /notes/notes")).To(HaveField("Text", "of the volume"))
		mounted, err := sendText(ctx, agent, "file /var/run/secrets/kubernetes.io/serviceaccount/token")
		Expect(err).NotTo(HaveOccurred())
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: mounted.Text}}
		Expect(cluster.Create(ctx, review)).To(Succeed())
		Expect(review.Status.User.Username).To(Equal("system:serviceaccount:" + ns + ":keeper"))

		By("keeping both when the Deployment is deleted")
		for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			object.SetNamespace(ns)
			object.SetName("keeper")
			Expect(cluster.Delete(ctx, object)).To(Succeed())
		}
		Expect(sendText(ctx, agent, "file /notes/notes")).To(HaveField("Text", "of the volume"))
	})
})
