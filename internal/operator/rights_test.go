// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// auditLog is the path of the API server's audit log, which contains the manager's requests.
var auditLog string

// auditPolicy makes the audit log contain only the requests of managers.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [` + managerUser + `, ` + namespacedUser + `, ` + userWithoutRights + `]}
- {level: None}
`

// enableAuditLog makes the API server log the manager's requests. It also enables the admission
// plugin that checks the right to block the deletion of owners, as some clusters do.
func enableAuditLog(environment *envtest.Environment) {
	GinkgoHelper()
	// GinkgoT().TempDir() would be deleted before ReportAfterSuite reads the log.
	dir, err := os.MkdirTemp("", "audit")
	Expect(err).NotTo(HaveOccurred())
	policy := filepath.Join(dir, "policy.yaml")
	Expect(os.WriteFile(policy, []byte(auditPolicy), 0o600)).To(Succeed())
	auditLog = filepath.Join(dir, "audit.log")
	environment.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).
		Set("audit-log-path", auditLog).
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
}

// neverLogged lists the rights that no request in the audit log uses, with the reason.
var neverLogged = map[string]string{
	"update a2a-operator.dev/agents/finalizers": "checked by OwnerReferencesPermissionEnforcement, for blockOwnerDeletion",
	"patch events.k8s.io/events":                "for a repeated event",
	"delete apps/controllerrevisions":           "for the eleventh revision of an Agent",
	"list /events":                              "for a pod that does not start for 20 s",
	"create /events":                            "the same, in the namespace of the Lease",
	"patch /events":                             "the same, in the namespace of the Lease",
	"create /secrets":                           "checked when an apply creates the Secret of the token keys",
}

// withheldSecret is a Secret that the operator may not read.
const withheldSecret = "withheld"

// The suite runs only with the rights of the installation. Afterwards, the set of rights that
// the manager used must equal the set that it has.
var _ = ReportAfterSuite("the manager's rights", func(report Report) {
	defer func() { Expect(os.RemoveAll(filepath.Dir(auditLog))).To(Succeed()) }()
	if !report.SuiteSucceeded || report.PreRunStats.SpecsThatWillRun < report.PreRunStats.TotalSpecs {
		return
	}
	used, forbidden := usedRights(managerUser)
	forbidden = slices.DeleteFunc(forbidden, func(request string) bool { return strings.HasSuffix(request, "/secrets/"+withheldSecret) })
	Expect(forbidden).To(BeEmpty(), "forbidden requests")
	granted := map[string]bool{}
	for _, rule := range slices.Concat(managerRole().Rules, leaderRole().Rules, tokenKeysRole().Rules) {
		for _, right := range rights(rule) {
			granted[right] = true
			Expect(right).NotTo(ContainSubstring("*"))
			if strings.HasSuffix(right, "/secrets") {
				Expect(rule.ResourceNames).To(Equal([]string{tokenKeysName}))
			}
		}
	}
	maps.DeleteFunc(granted, func(right string, _ bool) bool {
		// The manager sends list requests only to an API server without WatchList.
		watched, isList := strings.CutPrefix(right, "list ")
		return used[right] || neverLogged[right] != "" || isList && used["watch "+watched]
	})
	Expect(slices.Sorted(maps.Keys(granted))).To(BeEmpty(), "unused rights")
})

// rights returns the rights of a rule as "verb group/resource".
func rights(rule rbacv1.PolicyRule) []string {
	var all []string
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				all = append(all, verb+" "+group+"/"+resource)
			}
		}
		for _, path := range rule.NonResourceURLs {
			all = append(all, verb+" "+path)
		}
	}
	return all
}

// usedRights returns, from the audit log, the rights that a user used and the requests that were
// forbidden.
func usedRights(user string) (used map[string]bool, forbidden []string) {
	GinkgoHelper()
	file, err := os.Open(auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(file.Close()).To(Succeed()) }()
	used = map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ObjectRef        *struct{ APIGroup, Resource, Subresource string }
			ResponseStatus   struct{ Code int }
			Annotations      map[string]string
		}
		Expect(json.Unmarshal(lines.Bytes(), &event)).To(Succeed())
		if event.User.Username != user {
			continue
		}
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
			forbidden = append(forbidden, event.Verb+" "+event.RequestURI)
		}
		if event.ObjectRef == nil {
			used[event.Verb+" "+event.RequestURI] = true
			continue
		}
		resource := event.ObjectRef.APIGroup + "/" + event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		used[event.Verb+" "+resource] = true
		// An apply that creates an object needs the rights patch and create.
		if event.Verb == "patch" && event.ResponseStatus.Code == http.StatusCreated {
			used["create "+resource] = true
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return used, forbidden
}

// shipped reads an object of config/default/operator.yaml.
func shipped(kind, name string, into client.Object) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "default", "operator.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(document, "\nkind: "+kind+"\nmetadata:\n  name: "+name+"\n") {
			Expect(yaml.UnmarshalStrict([]byte(document), into)).To(Succeed())
			return
		}
	}
	Fail("operator.yaml has no " + kind + " " + name)
}

func managerRole() *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{}
	shipped("ClusterRole", "a2a-operator-manager", role)
	return role
}

func tokenKeysRole() *rbacv1.Role {
	role := &rbacv1.Role{}
	shipped("Role", "a2a-operator-token-keys", role)
	return role
}

func leaderRole() *rbacv1.Role {
	role := &rbacv1.Role{}
	shipped("Role", "a2a-operator-leader-election", role)
	return role
}

// chartRules returns the rules of a named template of the chart. The rules are plain YAML
// between template actions.
func chartRules(part string) []rbacv1.PolicyRule {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "charts", "a2a-operator", "templates", "rbac", "manager-role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	parts := template.New("").Funcs(template.FuncMap{
		"include": func(string, any) string { return "" },
		"nindent": func(int, string) string { return "" },
		"quote":   func(string) string { return "" },
	})
	parts, err = parts.Parse(string(text))
	Expect(err).NotTo(HaveOccurred())
	var list bytes.Buffer
	Expect(parts.ExecuteTemplate(&list, part, nil)).To(Succeed())
	var rules []rbacv1.PolicyRule
	Expect(yaml.UnmarshalStrict(list.Bytes(), &rules)).To(Succeed())
	Expect(rules).NotTo(BeEmpty())
	return rules
}

// registryStatus returns a function that calls the registry as an authenticated caller and
// returns the status code.
func registryStatus(ctx context.Context) func() int {
	GinkgoHelper()
	caller := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "caller-"}}
	Expect(cluster.Create(ctx, caller)).To(Succeed())
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	Expect(cluster.SubResource("token").Create(ctx, caller, token)).To(Succeed())
	return func() int {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+registryAddress+"/v1/agents", http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
}

var _ = It("serves the registry to authenticated callers", func(ctx context.Context) {
	Eventually(registryStatus(ctx)).Should(Equal(http.StatusOK))
})

// A tenant can create any number of ServiceAccounts, whose requests the API server serves in turn with those of all other
// ServiceAccounts.
var _ = It("has a priority level at the API server that ServiceAccounts of tenants do not have", func(ctx context.Context) {
	shippedFlow := &flowcontrolv1.FlowSchema{}
	shipped("FlowSchema", "a2a-operator-manager", shippedFlow)
	Expect(cluster.Create(ctx, shippedFlow)).To(Succeed())
	flowOf := func(account string) string {
		config := rest.CopyConfig(environment.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:a2a-system:" + account, Groups: []string{"system:serviceaccounts"}}
		caller, err := rest.HTTPClientFor(config)
		Expect(err).NotTo(HaveOccurred())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+strings.Trim(strings.TrimPrefix(config.Host, "https://"), "/")+"/api/v1/pods", http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		response, err := caller.Do(request)
		Expect(err).NotTo(HaveOccurred())
		Expect(response.Body.Close()).To(Succeed())
		return response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	}
	Eventually(flowOf).WithArguments("a2a-operator-manager").WithTimeout(time.Minute).Should(Equal(string(shippedFlow.UID)))
	Expect(flowOf("another")).NotTo(Equal(string(shippedFlow.UID)))
	level := &flowcontrolv1.PriorityLevelConfiguration{}
	Expect(cluster.Get(ctx, client.ObjectKey{Name: shippedFlow.Spec.PriorityLevelConfiguration.Name}, level)).To(Succeed())
})
