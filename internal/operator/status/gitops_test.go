// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// toolHealth is the health that GitOps tools compute for an object.
type toolHealth struct {
	// kstatus is the status that the library kstatus computes. Flux uses this library.
	kstatus kstatus.Status
	// argoCD is the health that config/argocd/health.yaml computes.
	argoCD string
}

// healthOf contains, for each reason of a Ready condition that is not True, the expected
// health.
var healthOf = map[string]toolHealth{
	// The operator or Kubernetes continues by itself.
	"AgentStarting":        {kstatus.InProgressStatus, "Progressing"},
	"ApplyFailed":          {kstatus.InProgressStatus, "Progressing"},
	"Pending":              {kstatus.InProgressStatus, "Progressing"},
	"PodFailed":            {kstatus.InProgressStatus, "Progressing"},
	"Publishing":           {kstatus.InProgressStatus, "Progressing"},
	"RolloutInProgress":    {kstatus.InProgressStatus, "Progressing"},
	"WaitingForIssuerKeys": {kstatus.InProgressStatus, "Progressing"},
	// A user must change something.
	"CardTooLarge":             {kstatus.FailedStatus, "Degraded"},
	"Conflict":                 {kstatus.FailedStatus, "Degraded"},
	"InvalidAuthorization":     {kstatus.FailedStatus, "Degraded"},
	"NameConflict":             {kstatus.FailedStatus, "Degraded"},
	"PortConflict":             {kstatus.FailedStatus, "Degraded"},
	"ProgressDeadlineExceeded": {kstatus.FailedStatus, "Degraded"},
	"RemoteForbidden":          {kstatus.FailedStatus, "Degraded"},
	// The agent does not work, and may work once another object or server changes.
	"AgentNotListening":         {kstatus.InProgressStatus, "Degraded"},
	"APIKeysUnusable":           {kstatus.InProgressStatus, "Degraded"},
	"CABundleUnusable":          {kstatus.InProgressStatus, "Degraded"},
	"CardSigningKeyUnusable":    {kstatus.InProgressStatus, "Degraded"},
	"ContainerCannotStart":      {kstatus.InProgressStatus, "Degraded"},
	"ContainerConfigInvalid":    {kstatus.InProgressStatus, "Degraded"},
	"ContainerCrashing":         {kstatus.InProgressStatus, "Degraded"},
	"ContainerNotReady":         {kstatus.InProgressStatus, "Degraded"},
	"ImagePullFailed":           {kstatus.InProgressStatus, "Degraded"},
	"NodeNotReady":              {kstatus.InProgressStatus, "Degraded"},
	"PodNotStarting":            {kstatus.InProgressStatus, "Degraded"},
	"PodsRejected":              {kstatus.InProgressStatus, "Degraded"},
	"ReadinessGateNotMet":       {kstatus.InProgressStatus, "Degraded"},
	"RemoteCardInvalid":         {kstatus.InProgressStatus, "Degraded"},
	"RemoteCardNotServed":       {kstatus.InProgressStatus, "Degraded"},
	"RemoteCredentialsUnusable": {kstatus.InProgressStatus, "Degraded"},
	"RemoteUnreachable":         {kstatus.InProgressStatus, "Degraded"},
	"RolloutPaused":             {kstatus.InProgressStatus, "Degraded"},
	"RouteNotAccepted":          {kstatus.InProgressStatus, "Degraded"},
	"RunsAsRoot":                {kstatus.InProgressStatus, "Degraded"},
	"SkillNotFound":             {kstatus.InProgressStatus, "Degraded"},
	"TLSUnusable":               {kstatus.InProgressStatus, "Degraded"},
	"Unschedulable":             {kstatus.InProgressStatus, "Degraded"},
	// A user stopped the agent.
	"ScaledToZero": {kstatus.InProgressStatus, "Suspended"},
	"Suspended":    {kstatus.InProgressStatus, "Suspended"},
}

// TestToolsReadTheHealthOfEveryState checks the health that GitOps tools report for each Agent
// of agentCases and remoteCases, with the status that the operator computes. It applies the
// kstatus library, our health check for Argo CD, and our health expressions for Flux.
func TestToolsReadTheHealthOfEveryState(t *testing.T) {
	cases := map[string]Inputs{}
	for name, test := range agentCases() {
		cases[name] = test.in
	}
	for name, test := range remoteCases() {
		cases["remote: "+name] = remoteInputs(test.change...)
	}
	current := fluxCurrent(t)
	seen := map[string]bool{}
	for name, in := range cases {
		result := Agent(in)
		agent := in.Observed.Agent.DeepCopy()
		agent.Status = result.Status
		ready := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionReady)
		want := toolHealth{kstatus.CurrentStatus, "Healthy"}
		if ready.Status != metav1.ConditionTrue {
			want = healthOf[ready.Reason]
			seen[ready.Reason] = true
		}
		object := unstructuredOf(t, agent)
		status, message := argoHealth(t, "Agent", object)
		if got := (toolHealth{kstatusOf(t, object), status}); got != want {
			t.Errorf("%s: Ready is %s %s, the tools read %v, want %v", name, ready.Status, ready.Reason, got, want)
		}
		if message == "" || len(message) > maxMessage {
			t.Errorf("%s: the message for Argo CD is %q", name, message)
		}
		serves := ready.Status == metav1.ConditionTrue || want.argoCD == "Suspended"
		if got := evaluate(t, current, object); got != serves {
			t.Errorf("%s: Ready is %s %s, the expression for Flux is %t, want %t", name, ready.Status, ready.Reason, got, serves)
		}
	}
	for reason := range healthOf {
		if !seen[reason] {
			t.Errorf("no Agent is not ready because of %s", reason)
		}
	}
}

// TestToolsWaitForTheOperator checks that an Agent that the operator has not reconciled since
// its last change is in progress, with any conditions.
func TestToolsWaitForTheOperator(t *testing.T) {
	for name, in := range map[string]Inputs{
		"ready":   healthy(),
		"stalled": agentCases()["port conflict"].in,
	} {
		agent := in.Observed.Agent.DeepCopy()
		agent.Status = Agent(in).Status
		agent.Generation++
		object := unstructuredOf(t, agent)
		status, _ := argoHealth(t, "Agent", object)
		if got := (toolHealth{kstatusOf(t, object), status}); got != (toolHealth{kstatus.InProgressStatus, "Progressing"}) {
			t.Errorf("%s, then edited: the tools read %v", name, got)
		}
	}
	for _, kind := range []string{"Agent", "AgentSkill"} {
		object := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"generation": int64(1)}}}
		if status, _ := argoHealth(t, kind, object); status != "Progressing" {
			t.Errorf("%s without a status: Argo CD reads %s", kind, status)
		}
	}
}

func TestToolsReadTheHealthOfSkills(t *testing.T) {
	for schema, want := range map[string]toolHealth{
		`{}`:         {kstatus.CurrentStatus, "Healthy"},
		`{"type":1}`: {kstatus.FailedStatus, "Degraded"},
	} {
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Name: "skill", Generation: 1}}
		skill.Spec.InputSchema = &runtime.RawExtension{Raw: []byte(schema)}
		skill.Status = AgentSkill(skill, crdschema.Observed{}, 1, now)
		object := unstructuredOf(t, skill)
		status, _ := argoHealth(t, "AgentSkill", object)
		if got := (toolHealth{kstatusOf(t, object), status}); got != want {
			t.Errorf("input schema %s: the tools read %v, want %v", schema, got, want)
		}
		// A correction of the schema removes the condition.
		skill.Spec.InputSchema = nil
		if c := meta.FindStatusCondition(AgentSkill(skill, crdschema.Observed{}, 1, now).Conditions, a2av1alpha1.ConditionStalled); c != nil {
			t.Errorf("a corrected skill is stalled: %v", c)
		}
	}
}

// TestRolloutStallsAfterTheDeadline checks that a failing rollout is in progress until its
// Deployment reports that the progress deadline is exceeded, and stalled afterwards.
func TestRolloutStallsAfterTheDeadline(t *testing.T) {
	overdue := func(in *Inputs) {
		in.Observed.Children.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
	}
	pulling := pod("echo-2", false, waiting(waitingImagePullBackOff, ""))
	tests := map[string]struct {
		in   Inputs
		want string
	}{
		"before":                     {in: healthy(onlyPod(pulling))},
		"after":                      {in: healthy(onlyPod(pulling), overdue), want: "ImagePullFailed"},
		"after, earlier pods serve":  {in: healthy(rollingOutTo(pulling), overdue), want: "ImagePullFailed"},
		"after, and edited just now": {in: healthy(onlyPod(pulling), overdue, func(in *Inputs) { in.DeploymentChanged = true })},
		"after, and not observed yet": {in: healthy(onlyPod(pulling), overdue, func(in *Inputs) {
			in.Observed.Children.Deployment.Generation++
		})},
		"after, and suspended": {in: healthy(onlyPod(pulling), overdue, func(in *Inputs) { in.Observed.Agent.Spec.Suspend = true })},
		"after, and all ready": {in: healthy(overdue)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reason := ""
			if c := meta.FindStatusCondition(Agent(test.in).Status.Conditions, a2av1alpha1.ConditionStalled); c != nil {
				reason = c.Reason
				if c.Status != metav1.ConditionTrue || !strings.HasPrefix(c.Message, "Available: ") || c.ObservedGeneration != 7 {
					t.Errorf("Stalled = %+v", c)
				}
			}
			if reason != test.want {
				t.Errorf("Stalled has reason %q, want %q", reason, test.want)
			}
		})
	}
}

// TestStalledNamesTheFirstCauseThatAUserMustCorrect checks that, of several causes, Stalled has the first one
// that a user must correct, and that there is no Stalled for causes that can end without a
// user.
func TestStalledNamesTheFirstCauseThatAUserMustCorrect(t *testing.T) {
	with := func(problems ...state.Problem) Inputs {
		return healthy(exposed, func(in *Inputs) { in.Problems = problems })
	}
	missing := state.Problem{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "missing"}
	taken := state.Problem{Condition: a2av1alpha1.ConditionExposed, Reason: a2av1alpha1.ReasonAddressConflict, Message: "taken"}
	duplicate := state.Problem{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonDuplicateSkillID, Message: "twice"}
	former := state.Problem{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: "former", Transient: true}
	for name, test := range map[string]struct {
		in   Inputs
		want string
	}{
		"none":                              {in: with()},
		"a missing object":                  {in: with(missing)},
		"a missing object and a conflict":   {in: with(missing, taken), want: "AddressConflict Exposed: taken"},
		"two of one condition":              {in: with(missing, duplicate), want: "DuplicateSkillID SkillsResolved: twice"},
		"an object of a deleted Agent":      {in: with(former)},
		"a route whose write is retried":    {in: with(state.Problem{Condition: a2av1alpha1.ConditionExposed, Reason: a2av1alpha1.ReasonApplyFailed, Message: "x"})},
		"an object that the server rejects": {in: with(state.Problem{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonApplyFailed, Message: "x"}), want: "ApplyFailed Programmed: x"},
	} {
		got := ""
		if c := meta.FindStatusCondition(Agent(test.in).Status.Conditions, a2av1alpha1.ConditionStalled); c != nil {
			got = c.Reason + " " + c.Message
		}
		if got != test.want {
			t.Errorf("%s: Stalled is %q, want %q", name, got, test.want)
		}
	}
}

// TestStalledEndsWithItsCause checks that the next status of a corrected Agent has no
// Stalled.
func TestStalledEndsWithItsCause(t *testing.T) {
	stalled := Agent(agentCases()["port conflict"].in).Status
	if !meta.IsStatusConditionTrue(stalled.Conditions, a2av1alpha1.ConditionStalled) {
		t.Fatal("an Agent with a port conflict is not stalled")
	}
	next := Agent(healthy(func(in *Inputs) { in.Observed.Agent.Status = stalled })).Status
	if c := meta.FindStatusCondition(next.Conditions, a2av1alpha1.ConditionStalled); c != nil {
		t.Errorf("a corrected Agent is stalled: %v", c)
	}
}

// TestArgoCDWaitsForTheReasonsWithTheAdviceToWait compares the reasons for which
// config/argocd/health.yaml reports Progressing with those for which docs/reference/conditions.md
// says to wait.
func TestArgoCDWaitsForTheReasonsWithTheAdviceToWait(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| [^|]*(?:False|Unknown)[^|]* \\| [^|]* \\| Wait\\b").FindAllStringSubmatch(string(page), -1) {
		want = append(want, row[1])
	}
	slices.Sort(want)
	want = slices.Compact(want)
	list := regexp.MustCompile(`(?s)local waits = \{(.*?)\}`).FindStringSubmatch(argoScript(t, "Agent"))[1]
	var got []string
	for _, entry := range regexp.MustCompile(`([A-Za-z]+) = true`).FindAllStringSubmatch(list, -1) {
		got = append(got, entry[1])
	}
	if len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("the health check waits for %v, the page says Wait for %v", got, want)
	}
}

func unstructuredOf(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

func kstatusOf(t *testing.T, object *unstructured.Unstructured) kstatus.Status {
	t.Helper()
	result, err := kstatus.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// argoScript returns the health check of a kind.
func argoScript(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../../config/argocd/health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	return patch.Data["resource.customizations.health.a2a-operator.dev_"+kind]
}

// argoHealth runs the health check of a kind as Argo CD does: the script reads the object
// from the global obj, and returns a table with status and message.
func argoHealth(t *testing.T, kind string, object *unstructured.Unstructured) (status, message string) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", luaValue(state, object.Object))
	if err := state.DoString(argoScript(t, kind)); err != nil {
		t.Fatal(err)
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("the health check returns %v", state.Get(-1))
	}
	status, message = lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))
	if !slices.Contains([]string{"Healthy", "Progressing", "Degraded", "Suspended"}, status) {
		t.Errorf("Argo CD does not know the health %q", status)
	}
	return status, message
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}

// fluxCurrent returns the expression in docs/how-to/gitops.md with which Flux counts a
// stopped Agent as current. Flux evaluates the expression after it has compared the
// generations.
func fluxCurrent(t *testing.T) cel.Program {
	t.Helper()
	page, err := os.ReadFile("../../../docs/how-to/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ +current: >-\n((?: {8,}.*\n)+)`).FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/how-to/gitops.md has no healthCheckExprs with current")
	}
	environment, err := cel.NewEnv(cel.Variable("status", cel.DynType), cel.Variable("spec", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := environment.Compile(strings.TrimSpace(string(found[1])))
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := environment.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func evaluate(t *testing.T, program cel.Program, object *unstructured.Unstructured) bool {
	t.Helper()
	out, _, err := program.Eval(map[string]any{"status": object.Object["status"], "spec": object.Object["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	return out.Value() == true
}
