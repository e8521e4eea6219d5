// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/ui"
)

// explained reads the registry and Agents for the pages. Its errors are *ui.PageError.
type explained struct{ options *Options }

func (r *explained) Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error) {
	page, err := r.options.Registry.Search(ctx, q)
	return page, explain(err)
}

func (r *explained) Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error) {
	agent, err := r.options.Registry.Agent(ctx, namespace, name)
	return agent, explain(err)
}

func (r *explained) Card(ctx context.Context, namespace, name, version string) ([]byte, error) {
	card, err := r.options.Registry.Card(ctx, namespace, name, version)
	return card, explain(err)
}

func (r *explained) Watch(ctx context.Context, q registryapi.Query, lastID string, handle func(registryapi.Event) error) error {
	return explain(r.options.Registry.Watch(ctx, q, lastID, handle))
}

func (r *explained) Conditions(ctx context.Context, namespace, name string) ([]metav1.Condition, error) {
	object, err := r.options.Object(ctx, namespace, name)
	if err != nil {
		return nil, problemOf(err)
	}
	return object.Status.Conditions, nil
}

// explain returns the *ui.PageError for an error, nil for nil.
func explain(err error) error {
	if err == nil {
		return nil
	}
	return problemOf(err)
}

// problemOf returns the error that a page shows, with an HTTP status, for the failure in err.
func problemOf(err error) *ui.PageError {
	cause := failure.Of(err)
	problem := &ui.PageError{Status: http.StatusBadGateway, Message: cause.Message, Hint: cause.Hint}
	if cause.Code == failure.CardNotFound {
		problem.Status = http.StatusNotFound
	}
	if cause.Code == failure.Usage {
		problem.Status = http.StatusBadRequest
	}
	return problem
}
