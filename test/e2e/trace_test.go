//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("Traces", func() {
	It("show a call through two sidecars and two agents as one trace in a collector", func(ctx SpecContext) {
		const clientSpan = "b7ad6b7169203331"
		ns := namespace(ctx)
		collector := startCollector(ctx)
		traced := func(a *a2av1alpha1.Agent) {
			// The client sends a sampled trace, so the percentage has no effect.
			a.Spec.Observability = &a2av1alpha1.AgentObservability{Tracing: &a2av1alpha1.AgentTracing{Endpoint: collector.endpoint, SamplingPercent: new(int32(0))}}
		}
		first, second := create(ctx, newAgent(ns, "first", traced)), create(ctx, newAgent(ns, "second", traced))
		expectReady(ctx, first)
		expectReady(ctx, second)
		letSee(ctx, first, ns)

		By("calling the first agent, which calls the second one")
		client := caller(token(ctx, ns, audience(first)))
		trace := ""
		attempts := 0
		Eventually(ctx, func(g Gomega) {
			attempts++
			trace = fmt.Sprintf("0af7651916cd43dd8448eb2100%06x", attempts)
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, serviceURL(first)+"/", strings.NewReader(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"call %s/second"}]}}}`, attempts, ns)))
			g.Expect(err).NotTo(HaveOccurred())
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("A2A-Version", "1.0")
			request.Header.Set("Traceparent", "00-"+trace+"-"+clientSpan+"-01")
			response, err := client.Do(request)
			g.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(body)).To(ContainSubstring("TASK_STATE_COMPLETED"))
			g.Expect(string(body)).To(ContainSubstring(`called`))
		}).Should(Succeed())

		By("reading the trace from the file of the collector")
		Eventually(ctx, func() []string { return collector.chain(trace, clientSpan) }).Should(Equal([]string{
			"first: server SendMessage",
			"first: client invoke_agent first",
			"first: client invoke_agent " + ns + "/second",
			"second: server SendMessage",
			"second: client invoke_agent second",
		}))
	})
})

// collector is an OpenTelemetry Collector on this machine, which writes spans to a file.
type collector struct {
	// endpoint is the URL of the collector for pods of the node.
	endpoint string
	file     string
}

// startCollector runs the OpenTelemetry Collector until the end of the test. The environment
// variable COLLECTOR has the path of its program.
func startCollector(ctx context.Context) collector {
	GinkgoHelper()
	listener, err := net.Listen("tcp", net.JoinHostPort(nodeAddress(ctx), "0"))
	Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().String()
	Expect(listener.Close()).To(Succeed())

	dir := GinkgoT().TempDir()
	c := collector{endpoint: "http://" + address, file: filepath.Join(dir, "traces.json")}
	type object = map[string]any
	text, err := yaml.Marshal(object{
		"receivers": object{"otlp": object{"protocols": object{"http": object{"endpoint": address}}}},
		"exporters": object{"file": object{"path": c.file}},
		"service": object{
			"telemetry": object{"metrics": object{"level": "none"}, "logs": object{"level": "warn"}},
			"pipelines": object{"traces": object{"receivers": []string{"otlp"}, "exporters": []string{"file"}}},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	config := filepath.Join(dir, "collector.yaml")
	Expect(os.WriteFile(config, text, 0o600)).To(Succeed())
	process := exec.Command(setting("COLLECTOR"), "--config=file:"+config)
	process.Stdout, process.Stderr = GinkgoWriter, GinkgoWriter
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	Eventually(ctx, func() error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	}).Should(Succeed())
	return c
}

// exportedSpan is a span in the file of the collector, in the JSON of OTLP.
type exportedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
}

// spanKinds are the names of the kinds that the sidecar uses.
var spanKinds = map[int]string{2: "server", 3: "client"}

// chain returns the spans of a trace that descend from the span parent. Each of them must be the only child of the previous
// one.
func (c collector) chain(trace, parent string) (chain []string) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil // nothing has arrived
	}
	children := map[string][]exportedSpan{}
	services := map[string]string{}
	for line := range bytes.Lines(text) {
		var export struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
				ScopeSpans []struct{ Spans []exportedSpan }
			}
		}
		if json.Unmarshal(line, &export) != nil {
			continue // the collector has not written the whole line yet
		}
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					if s.TraceID == trace {
						children[s.ParentSpanID] = append(children[s.ParentSpanID], s)
					}
					for _, a := range resource.Resource.Attributes {
						if a.Key == "service.name" {
							services[s.SpanID] = a.Value.StringValue
						}
					}
				}
			}
		}
	}
	for len(children[parent]) == 1 {
		s := children[parent][0]
		chain = append(chain, services[s.SpanID]+": "+spanKinds[s.Kind]+" "+s.Name)
		parent = s.SpanID
	}
	return chain
}
