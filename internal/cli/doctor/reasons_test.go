// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// declaredReasons returns the reasons in the sources of the API. The value is true for reasons that occur only with the
// status True.
func declaredReasons(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../../api/v1alpha1/reasons*.go")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	reasons := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
				return true
			}
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons[name] = strings.HasPrefix(spec.Doc.Text(), spec.Names[0].Name+" (True):")
			return true
		})
	}
	return reasons
}

func TestEachReasonHasACauseACureAndACommand(t *testing.T) {
	reasons := declaredReasons(t)
	if len(reasons) < 70 {
		t.Fatalf("only %d reasons", len(reasons))
	}
	for reason, onlyTrue := range reasons {
		text, ok := advices[reason]
		if !ok || text.means == "" {
			t.Errorf("%s: no text; run make generate", reason)
		}
		if onlyTrue {
			continue
		}
		s := healthy(t)
		c := &metav1.Condition{Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: reason, Message: "Text of the condition"}
		f, found := conditionFinding(s.shared, s.f.Agent, c)
		if !found || f.Cause == "" || f.Cure == "" || f.Command == "" || f.Level == LevelOK || !strings.Contains(f.Seen[0], "Text of the condition") {
			t.Errorf("%s: finding %+v", reason, f)
		}
	}
	if len(advices) != len(reasons) {
		t.Errorf("%d texts for %d reasons; run make generate", len(advices), len(reasons))
	}
}

func TestUnknownReasonIsExplainedByItsMessage(t *testing.T) {
	s := healthy(t)
	s.unavailable("FromTheFuture", "Text of the condition")
	f := s.findings()[0]
	if f.Level != LevelProblem || f.Cure == "" || !strings.Contains(f.Seen[0], "Text of the condition") {
		t.Errorf("%+v", f)
	}
}

func TestConsequenceOfAnotherConditionIsNoFinding(t *testing.T) {
	s := healthy(t)
	s.condition(a2av1alpha1.ConditionCardPublished, metav1.ConditionFalse, a2av1alpha1.ReasonNoPodReady, "No pod is ready")
	s.unavailable(a2av1alpha1.ReasonUnschedulable, "No node")
	for _, f := range s.findings() {
		if f.Reason == a2av1alpha1.ReasonNoPodReady {
			t.Errorf("%+v", f)
		}
	}
}
