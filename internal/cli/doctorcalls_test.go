// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/doctor"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// proxyTo returns a reverse proxy that keeps the Host of requests and applies change to responses.
func proxyTo(t *testing.T, target string, change func(*http.Response)) http.Handler {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(response *http.Response) error {
			change(response)
			return nil
		},
	}
}

// findingOf returns the worst finding of a check in the report about an agent.
func findingOf(t *testing.T, check string, args ...string) doctor.Finding {
	t.Helper()
	r := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
	report := &doctor.Report{}
	if err := json.Unmarshal([]byte(r.stdout), report); err != nil || len(report.Agents) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	all := slices.Concat(report.Agents[0].Findings, report.Shared)
	i := slices.IndexFunc(all, func(f doctor.Finding) bool { return strings.HasPrefix(f.Check, check) && f.Level != doctor.LevelOK })
	if i < 0 {
		i = slices.IndexFunc(all, func(f doctor.Finding) bool { return strings.HasPrefix(f.Check, check) })
	}
	if i < 0 {
		t.Fatalf("no finding of check %s: %s", check, r.stdout)
	}
	return all[i]
}

// writeCertificate returns a directory with a new self-signed certificate for loopback and a name.
func writeCertificate(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for file, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(directory, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestDoctorNamesFaultsThatOnlyCallsShow(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	c := startCluster(t)
	c.createNamespace(t)
	view := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "pods", "services"}, Verbs: []string{"list"}}
	t.Setenv("KUBECONFIG", c.user(t, "team", readAgents, requestToken, readEndpoints, forwardPorts, view))
	echo := sidecartest.Start(t, sidecartest.TextAgent)

	t.Run("the registry", func(t *testing.T) {
		var answer atomic.Pointer[func(http.ResponseWriter)]
		registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/agents/team/listed" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			(*answer.Load())(w)
		}))
		t.Cleanup(registry.Close)
		c.endpoint(t, "registry", "http", 8444, strings.TrimPrefix(registry.URL, "http://"))
		c.agent(t, "listed", echo.URL+"/")
		c.create(t, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: names.ConfigMap("listed"), Labels: names.Labels("listed")},
			Data:       map[string]string{sidecarconfig.FileName: `{"gateway":{"registryUrl":"http://registry.team.svc.cluster.local"}}`},
		})
		status := func(code int, body string) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				w.WriteHeader(code)
				_, _ = fmt.Fprint(w, body)
			}
		}
		for name, test := range map[string]struct {
			answer func(http.ResponseWriter)
			level  doctor.Level
			seen   string
		}{
			"lists the agent":       {status(http.StatusOK, `{"cardDigest":""}`), doctor.LevelOK, "the registry lists the agent"},
			"has no such agent":     {status(http.StatusNotFound, ""), doctor.LevelWarning, "the registry does not list the agent"},
			"rejects the token":     {status(http.StatusUnauthorized, ""), doctor.LevelProblem, "status 401 to a token for audience a2a-operator.dev"},
			"fails":                 {status(http.StatusInternalServerError, ""), doctor.LevelProblem, "status 500"},
			"answers with no JSON":  {status(http.StatusOK, "<html>"), doctor.LevelProblem, "read the answer of the registry"},
			"breaks the connection": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, doctor.LevelProblem, "the registry cannot be reached"},
		} {
			answer.Store(&test.answer)
			if f := findingOf(t, "registry", "listed"); f.Level != test.level || !strings.Contains(strings.Join(f.Seen, "\n"), test.seen) {
				t.Errorf("a registry that %s: %+v", name, f)
			}
		}
	})

	t.Run("a pod that is not ready", func(t *testing.T) {
		probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != sidecarconfig.ReadyzPath {
				http.NotFound(w, r)
				return
			}
			http.Error(w, "the task store redis.team:6379 cannot be reached", http.StatusServiceUnavailable)
		}))
		t.Cleanup(probe.Close)
		c.agent(t, "waiting", "")
		always := corev1.ContainerRestartPolicyAlways
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waiting-5d9c-x2x", Labels: map[string]string{a2av1alpha1.LabelAgent: "waiting"}},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: a2av1alpha1.ContainerSidecar, Image: "sidecar", RestartPolicy: &always}},
				Containers:     []corev1.Container{{Name: "agent", Image: "agent"}, {Name: "istio-proxy", Image: "istio"}},
			},
		}
		c.create(t, pod)
		running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{{Name: a2av1alpha1.ContainerSidecar, State: running}},
		}
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.pods[fmt.Sprintf("team/%s:%d", pod.Name, sidecarconfig.HealthPort)] = strings.TrimPrefix(probe.URL, "http://")
		c.mu.Unlock()
		// No manager has set the conditions of the Agent, so their reason is Pending. Doctor gives the same reason to what
		// the sidecar reports, and merges it into the finding about the conditions.
		if f := findingOf(t, "conditions", "waiting"); !slices.Contains(f.Seen, "the sidecar of pod waiting-5d9c-x2x reports: the task store redis.team:6379 cannot be reached") {
			t.Errorf("%+v", f)
		}
		if f := findingOf(t, "service mesh", "waiting"); f.Level != doctor.LevelWarning || !strings.Contains(f.Cause, "Istio") {
			t.Errorf("%+v", f)
		}
	})

	t.Run("a certificate", func(t *testing.T) {
		directory, other := writeCertificate(t, "echo.team.svc"), writeCertificate(t, "echo.team.svc")
		encrypted := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTLS(directory))
		c.agent(t, "encrypted", encrypted.URL+"/")
		agent := &a2av1alpha1.Agent{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "encrypted"}, agent); err != nil {
			t.Fatal(err)
		}
		// Set the condition Available to True: otherwise, doctor leaves out the finding about a card that it cannot reach.
		meta.SetStatusCondition(&agent.Status.Conditions, metav1.Condition{Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: a2av1alpha1.ReasonAvailable})
		if err := c.Status().Update(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.pods["team/encrypted-pod:8641"] = strings.TrimPrefix(encrypted.URL, "https://")
		c.mu.Unlock()
		for name, test := range map[string]struct {
			arguments []string
			check     string
			level     doctor.Level
			seen      string
		}{
			"no authority":               {nil, "call", doctor.LevelOK, "the agent answers"},
			"the authority of the agent": {[]string{"--ca-file", filepath.Join(directory, "tls.crt")}, "call", doctor.LevelOK, "the agent answers"},
			"another authority":          {[]string{"--ca-file", filepath.Join(other, "tls.crt")}, "card", doctor.LevelProblem, "is not trusted"},
		} {
			f := findingOf(t, test.check, append([]string{"encrypted"}, test.arguments...)...)
			if f.Level != test.level || !strings.Contains(f.Seen[0], test.seen) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	})

	t.Run("the clock of the node", func(t *testing.T) {
		skew := 3 * time.Minute
		front := httptest.NewServer(proxyTo(t, echo.URL, func(response *http.Response) {
			response.Header.Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		}))
		t.Cleanup(front.Close)
		c.agent(t, "ahead", front.URL+"/")
		f := findingOf(t, "clock of the node", "ahead")
		if f.Level != doctor.LevelProblem || !strings.Contains(f.Cure, "NTP") {
			t.Errorf("%+v", f)
		}
		skew = 30 * time.Second
		if f := findingOf(t, "clock of the node", "ahead"); f.Level != doctor.LevelWarning {
			t.Errorf("%+v", f)
		}
	})
}
