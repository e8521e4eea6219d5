// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// lateLog makes the logger of each look at an object of a kind. Nearly all of
// them log nothing, so what they would say of the object is encoded when one
// does: to do so for each was a fifteenth of what a look costs.
func lateLog(log logr.Logger, controller, kind string) func(*ctrl.Request) logr.Logger {
	log = log.WithValues("controller", controller)
	if sink, ok := log.GetSink().(logr.CallDepthLogSink); ok {
		log = log.WithSink(sink.WithCallDepth(1))
	}
	return func(request *ctrl.Request) logr.Logger {
		if request == nil || log.GetSink() == nil {
			return log
		}
		return log.WithSink(&lateSink{log.GetSink(), []any{
			kind, request.NamespacedName, "namespace", request.Namespace, "name", request.Name,
		}})
	}
}

// lateSink has values that the sink behind it is told when something is logged.
type lateSink struct {
	behind logr.LogSink
	values []any
}

var _ logr.LogSink = (*lateSink)(nil)

// Init is done: the sink behind it is in use.
func (s *lateSink) Init(logr.RuntimeInfo) {}

// Enabled is the decision of the sink behind it.
func (s *lateSink) Enabled(level int) bool { return s.behind.Enabled(level) }

// Info logs with all values.
func (s *lateSink) Info(level int, message string, values ...any) {
	s.behind.Info(level, message, slices.Concat(s.values, values)...)
}

// Error logs with all values.
func (s *lateSink) Error(err error, message string, values ...any) {
	s.behind.Error(err, message, slices.Concat(s.values, values)...)
}

// WithValues adds values.
func (s *lateSink) WithValues(values ...any) logr.LogSink {
	return &lateSink{s.behind, slices.Concat(s.values, values)}
}

// WithName is of the sink behind it.
func (s *lateSink) WithName(name string) logr.LogSink {
	return &lateSink{s.behind.WithName(name), s.values}
}
