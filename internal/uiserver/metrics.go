// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// signInResult is the value of the label result of signIns.
type signInResult string

const (
	resultCompleted signInResult = "completed"
	// resultIncomplete is the result of a sign-in that began in another browser, or that took
	// too long.
	resultIncomplete signInResult = "incomplete"
	// resultDenied is the result if the issuer refuses the person. resultRefused is the result
	// if the person's token is not valid for the page.
	resultDenied  signInResult = "denied"
	resultRefused signInResult = "refused"
	// resultLimited is the result of a sign-in that exceeds a limit.
	resultLimited signInResult = "limited"
	// resultFailed is the result of a failure of the issuer or of the Secret.
	resultFailed signInResult = "failed"
)

// signIns counts the ended sign-ins at the page, by result.
var signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_ui_sign_ins_total",
	Help: "Sign-ins at the page for people, by result: completed, incomplete, denied by the issuer, refused because of the token, limited or failed.",
}, []string{"result"})

// Register adds the metrics of the page, with 0 for each result. Managers of one process share
// the metrics.
func Register(r prometheus.Registerer) error {
	for _, result := range []signInResult{resultCompleted, resultIncomplete, resultDenied, resultRefused, resultLimited, resultFailed} {
		signIns.WithLabelValues(string(result))
	}
	err := r.Register(signIns)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}

func countSignIn(result signInResult) { signIns.WithLabelValues(string(result)).Inc() }
