// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestALateLogSaysWhatAnotherWould(t *testing.T) {
	var got []string
	log := funcr.New(func(prefix, values string) { got = append(got, prefix+" "+values) }, funcr.Options{Verbosity: 1})
	of := lateLog(log, "agent", "Agent")
	look := of(&ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "echo"}}).WithValues("reconcileID", "1")
	look.Info("looked", "a", 1)
	look.WithName("part").Error(errors.New("broken"), "failed")
	look.V(1).Info("closer")
	look.V(2).Info("too close")
	of(nil).Info("of none")
	const object = `"Agent"={"name"="echo" "namespace"="ns"} "namespace"="ns" "name"="echo" "reconcileID"="1"`
	want := []string{
		` "level"=0 "msg"="looked" "controller"="agent" ` + object + ` "a"=1`,
		`part "msg"="failed" "error"="broken" "controller"="agent" ` + object,
		` "level"=1 "msg"="closer" "controller"="agent" ` + object,
		` "level"=0 "msg"="of none" "controller"="agent"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if sink := lateLog(logr.Logger{}, "agent", "Agent")(&ctrl.Request{}).GetSink(); sink != nil {
		t.Errorf("a sink %v behind none", sink)
	}
}
