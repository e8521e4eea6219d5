// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestDataOfAnErrorNamesItsReason tests errors in events of a stream. An event has no HTTP status, so that only the
// member data of the error distinguishes an outage from another failure.
func TestDataOfAnErrorNamesItsReason(t *testing.T) {
	for data, want := range map[string]a2a.Reason{
		`[{"reason":"UNAVAILABLE"}]`:                      a2a.ReasonUnavailable,
		`[{"@type":"x"},{"reason":"RESOURCE_EXHAUSTED"}]`: a2a.ReasonResourceExhausted,
		`{"reason":"UNAVAILABLE"}`:                        a2a.ReasonUnavailable,
		`{"reason":"UNKNOWN"}`:                            a2a.ReasonInternal,
		`{"reason":7}`:                                    a2a.ReasonInternal,
		`"UNAVAILABLE"`:                                   a2a.ReasonInternal,
		`null`:                                            a2a.ReasonInternal,
		`[` + strings.Repeat(`{},`, maxDetails/3) + `{"reason":"UNAVAILABLE"}]`: a2a.ReasonInternal,
	} {
		problem := RPCV10.decodeError(http.StatusOK, []byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"m","data":`+data+`}}`))
		if problem.Reason != want || problem.Code != -32603 {
			t.Errorf("data %.100s: decodeError() = %+v, want the reason %s", data, problem, want)
		}
	}
}

// TestLongErrorsAreNotDecoded reads an error with as many bytes as an event may have.
func TestLongErrorsAreNotDecoded(t *testing.T) {
	problem := RPCV10.decodeError(http.StatusOK, []byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"`+strings.Repeat("x", maxError)+`"}}`))
	if problem.Message != "" || problem.Reason != a2a.ReasonInternal {
		t.Errorf("decodeError() = %.200v", problem)
	}
}
