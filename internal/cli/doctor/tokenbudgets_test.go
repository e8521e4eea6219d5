// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import "testing"

func TestTokenMetricsAreParsed(t *testing.T) {
	const text = `# HELP a2a_limited_total Requests that a limit refused.
# TYPE a2a_limited_total counter
a2a_limited_total{limit="requests"} 9
a2a_limited_total{limit="tokens"} 3
a2a_limited_total{limit="total_tokens"} 1
a2a_turn_duration_seconds_bucket{state="completed",le="0.1"} 5
a2a_turn_duration_seconds_count{state="completed"} 5
a2a_turn_duration_seconds_count{state="failed"} 2
gen_ai_client_token_usage_count{gen_ai_token_type="input"} 8
gen_ai_client_token_usage_count{gen_ai_token_type="output"} 6
no number
a2a_limited_total{limit="tokens"} x
`
	if got, want := parseTokenMetrics([]byte(text)), (TokenMetrics{RefusedCaller: 3, RefusedTotal: 1, Turns: 7, Reports: 6}); got != want {
		t.Errorf("parseTokenMetrics() = %+v, want %+v", got, want)
	}
}
