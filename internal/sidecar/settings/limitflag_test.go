// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestLimitFlagsNameAllLimits checks that a new limit can be set by --limit.
func TestLimitFlagsNameAllLimits(t *testing.T) {
	var fields []string
	limits := reflect.TypeFor[sidecarconfig.Limits]()
	for _, field := range reflect.VisibleFields(limits) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() != reflect.Struct {
			fields = append(fields, name)
			continue
		}
		for _, inner := range reflect.VisibleFields(field.Type) {
			innerName, _, _ := strings.Cut(inner.Tag.Get("json"), ",")
			fields = append(fields, name+"."+innerName)
		}
	}
	if diff := cmp.Diff(fields, limitNames, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
}

func TestLimitFlags(t *testing.T) {
	var limits sidecarconfig.Limits
	for _, name := range limitNames {
		value := "2048"
		if name == "turns.queueTimeout" {
			value = "2s"
		}
		if name == "tokens.unreported" {
			value = "Deny"
		}
		if err := setLimit(&limits, name+"="+value); err != nil {
			t.Errorf("setLimit(%s) error = %v", name, err)
		}
	}
	rate := sidecarconfig.Rate{PerSecond: 2048, Burst: 2048}
	want := sidecarconfig.Limits{
		Requests: rate, TotalRequests: rate, FailedAuthentications: rate,
		Turns:   sidecarconfig.TurnLimits{Max: 2048, MaxPerCaller: 2048, MaxQueued: 2048, QueueTimeout: sidecarconfig.Duration(2 * time.Second)},
		Streams: sidecarconfig.StreamLimits{Max: 2048, MaxPerCaller: 2048}, MaxBodyBytes: 2048,
		Tokens: sidecarconfig.TokenBudgets{PerHour: 2048, PerCallerPerHour: 2048, Unreported: "Deny"},
	}
	if limits != want {
		t.Errorf("limits = %+v, want %+v", limits, want)
	}
	for flag, want := range map[string]string{
		"turns.max":                "must be name=value with one of requests.perSecond, ",
		"turns=1":                  "must be name=value with one of",
		"turns.max=many":           "must have a whole number",
		"turns.max=":               "must have a whole number",
		"turns.queueTimeout=x":     "--limit is \"turns.queueTimeout=x\": ",
		"turns.max=-1":             "turns.max is -1, must be 1 to 65536",
		"tokens.perHour=-1":        "limits.tokens.perHour is -1, must be 1 to 1000000000000, or absent for no budget",
		"turns.queueTimeout=1h":    "limits.turns.queueTimeout is 1h0m0s, must be at most 5m0s",
		"maxBodyBytes=99999999999": "limits.maxBodyBytes is 99999999999, must be 1024 to 33554432",
	} {
		o := Options{BackendURL: "http://x", CardFile: "x", Anonymous: true, Limits: []string{flag}}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() with --limit %s: error = %v, want %q", flag, err, want)
		}
	}
}
