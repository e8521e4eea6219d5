//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var _ = Describe("The MCP server of a gateway", func() {
	It("finds an agent of another namespace, calls it, and streams its progress", func(ctx SpecContext) {
		here, there := namespace(ctx), namespace(ctx)
		planner := create(ctx, newAgent(here, "planner"))
		worker := create(ctx, newAgent(there, "worker", withSkill("forge"), func(a *a2av1alpha1.Agent) {
			a.Spec.Access = a2av1alpha1.AgentAccess{Authorization: []a2av1alpha1.AuthorizationRule{{
				Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{here},
			}}}
		}))
		expectReady(ctx, planner)
		expectReady(ctx, worker)
		letSee(ctx, planner, there)

		progress := make(chan string, 100)
		client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				progress <- r.Params.Message
			},
		})
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: gatewayOf(ctx, planner) + "/mcp"}, nil)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(session.Close)
		call := func(tool string, arguments map[string]any) []string {
			GinkgoHelper()
			params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
			params.SetProgressToken("progress")
			result, err := session.CallTool(ctx, params)
			Expect(err).NotTo(HaveOccurred())
			texts := textContent(result)
			Expect(result.IsError).To(BeFalse(), "%s: %q", tool, texts)
			return texts
		}

		By("finding the agent by what it can do")
		var found struct {
			Items []registryEntry
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(json.Unmarshal([]byte(call("find_agents", map[string]any{"q": "forging", "namespace": there})[0]), &found)).To(Succeed())
			g.Expect(found.Items).To(HaveLen(1))
		}).Should(Succeed())
		Expect(found.Items[0].Name).To(Equal("worker"))
		Expect(found.Items[0].URL).To(HaveSuffix("/agents/"+there+"/worker/"), "the URL leads through the gateway")

		By("calling it")
		texts := call("call_agent", map[string]any{"agent": there + "/worker", "message": "stream 20 50ms"})
		var outcome map[string]string
		Expect(json.Unmarshal([]byte(texts[len(texts)-1]), &outcome)).To(Succeed())
		Expect(outcome).To(HaveKeyWithValue("state", "completed"))
		Expect(outcome).To(HaveKeyWithValue("agent", there+"/worker"))
		Expect(strings.Fields(strings.Join(texts[:len(texts)-1], ""))).To(HaveLen(20))
		Eventually(ctx, progress).Should(Receive(And(ContainSubstring("chunk-0 "), Not(ContainSubstring("chunk-19")))),
			"the client gets the first words while the agent works")

		By("calling an agent that does not exist")
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "call_agent", Arguments: map[string]any{"agent": there + "/absent", "message": "Hello"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.IsError).To(BeTrue())
		Expect(textContent(result)).To(ContainElement(ContainSubstring("is not in the registry")))
	})
})

// textContent returns the texts of a tool's result.
func textContent(result *mcp.CallToolResult) (texts []string) {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return texts
}

// withSkill adds a skill with the given id, which is also the first word of its description.
func withSkill(id string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		details := skillSpec(strings.ToUpper(id[:1])+id[1:], id+" things").SkillDetails
		a.Spec.Skills = append(a.Spec.Skills, a2av1alpha1.Skill{ID: a2av1alpha1.SkillID(id), SkillDetails: details})
	}
}

var forwarded = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

// gatewayOf returns the URL of the gateway in the only pod of an agent, the counterpart of A2A_GATEWAY_URL in the container.
// The gateway listens only on loopback, so gatewayOf forwards a port to it until the test ends.
func gatewayOf(ctx context.Context, agent *a2av1alpha1.Agent) string {
	GinkgoHelper()
	live := pods(ctx, agent)
	Expect(live).To(HaveLen(1))
	ctx, stop := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, "kubectl", "port-forward", "--namespace", agent.Namespace, "pod/"+live[0].Name, ":"+strconv.Itoa(sidecarconfig.GatewayPort))
	command.Stderr = GinkgoWriter
	out, err := command.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		stop()
		_ = command.Wait()
	})
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := forwarded.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
				return
			}
		}
	}()
	var host string
	Eventually(ctx, address).Should(Receive(&host))
	return "http://" + host
}
