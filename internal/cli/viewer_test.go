// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// need is what a command needs beside the role view.
type need string

const (
	// needsNothing succeeds with the role view in one namespace.
	needsNothing need = ""
	// needsToken and needsForward end with the rule that is missing.
	needsToken   need = `{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [default], verbs: [create]}`
	needsForward need = `{apiGroups: [""], resources: [pods/portforward], verbs: [create]}`
	// isLocal needs no cluster. changes is no read command.
	isLocal need = "local"
	changes need = "changes"
)

// commandsOfAViewer has every command of the plugin, with the arguments that follow it.
var commandsOfAViewer = map[string]struct {
	arguments []string
	need      need
}{
	"list":                    {nil, needsNothing},
	"find":                    {nil, needsNothing},
	"events":                  {[]string{"echo"}, needsNothing},
	"logs":                    {[]string{"echo"}, needsNothing},
	"doctor":                  {[]string{"echo"}, needsNothing},
	"history":                 {[]string{"echo"}, needsNothing},
	"ui":                      {[]string{"--no-browser"}, needsNothing},
	"import deployment":       {[]string{"web", "--name", "web-agent", "--port", "8080", "--protocol", "Events"}, needsNothing},
	"card get":                {[]string{"echo"}, needsForward},
	"card verify":             {[]string{"echo"}, needsForward},
	"token":                   {[]string{"echo"}, needsToken},
	"task list":               {[]string{"echo"}, needsToken},
	"task get":                {[]string{"echo", "t-1"}, needsToken},
	"task watch":              {[]string{"echo", "t-1"}, needsToken},
	"task download":           {[]string{"echo", "t-1"}, needsToken},
	"task push-config get":    {[]string{"echo", "t-1", "p-1"}, needsToken},
	"task push-config list":   {[]string{"echo", "t-1"}, needsToken},
	"conformance":             {[]string{"echo"}, needsToken},
	"listen":                  {[]string{"echo"}, needsForward},
	"import card":             {nil, isLocal},
	"import catalog":          {nil, isLocal},
	"import kagent":           {nil, isLocal},
	"import skill":            {nil, isLocal},
	"export skill":            {nil, changes}, // it writes files
	"config show":             {nil, isLocal},
	"auth login":              {nil, isLocal},
	"version":                 {nil, isLocal},
	"completion bash":         {nil, isLocal},
	"completion zsh":          {nil, isLocal},
	"completion fish":         {nil, isLocal},
	"completion powershell":   {nil, isLocal},
	"completion kubectl":      {nil, isLocal},
	"send":                    {nil, changes},
	"approve":                 {nil, changes},
	"reject":                  {nil, changes},
	"chat":                    {nil, changes},
	"task cancel":             {nil, changes},
	"restart":                 {nil, changes},
	"rollback":                {nil, changes},
	"task push-config create": {nil, changes},
	"task push-config delete": {nil, changes},
}

// TestEveryCommandIsKnownToTheTestOfAViewer fails for a command that commandsOfAViewer forgets.
func TestEveryCommandIsKnownToTheTestOfAViewer(t *testing.T) {
	var all []string
	var add func(cmd *cobra.Command, path string)
	add = func(cmd *cobra.Command, path string) {
		if !cmd.HasSubCommands() {
			all = append(all, path)
		}
		for _, each := range cmd.Commands() {
			add(each, strings.TrimSpace(path+" "+each.Name()))
		}
	}
	add(Command(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}), "")
	for _, name := range all {
		if _, ok := commandsOfAViewer[name]; !ok {
			t.Errorf("commandsOfAViewer has no line for %s", name)
		}
	}
	for name := range commandsOfAViewer {
		if !slices.Contains(all, name) {
			t.Errorf("there is no command %s", name)
		}
	}
}

// viewer returns the kubeconfig of a user with the role view in the namespace team, and with nothing else. The role has the
// rules that its aggregation rule selects: the test has no controller that writes them.
func (c *cluster) viewer(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../config/default/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	aggregated := 0
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true" {
			c.create(t, &role)
			aggregated++
		}
	}
	var roles rbacv1.ClusterRoleList
	if err := c.List(t.Context(), &roles, client.MatchingLabels{"rbac.authorization.k8s.io/aggregate-to-view": "true"}); err != nil {
		t.Fatal(err)
	}
	var view rbacv1.ClusterRole
	if err := c.Get(t.Context(), client.ObjectKey{Name: "view"}, &view); err != nil {
		t.Fatal(err)
	}
	for i := range roles.Items {
		view.Rules = append(view.Rules, roles.Items[i].Rules...)
	}
	if err := c.Update(t.Context(), &view); err != nil || aggregated != 1 || len(roles.Items) < 2 {
		t.Fatalf("%d roles of the product and %d roles in all have the rules of view: %v", aggregated, len(roles.Items), err)
	}
	meta := metav1.ObjectMeta{Namespace: "team", Name: "person-with-view"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	c.create(t, account, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "team", Name: meta.Name}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	c.awaitRule(t, "team", token.Status.Token, readAgents)
	return writeKubeconfig(t, c.server, c.authority, token.Status.Token, "team")
}

// testViewer runs every read command as a user with the role view in the namespace team. Each succeeds, or names the one
// rule that it lacks.
func testViewer(t *testing.T, c *cluster) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "none"}}}}
	c.create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod},
	}, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo-seen", Labels: map[string]string{"a2a-operator.dev/agent": "echo"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "seen", Image: "none"}}},
	}, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", Labels: labels}, Spec: pod.Spec,
	})
	t.Setenv("KUBECONFIG", c.viewer(t))
	for name, command := range commandsOfAViewer {
		if command.need == isLocal || command.need == changes {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := runUntilOutput(t, append(strings.Fields(name), command.arguments...)...)
			rules := strings.Count(r.stderr, "with the rule")
			switch {
			case command.need != needsNothing && (r.status != 4 || rules != 1 || !strings.Contains(r.stderr, string(command.need))):
				t.Errorf("want the missing rule %s: %+v", command.need, r)
			case command.need == needsNothing && name == "doctor" && (r.status > 1 || !strings.Contains(r.stdout, "You lack a right") || strings.Contains(r.stderr, "Code:")):
				t.Errorf("want the findings, and the missing rights as such: %+v", r)
			case command.need == needsNothing && name != "doctor" && name != "logs" && (r.status != 0 || r.stdout == "" && name != "events" && name != "history"):
				t.Errorf("%+v", r)
			case name == "logs" && !strings.Contains(r.stdout, "seen started"): // other pods of the agent have no log
				t.Errorf("%+v", r)
			}
		})
	}
}

// runUntilOutput runs a command line. The page of ui is interrupted after its first line.
func runUntilOutput(t *testing.T, args ...string) result {
	t.Helper()
	if args[0] != "ui" {
		return run(t, args...)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var errOut bytes.Buffer
	r := result{}
	r.status = Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: writerFunc(func(text []byte) (int, error) {
		r.stdout += string(text)
		stop()
		return len(text), nil
	}), ErrOut: &errOut})
	r.stderr = errOut.String()
	return r
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }
