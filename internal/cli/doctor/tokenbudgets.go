// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// parseTokenMetrics parses metrics in the text format of Prometheus. It ignores other metrics.
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
		all.Turns, all.Reports = all.Turns+m.Turns, all.Reports+m.Reports
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
