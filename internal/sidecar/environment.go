// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/kit/gctuning"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// environment contains what the parts of a sidecar share.
type environment struct {
	options *settings.Options
	// memory are the budgets of the parts.
	memory memoryshare.Shares
	// config is the configuration in use.
	config   atomic.Pointer[settings.Loaded]
	metrics  *metrics.Metrics
	health   *health.Tracker
	reloader *reload.Reloader
	trust    trust.Store
	traces   traces
	// signing is the key that signs push notifications, nil for none: the preferred one of the card.
	signing atomic.Pointer[signing.Key]
	// protected are the targets to which no caller, agent or author can lead the sidecar.
	protected *egress.Protected
	heap      *gctuning.Tuner
	log       *slog.Logger
	now       func() time.Time
}

// sign returns a JWT with the claims, "" without a key.
func (e *environment) sign(claims any) (string, error) {
	if key := e.signing.Load(); key != nil {
		return key.Token(claims)
	}
	return "", nil
}

func (e *environment) current() *settings.Loaded { return e.config.Load() }
