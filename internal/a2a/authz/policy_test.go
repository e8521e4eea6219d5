// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// cel compiles an expression as the operator does.
func cel(tb testing.TB, text string) []byte {
	tb.Helper()
	checked, err := celcompile.Compile("", text)
	if err != nil {
		tb.Fatalf("Compile(%s) error = %v", text, err)
	}
	return checked
}

func policy(tb testing.TB, rules ...Rule) *Policy {
	tb.Helper()
	p, err := New(rules)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

var (
	service = Call{Principal: "system:serviceaccount:team:bot", Namespace: "team"}
	alice   = Call{
		Principal: "jwt:https://login.example#alice",
		Claims:    &Claims{"sub": "alice", "tier": "gold", "level": 3.0, "groups": []any{"staff", "admins"}, "kubernetes.io": map[string]any{"namespace": "x"}},
	}
	anonymous = Call{Principal: "system:anonymous"}
	// delegated and asserted are service on behalf of alice.
	delegated = Call{Principal: service.Principal, Namespace: "team", Subject: Subject{
		Principal: alice.Principal, Issuer: "https://login.example", Claims: alice.Claims, Proven: true,
	}}
	asserted = Call{Principal: service.Principal, Namespace: "team", Subject: Subject{Principal: alice.Principal}}
)

// asks returns a call of the caller c, with the method, the skill and the tenant of what.
func (c Call) asks(what Call) *Call {
	c.Method, c.Skill, c.Tenant = what.Method, what.Skill, what.Tenant
	return &c
}

func TestRules(t *testing.T) {
	send := Call{Method: a2a.MethodSendMessage, Skill: "summarize", Tenant: "acme"}
	get := Call{Method: a2a.MethodGetTask}
	when := func(text string) Rule { return Rule{Allow: true, Expression: cel(t, text)} }
	tests := map[string]struct {
		rules  []Rule
		caller Call
		call   Call
		// refused is the expected result: "" for an allowed call, "none" if no rule matched,
		// and otherwise the name of the rule that refused the call, followed by "!" if its
		// evaluation failed.
		refused string
	}{
		"no rule":                          {nil, service, send, "none"},
		"everything":                       {[]Rule{{Allow: true}}, anonymous, send, ""},
		"first wins, deny":                 {[]Rule{{Name: "no"}, {Allow: true}}, service, send, "no"},
		"first wins, allow":                {[]Rule{{Allow: true}, {Name: "no"}}, service, send, ""},
		"a rule without a name":            {[]Rule{{Allow: true, Skills: []string{"x"}}, {}}, service, send, "1"},
		"namespace":                        {[]Rule{{Allow: true, Namespaces: []string{"other", "team"}}}, service, send, ""},
		"another namespace":                {[]Rule{{Allow: true, Namespaces: []string{"other"}}}, service, send, "none"},
		"no namespace":                     {[]Rule{{Allow: true, Namespaces: []string{""}}}, alice, send, "none"},
		"principal":                        {[]Rule{{Allow: true, Principals: []string{"jwt:https://login.example#alice"}}}, alice, send, ""},
		"another principal":                {[]Rule{{Allow: true, Principals: []string{"jwt:https://login.example#alic"}}}, alice, send, "none"},
		"anonymous":                        {[]Rule{{Allow: true, Principals: []string{"system:anonymous"}}}, anonymous, send, ""},
		"subject":                          {[]Rule{{Allow: true, Subjects: []string{alice.Principal}}}, delegated, send, ""},
		"another subject":                  {[]Rule{{Allow: true, Subjects: []string{"jwt:https://login.example#bob"}}}, delegated, send, "none"},
		"asserted subject":                 {[]Rule{{Allow: true, Subjects: []string{alice.Principal}}}, asserted, send, "none"},
		"no subject":                       {[]Rule{{Allow: true, Subjects: []string{alice.Principal}}}, alice, send, "none"},
		"an empty subject":                 {[]Rule{{Allow: true, Subjects: []string{""}}}, service, send, "none"},
		"a denied subject":                 {[]Rule{{Name: "no", Subjects: []string{alice.Principal}}, {Allow: true}}, delegated, send, "no"},
		"a denied subject, asserted":       {[]Rule{{Name: "no", Subjects: []string{alice.Principal}}, {Allow: true}}, asserted, send, "no"},
		"a denied subject, no subject":     {[]Rule{{Name: "no", Subjects: []string{alice.Principal}}, {Allow: true}}, alice, send, ""},
		"subject and caller":               {[]Rule{{Allow: true, Principals: []string{"system:serviceaccount:team:other"}, Subjects: []string{alice.Principal}}}, delegated, send, "none"},
		"claims of the subject":            {[]Rule{when(`subject.proven && subject.issuer == "https://login.example" && "staff" in subject.claims.groups && !has(caller.claims.groups)`)}, delegated, send, ""},
		"claims of an asserted subject":    {[]Rule{when(`"staff" in subject.claims.groups`)}, asserted, send, "0!"},
		"an asserted subject by CEL":       {[]Rule{when(`subject.principal.endsWith("#alice") && !subject.proven && subject.issuer == ""`)}, asserted, send, ""},
		"all conditions":                   {[]Rule{{Allow: true, Namespaces: []string{"team"}, Methods: []a2a.Method{a2a.MethodGetTask}}}, service, send, "none"},
		"method":                           {[]Rule{{Allow: true, Methods: []a2a.Method{a2a.MethodListTasks, a2a.MethodGetTask}}}, service, get, ""},
		"skill":                            {[]Rule{{Allow: true, Skills: []string{"summarize"}}}, service, send, ""},
		"another skill":                    {[]Rule{{Allow: true, Skills: []string{"translate"}}}, service, send, "none"},
		"a message without a skill":        {[]Rule{{Allow: true, Skills: []string{"translate"}}}, service, Call{Method: a2a.MethodSendStreamingMessage}, "none"},
		"what follows a skill":             {[]Rule{{Allow: true, Skills: []string{"translate"}}}, service, get, ""},
		"a denied skill":                   {[]Rule{{Name: "no", Skills: []string{"summarize"}}, {Allow: true}}, service, send, "no"},
		"a denied skill, other calls":      {[]Rule{{Name: "no", Skills: []string{"summarize"}}, {Allow: true}}, service, get, ""},
		"expression":                       {[]Rule{when(`caller.principal.endsWith(":bot") && caller.namespace == "team" && request.method == "SendMessage" && request.skill == "summarize" && request.tenant == "acme"`)}, service, send, ""},
		"expression that is false":         {[]Rule{when(`caller.namespace == "other"`)}, service, send, "none"},
		"expression and list":              {[]Rule{{Allow: true, Namespaces: []string{"other"}, Expression: cel(t, "1/0 == 1")}}, service, send, "none"},
		"claim":                            {[]Rule{when(`caller.claims.tier == "gold"`)}, alice, send, ""},
		"number":                           {[]Rule{when(`caller.claims.level >= 3`)}, alice, send, ""},
		"list":                             {[]Rule{when(`"admins" in caller.claims.groups`)}, alice, send, ""},
		"loop":                             {[]Rule{when(`caller.claims.groups.exists(g, g.startsWith("adm"))`)}, alice, send, ""},
		"nested":                           {[]Rule{when(`caller.claims["kubernetes.io"].namespace == "x"`)}, alice, send, ""},
		"pattern":                          {[]Rule{when(`caller.principal.matches("^jwt:.*#a.*$")`)}, alice, send, ""},
		"claim of a caller without claims": {[]Rule{when(`has(caller.claims.tier) && caller.claims.tier == "gold"`)}, service, send, "none"},
		"missing claim":                    {[]Rule{when(`caller.claims.tier == "gold"`), {Allow: true}}, service, send, "0!"},
		"missing claim in a denial":        {[]Rule{{Name: "tier", Expression: cel(t, `caller.claims.tier == "free"`)}, {Allow: true}}, service, send, "tier!"},
		"claim of another type":            {[]Rule{when(`caller.claims.tier > 3`)}, alice, send, "0!"},
		"division by zero":                 {[]Rule{when(`1 / size(caller.namespace) == 1`)}, alice, send, "0!"},
		"missing claim, short circuit":     {[]Rule{when(`caller.namespace == "team" || caller.claims.tier == "gold"`)}, service, send, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if refusal := policy(t, test.rules...).Decide(test.caller.asks(test.call)); refusal != nil {
				if got = refusal.Rule; got == "" {
					got = "none"
				}
				if refusal.Err != nil {
					got += "!"
				}
			}
			if got != test.refused {
				t.Errorf("refused by %q, want %q", got, test.refused)
			}
		})
	}
}

// TestVariables evaluates every variable of the sidecar configuration.
func TestVariables(t *testing.T) {
	for _, name := range sidecarconfig.Variables {
		expression := "size(" + name + ") >= 0"
		if name == sidecarconfig.VariableSubjectProven {
			expression = "!" + name
		}
		p := policy(t, Rule{Allow: true, Expression: cel(t, expression)})
		if refusal := p.Decide(anonymous.asks(Call{Method: a2a.MethodGetTask})); refusal != nil {
			t.Errorf("%s is missing: %v", name, refusal.Err)
		}
		if got := p.UsesClaims(); got != (name == sidecarconfig.VariableClaims || name == sidecarconfig.VariableSubjectClaims) {
			t.Errorf("%s: UsesClaims() = %v", name, got)
		}
	}
}

// TestCostIsBounded evaluates nested loops over a token of maximum size.
func TestCostIsBounded(t *testing.T) {
	groups := make([]any, 4000)
	for i := range groups {
		groups[i] = fmt.Sprint(i)
	}
	caller := Call{Principal: "x", Claims: &Claims{"groups": groups}}
	p := policy(t, Rule{Expression: cel(t, `caller.claims.groups.all(a, caller.claims.groups.all(b, a != b + "x"))`)}, Rule{Allow: true})
	refusal := p.Decide(caller.asks(Call{Method: a2a.MethodGetTask}))
	if refusal == nil || refusal.Err == nil || !strings.Contains(refusal.Err.Error(), "cost limit exceeded") {
		t.Errorf("refusal = %+v, want one for its cost", refusal)
	}
}

func TestNewRejectsInvalidExpressions(t *testing.T) {
	for name, checked := range map[string][]byte{"garbage": []byte("\xff\xff"), "empty": {}, "cut": cel(t, `caller.principal == "x"`)[:20]} {
		if _, err := New([]Rule{{Name: "r", Expression: checked}}); err == nil || !strings.Contains(err.Error(), "rule r") {
			t.Errorf("New() of %s: error = %v", name, err)
		}
	}
}

// BenchmarkDecide measures a policy of 16 rules of which only the last one matches.
func BenchmarkDecide(b *testing.B) {
	for name, rule := range map[string]Rule{
		"lists":      {Allow: true, Namespaces: []string{"other"}, Skills: []string{"translate"}},
		"expression": {Allow: true, Expression: cel(b, `caller.namespace == "other" && request.skill == "translate"`)},
		"claims":     {Allow: true, Expression: cel(b, `"nobody" in caller.claims.groups`)},
		"loop":       {Allow: true, Expression: cel(b, `caller.claims.groups.exists(g, g == "nobody")`)},
	} {
		rules := make([]Rule, 16)
		for i := range rules {
			rules[i] = rule
		}
		rules[15] = Rule{Allow: true}
		p := policy(b, rules...)
		call := alice.asks(Call{Method: a2a.MethodSendMessage, Skill: "summarize"})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p.Decide(call) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}
