// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

// reader reads the registry and Agents for the pages. It implements ui.Registry. problemOf explains its errors.
type reader struct {
	*registryclient.Client
	options *Options
}

func (r *reader) Search(ctx context.Context, q registryapi.Query) (*registryapi.PageOf[ui.Listed], error) {
	return registryclient.Search[ui.Listed](ctx, r.Client, q)
}

func (r *reader) Conditions(ctx context.Context, namespace, name string) ([]metav1.Condition, error) {
	object, err := r.options.Object(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.Status.Conditions, nil
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
