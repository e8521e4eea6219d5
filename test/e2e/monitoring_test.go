//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("Monitoring", func() {
	It("fires the alert of a broken agent, and answers the queries of all dashboards", func(ctx SpecContext) {
		ns := namespace(ctx)
		fine := create(ctx, newAgent(ns, "fine"))
		broken := create(ctx, newAgent(ns, "broken", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Image = "a2a-operator.invalid/no-such-image:v1"
		}))
		expectReady(ctx, fine)
		Expect(sendText(ctx, fine, "hello")).To(HaveField("State", "completed"))
		Eventually(ctx, describe).WithArguments(ctx, broken, a2av1alpha1.ConditionAvailable).Should(HavePrefix("False"))

		p := startPrometheus(ctx, ns, fine)
		By("waiting for the alert of the broken agent")
		Eventually(ctx, p.firing).WithArguments(ctx).WithTimeout(90 * time.Second).
			Should(ContainElement("A2AAgentUnavailable " + ns + "/broken critical"))
		Expect(p.firing(ctx)).NotTo(ContainElement(ContainSubstring(" " + ns + "/fine ")))
		Expect(p.firing(ctx)).NotTo(ContainElement(HavePrefix("A2AOperatorAbsent ")))

		By("asking the queries of the dashboards")
		files, err := filepath.Glob(setting("CHART") + "/monitoring/dashboards/*.json")
		Expect(err).NotTo(HaveOccurred())
		Expect(files).To(HaveLen(4))
		asked, answered := 0, map[string]int{}
		for _, file := range files {
			var dashboard struct {
				Panels []struct {
					Title   string
					Targets []struct{ Expr string }
				}
			}
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Unmarshal(text, &dashboard)).To(Succeed())
			for _, panel := range dashboard.Panels {
				for _, target := range panel.Targets {
					asked++
					if p.query(ctx, target.Expr) > 0 {
						answered[filepath.Base(file)]++
					}
				}
			}
		}
		GinkgoWriter.Printf("%d queries of dashboards; with a result: %v\n", asked, answered)
		Expect(answered).To(HaveLen(4), "each dashboard shows something")
		for _, expression := range []string{
			`a2a_agent_condition{namespace="` + ns + `", type="Ready", status="True", name="fine"}`,
			`a2a_requests_total{a2a_operator_dev_agent="fine", method="SendMessage", outcome="ok"}`,
		} {
			Eventually(ctx, p.query).WithArguments(ctx, expression).Should(Equal(1), expression)
		}
	})
})

// prometheus is a Prometheus on this machine that scrapes the managers and one agent.
type prometheus struct{ address string }

// startPrometheus starts the Prometheus of the variable PROMETHEUS with the rules of the chart. Their alerts fire at once,
// because alertingRules removes the waits.
func startPrometheus(ctx context.Context, ns string, agent *a2av1alpha1.Agent) prometheus {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: release + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "default"}},
	}
	Expect(cluster.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, binding)).To(Succeed()) })
	var issued *authenticationv1.TokenRequest
	Eventually(ctx, func() (err error) {
		issued, err = clientset.CoreV1().ServiceAccounts(ns).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	}).Should(Succeed())

	dir := GinkgoT().TempDir()
	write := func(name string, value any) {
		GinkgoHelper()
		text, err := yaml.Marshal(value)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(dir, name), text, 0o600)).To(Succeed())
	}
	write("rules.yaml", alertingRules(ctx))
	type object = map[string]any
	sidecar := pods(ctx, agent)[0]
	var operators []string
	for _, pod := range managers(ctx) {
		operators = append(operators, net.JoinHostPort(pod.Status.PodIP, "8443"))
	}
	write("prometheus.yaml", object{
		"global":     object{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{filepath.Join(dir, "rules.yaml")},
		"scrape_configs": []object{
			{
				"job_name": "a2a-agents",
				"static_configs": []object{{
					"targets": []string{net.JoinHostPort(sidecar.Status.PodIP, "8642")},
					"labels":  object{"namespace": ns, "pod": sidecar.Name, "a2a_operator_dev_agent": agent.Name},
				}},
			},
			{
				"job_name": "a2a-operator", "scheme": "https", "honor_labels": true,
				"authorization": object{"credentials": issued.Status.Token}, "tls_config": object{"insecure_skip_verify": true},
				"static_configs": []object{{"targets": operators, "labels": object{"namespace": operatorNamespace, "service": release + "-metrics"}}},
			},
		},
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	p := prometheus{address: listener.Addr().String()}
	Expect(listener.Close()).To(Succeed())
	process := exec.Command(setting("PROMETHEUS"), "--config.file="+dir+"/prometheus.yaml", "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+p.address, "--log.level=warn")
	process.Stdout, process.Stderr = GinkgoWriter, GinkgoWriter
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	Eventually(ctx, func() error {
		response, err := http.Get("http://" + p.address + "/-/ready")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("not ready: %s", response.Status)
		}
		return nil
	}).Should(Succeed())
	By("waiting for two scrapes of each target")
	Eventually(ctx, p.query).WithArguments(ctx, "count_over_time((up == 1)[1m:1s]) >= 2").Should(Equal(1 + len(operators)))
	return p
}

// alertingRules returns the groups of the chart's PrometheusRule without the waits of the alerts.
func alertingRules(ctx context.Context) map[string]any {
	GinkgoHelper()
	words := append(strings.Fields(setting("HELM")), "template", release, setting("CHART"), "--namespace", operatorNamespace,
		"--set", "monitoring.rules.enabled=true", "--set", "metrics.serviceMonitor.enabled=true", "--show-only", "templates/prometheusrule.yaml")
	text, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	Expect(err).NotTo(HaveOccurred())
	var rule struct {
		Spec struct {
			Groups []struct {
				Name  string           `json:"name"`
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	Expect(yaml.Unmarshal(text, &rule)).To(Succeed())
	total := 0
	for _, group := range rule.Spec.Groups {
		for _, alert := range group.Rules {
			total++
			delete(alert, "for")
		}
	}
	Expect(total).To(BeNumerically(">=", 12))
	return map[string]any{"groups": rule.Spec.Groups}
}

// firing returns the alerts that fire, as "name namespace/agent severity".
func (p prometheus) firing(ctx context.Context) (names []string) {
	GinkgoHelper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	p.get(ctx, "/api/v1/alerts", &answer)
	for _, alert := range answer.Data.Alerts {
		if alert.State == "firing" {
			l := alert.Labels
			names = append(names, l["alertname"]+" "+l["namespace"]+"/"+l["name"]+l["a2a_operator_dev_agent"]+" "+l["severity"])
		}
	}
	return names
}

// query evaluates an expression, with the variables of a dashboard replaced, and returns the number of series in the result.
func (p prometheus) query(ctx context.Context, expression string) int {
	GinkgoHelper()
	expression = strings.NewReplacer("$__rate_interval", "1m", "$namespace", ".+", "$agent", ".+").Replace(expression)
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &answer)
	return len(answer.Data.Result)
}

func (p prometheus) get(ctx context.Context, path string, answer any) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusOK), path)
	Expect(json.NewDecoder(response.Body).Decode(answer)).To(Succeed())
}
