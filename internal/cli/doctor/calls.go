// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// checkCard compares the card that a sidecar serves with the card in the ConfigMap, and the ConfigMap with the status.
func checkCard(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "card"
	if f.Agent.Spec.Remote != nil {
		return nil // a remote agent has no sidecar; checkConditions reports whether the operator can read its card
	}
	expected, err := expectedCard(f)
	show := fmt.Sprintf("kubectl get configmap -n %s %s -o yaml", f.Agent.Namespace, names.ConfigMap(f.Agent.Name))
	if err != nil {
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{fmt.Sprintf("ConfigMap %s cannot be read: %v", names.ConfigMap(f.Agent.Name), err)},
			Cause: "Another program changed the ConfigMap, or the operator is newer than the command.",
			Cure:  "Remove the change at its source; the operator writes the ConfigMap again while its manager runs.", Command: show,
		}}
	}
	if expected != nil {
		digest, err := card.Digest(&expected.Card, expected.Bases...)
		if err == nil && f.Agent.Status.CardDigest != "" && f.Agent.Status.CardDigest != digest {
			return []Finding{{
				Level: LevelWarning, Check: check, Seen: []string{fmt.Sprintf("the digest of the card in the ConfigMap is %s, and status.cardDigest is %s", digest, f.Agent.Status.CardDigest)},
				Cause: "The card has just changed, another program changed the ConfigMap, or the manager is older than the ConfigMap.",
				Cure:  "Run the command again. If it persists, check that the manager runs.", Command: show,
			}}
		}
	}
	switch {
	case f.Calls == nil:
		return nil
	case f.Calls.CardErr != nil && f.Calls.CardErr.Code == failure.Unreachable && availableReason(f.Agent) != "":
		return nil // the finding about the condition Available already names the reason
	case f.Calls.CardErr != nil:
		return []Finding{callProblem(check, "The card cannot be read through the API server.", f.Calls.CardErr, "kubectl a2a card get "+f.Agent.Namespace+"/"+f.Agent.Name)}
	case f.Calls.Card == nil || expected == nil:
		return nil
	}
	if difference := compareCards(expected.Card.Public(), f.Calls.Card); difference != "" {
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"the served card differs from the published one: " + difference},
			Cause:   "The sidecar has not read its current configuration, or the address leads to another agent.",
			Cure:    "Wait a minute. If it persists, read the log of the sidecar: it names the rejected field.",
			Command: fmt.Sprintf("kubectl logs %s -c %s --tail 50", selectorOf(f.Agent), a2av1alpha1.ContainerSidecar),
		}}
	}
	return okay(check, fmt.Sprintf("version %s with %s is served as published", f.Calls.Card.Version, quantity(len(f.Calls.Card.Skills), "skill")))
}

// publishedCard contains the card, the base URLs and the registry of a sidecar configuration.
type publishedCard struct {
	Card    card.Card   `json:"card"`
	Bases   []card.Base `json:"bases"`
	Gateway struct {
		RegistryURL string `json:"registryUrl"`
	} `json:"gateway"`
}

// expectedCard returns the card in the ConfigMap, nil if there is no ConfigMap or no configuration in it.
func expectedCard(f *AgentFacts) (*publishedCard, error) {
	if f.ConfigMap == nil || f.ConfigMap.Data[sidecarconfig.FileName] == "" {
		return nil, nil
	}
	out := &publishedCard{}
	if err := json.Unmarshal([]byte(f.ConfigMap.Data[sidecarconfig.FileName]), out); err != nil {
		return nil, err
	}
	return out, nil
}

// compareCards describes the first difference of a served card from the expected one. It returns "" if the names,
// versions, skill ids and descriptions are equal.
func compareCards(want, got *card.Card) string {
	skills := func(c *card.Card) []string {
		var all []string
		for i := range c.Skills {
			all = append(all, c.Skills[i].ID)
		}
		slices.Sort(all)
		return all
	}
	switch {
	case want.Name != got.Name:
		return fmt.Sprintf("its name is %q instead of %q", got.Name, want.Name)
	case want.Version != got.Version:
		return fmt.Sprintf("its version is %q instead of %q", got.Version, want.Version)
	case !slices.Equal(skills(want), skills(got)):
		return fmt.Sprintf("its skills are %s instead of %s", strings.Join(skills(got), ", "), strings.Join(skills(want), ", "))
	case want.Description != got.Description:
		return "its description is another one"
	default:
		return ""
	}
}

// callProblem returns a finding for the failure of a call. A missing right or credential of the user
// is a warning: the agent may work for others.
func callProblem(check, cause string, err *failure.Error, command string) Finding {
	f := Finding{Level: LevelProblem, Check: check, Seen: []string{err.Message}, Cause: cause, Cure: sentence(err.Hint), Command: command}
	if err.Code == failure.CredentialsMissing || err.Code == failure.AuthFailed {
		f.Level = LevelWarning
	}
	if err.MissingRight {
		f.Cause = "You lack a right that the check needs, so it did not run."
	}
	if f.Cure == "" {
		f.Cure = "Correct the findings about conditions, pods and Service first, and run the command again."
	}
	return f
}

// accepted is the issuer and the audiences of the tokens that an authentication type accepts. An empty issuer stands
// for the issuer of the cluster.
type accepted struct {
	issuer    string
	audiences []string
}

// acceptedTokens returns which tokens an Agent accepts.
func acceptedTokens(agent *a2av1alpha1.Agent) []accepted {
	kubernetes := accepted{audiences: []string{names.Audience(agent.Name, agent.Namespace)}}
	if len(agent.Spec.Access.Authentication) == 0 {
		return []accepted{kubernetes}
	}
	var all []accepted
	for i := range agent.Spec.Access.Authentication {
		switch each := &agent.Spec.Access.Authentication[i]; each.Type {
		case a2av1alpha1.AuthenticationKubernetes:
			all = append(all, kubernetes)
		case a2av1alpha1.AuthenticationJWT:
			if each.JWT != nil {
				all = append(all, accepted{each.JWT.Issuer, each.JWT.Audiences})
			}
		default: // the other types use no token
		}
	}
	return all
}

// checkToken checks the audience, issuer, start and expiry of the token, and compares the clock of the agent's node
// with the clock of the API server.
func checkToken(shared *SharedFacts, f *AgentFacts) []Finding {
	const check = "token"
	if f.Calls == nil {
		return nil
	}
	findings := clockOfNode(shared, f.Calls)
	if f.Calls.TokenErr != nil {
		return append(findings, callProblem(check, "The command got no token for the agent.", f.Calls.TokenErr, ""))
	}
	t := f.Calls.Token
	if t == nil {
		return findings
	}
	if mismatch := mismatchedToken(f.Agent, t); mismatch != "" {
		findings = append(findings, Finding{
			Level: LevelProblem, Check: check, Seen: []string{mismatch},
			Cause:   "The agent rejects tokens for another audience or of another issuer, so that a service that receives a token cannot use it elsewhere.",
			Cure:    "Request a token for the audience of this agent, or add the audience to spec.access.authentication of the Agent.",
			Command: fmt.Sprintf("kubectl create token default -n %s --audience %s", f.Agent.Namespace, names.Audience(f.Agent.Name, f.Agent.Namespace)),
		})
	}
	now := shared.Now
	if !shared.ServerTime.IsZero() {
		now = shared.ServerTime
	}
	switch {
	case !t.Expires.IsZero() && now.After(t.Expires.Add(clockTolerance)):
		findings = append(findings, Finding{
			Level: LevelProblem, Check: check, Seen: []string{"the token expired at " + t.Expires.UTC().Format(time.RFC3339)},
			Cause: "The agent rejects an expired token.", Cure: "Request a new token.", Command: "kubectl a2a token " + f.Agent.Namespace + "/" + f.Agent.Name,
		})
	case now.Add(clockTolerance).Before(t.NotBefore):
		findings = append(findings, Finding{
			Level: LevelProblem, Check: check, Seen: []string{"the token is not valid before " + t.NotBefore.UTC().Format(time.RFC3339)},
			Cause: "The clock of the token's issuer is ahead.", Cure: "Synchronize the clock of the issuer by NTP.",
		})
	}
	return orOkay(findings, check, "its audience is "+strings.Join(t.Audiences, ", ")+", and it is valid until "+t.Expires.UTC().Format(time.RFC3339))
}

// mismatchedToken returns the reason why no authentication type accepts a token, "" if one accepts it.
func mismatchedToken(agent *a2av1alpha1.Agent, t *Token) string {
	all := acceptedTokens(agent)
	if len(all) == 0 {
		return ""
	}
	var wanted []string
	for _, each := range all {
		sameIssuer := each.issuer == "" || each.issuer == t.Issuer
		if sameIssuer && slices.ContainsFunc(each.audiences, func(a string) bool { return slices.Contains(t.Audiences, a) }) {
			return ""
		}
		text := "audience " + strings.Join(each.audiences, " or ")
		if each.issuer != "" {
			text += " of issuer " + each.issuer
		}
		wanted = append(wanted, text)
	}
	return fmt.Sprintf("the token has audience %s of issuer %s, and the agent accepts %s",
		orNone(strings.Join(t.Audiences, ", ")), orNone(t.Issuer), strings.Join(wanted, "; "))
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

// checkCall reports whether the agent admits the caller.
func checkCall(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "call"
	if f.Calls == nil || !f.Calls.Called {
		return nil
	}
	err := f.Calls.CallErr
	if err == nil {
		return okay(check, "the agent answers a request for the list of tasks")
	}
	finding := callProblem(check, "The agent does not answer a request for the list of tasks.", err, "kubectl a2a task list "+f.Agent.Namespace+"/"+f.Agent.Name+" --debug")
	if err.Code == failure.AuthFailed && !err.MissingRight {
		finding.Level = LevelProblem
		finding.Cause = "The agent does not admit the caller: it rejects the token, or no rule admits the caller."
	}
	return []Finding{finding}
}

// checkRegistry reports whether the registry answers, and whether it lists the agent with its current card.
func checkRegistry(shared *SharedFacts, f *AgentFacts) []Finding {
	const check = "registry"
	if f.Calls == nil {
		return nil
	}
	logs := "kubectl logs -n " + shared.operatorNamespace() + " -l " + managerSelector + " --tail 50"
	switch listing := f.Calls.Registry; {
	case f.Calls.RegistryErr != nil:
		finding := callProblem(check, "The registry does not answer, so other agents do not find this one through it.", f.Calls.RegistryErr,
			"kubectl get pods -n "+shared.operatorNamespace()+" -l "+managerSelector)
		if f.Calls.RegistryErr.Hint == "" {
			finding.Cure = "Let a pod of the manager become ready: it serves the registry."
		}
		return []Finding{finding}
	case listing == nil:
		return nil
	case !listing.Listed && f.Agent.Status.CardDigest == "":
		return []Finding{{
			Level: LevelWarning, Check: check, Seen: []string{"the registry does not list the agent"},
			Cause: "The agent has no published card.", Cure: "Correct the causes that the conditions SkillsResolved and CardPublished name.",
			Command: "kubectl describe agent -n " + f.Agent.Namespace + " " + f.Agent.Name,
		}}
	case !listing.Listed:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"the registry does not list the agent"},
			Cause: "The ServiceAccount of the token may not see the agent (spec.discovery), the manager does not watch the namespace (watchNamespaces), or its caches are not in sync.",
			Cure:  "Check spec.discovery of the Agent and watchNamespaces of the operator, and read the manager's log.", Command: logs,
		}}
	case listing.CardDigest != "" && f.Agent.Status.CardDigest != "" && listing.CardDigest != f.Agent.Status.CardDigest:
		return []Finding{{
			Level: LevelWarning, Check: check, Seen: []string{fmt.Sprintf("the registry has the card %s, and status.cardDigest is %s", listing.CardDigest, f.Agent.Status.CardDigest)},
			Cause: "The card has just changed, or the caches of the manager do not follow the API server.",
			Cure:  "Run the command again. If it persists, read the manager's log.", Command: logs,
		}}
	}
	return okay(check, "the registry lists the agent")
}

// checkRegistryOfPods finds pods whose sidecars do not reach the registry, although the user may reach it.
func checkRegistryOfPods(_ *SharedFacts, f *AgentFacts) []Finding {
	if f.Calls == nil {
		return nil
	}
	var findings []Finding
	for _, pod := range slices.Sorted(maps.Keys(f.Calls.RegistryStates)) {
		state := f.Calls.RegistryStates[pod]
		if state.Name == "healthy" || state.Name == "pending" {
			continue
		}
		cause, cure := describeRegistryFailure(state.Cause)
		findings = merge(findings, []Finding{{
			Level: LevelProblem, Check: "registry from the pods", Reason: a2av1alpha1.ReasonRegistryUnreachable,
			Seen:  []string{fmt.Sprintf("the sidecar of pod %s does not reach the registry (%s: %s)", pod, state.Name, state.Cause)},
			Cause: cause, Cure: cure,
			Command: fmt.Sprintf("kubectl logs -n %s %s -c %s --tail 500 | grep 'health report failed'",
				f.Agent.Namespace, pod, a2av1alpha1.ContainerSidecar),
		}})
	}
	return findings
}

// describeRegistryFailure returns the cause and the cure of a failure with which sidecars report the registry.
func describeRegistryFailure(of sidecarconfig.HealthCause) (cause, cure string) {
	switch of {
	case sidecarconfig.CauseNameResolution:
		return "The name of the registry does not resolve in the pod.",
			"Let the DNS of the cluster answer, and let the NetworkPolicies of the pod allow egress to UDP and TCP port 53."
	case sidecarconfig.CauseTimedOut:
		return "A NetworkPolicy blocks the connection of the pod to the registry, or no node routes it.",
			"Let the NetworkPolicies of the pod allow egress to the registry, and those of the manager allow ingress."
	case sidecarconfig.CauseRefused, sidecarconfig.CauseNotServing:
		return "No pod of the manager serves the registry.", "Let a pod of the manager become ready: it serves the registry."
	case sidecarconfig.CauseTLS:
		return "The sidecar does not trust the certificate of the registry.",
			"Compare the certificate of the registry with the certificate authorities that the operator gives to sidecars (registry.tls)."
	case sidecarconfig.CauseAuthentication:
		return "The registry does not accept the token of the pod: its ServiceAccount has been deleted and created again.",
			"Delete the pod: its successor has a valid token."
	default:
		return "The connection of the pod to the registry fails.", "Correct the cause in the log of the sidecar."
	}
}

// registryState matches the state of the registry in the metrics of a sidecar.
var registryState = regexp.MustCompile(`(?m)^a2a_dependency_state\{cause="(\w*)",dependency="Registry",state="(\w+)"\} 1$`)

// parseRegistryState returns the state of the registry in the metrics of a sidecar, and false for none.
func parseRegistryState(text []byte) (RegistryState, bool) {
	found := registryState.FindSubmatch(text)
	if found == nil {
		return RegistryState{}, false
	}
	return RegistryState{Name: string(found[2]), Cause: sidecarconfig.HealthCause(found[1])}, true
}

// parseTokenMetrics reads the counts of TokenMetrics from the metrics of a sidecar, in the text format of Prometheus. It
// ignores all other metrics and unreadable lines.
func parseTokenMetrics(text []byte) (m TokenMetrics) {
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		series := line[:at]
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		switch {
		case err != nil:
		case series == `a2a_limited_total{limit="tokens"}`:
			m.RefusedCaller = value
		case series == `a2a_limited_total{limit="total_tokens"}`:
			m.RefusedTotal = value
		case strings.HasPrefix(series, "a2a_turn_duration_seconds_count{"):
			m.Turns += value
		case series == `gen_ai_client_token_usage_count{gen_ai_token_type="output"}`:
			m.Reports = value
		}
	}
	return m
}

// checkTokenBudgets reports messages that a token budget refused, and budgets that refuse nothing
// because the agent does not report its tokens.
func checkTokenBudgets(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "token budget"
	limits := f.Agent.Spec.Limits
	if limits == nil || limits.Tokens == nil || f.Calls == nil || len(f.Calls.Tokens) == 0 {
		return nil
	}
	var findings []Finding
	all := TokenMetrics{}
	for _, pod := range slices.Sorted(maps.Keys(f.Calls.Tokens)) {
		m := f.Calls.Tokens[pod]
		all.Turns = all.Turns + m.Turns
		all.Reports = all.Reports + m.Reports
		for _, refused := range []struct {
			messages float64
			field    string
			budget   int64
			who      string
		}{
			{m.RefusedCaller, "perCallerPerHour", limits.Tokens.PerCallerPerHour, "A caller has used its token budget of the hour."},
			{m.RefusedTotal, "perHour", limits.Tokens.PerHour, "All callers together have used the token budget of the hour."},
		} {
			if refused.messages > 0 {
				findings = append(findings, Finding{
					Level: LevelWarning, Check: check,
					Seen:    []string{fmt.Sprintf("messages that pod %s has refused because of spec.limits.tokens.%s (%d) since its start: %.0f", pod, refused.field, refused.budget, refused.messages)},
					Cause:   refused.who,
					Cure:    "Wait until the time in the answer to a refused message, or raise spec.limits.tokens." + refused.field + ".",
					Command: fmt.Sprintf("kubectl edit agent -n %s %s", f.Agent.Namespace, f.Agent.Name),
				})
			}
		}
	}
	if all.Turns > 0 && all.Reports == 0 {
		findings = append(findings, Finding{
			Level: LevelWarning, Check: check, Seen: []string{fmt.Sprintf("%.0f turns have ended, and the agent has reported its usage for none of them", all.Turns)},
			Cause:   "The sidecar counts only tokens that the agent reports, so spec.limits.tokens limits nothing.",
			Cure:    "Have the agent report prompt_tokens and completion_tokens in the metadata a2a-operator.dev/usage of the status that ends a turn.",
			Command: fmt.Sprintf("kubectl a2a send %s/%s hello -o json", f.Agent.Namespace, f.Agent.Name),
		})
	}
	return orOkay(findings, check, "no message was refused")
}
