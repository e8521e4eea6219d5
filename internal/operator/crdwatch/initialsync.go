// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// failureGrace is how long the sync of a cache may fail before the failure is reported.
	// Short failures are normal after a start and for a new CRD.
	failureGrace = 10 * time.Second
	// noAnswerTimeout is the time without a response of the API server after which errNoAnswer is
	// reported. A controller may wait twice for noAnswerTimeout: for the CRD and for its objects.
	// Both waits together must be shorter than the two minutes in which a controller has to start.
	noAnswerTimeout = 30 * time.Second
	// informerInterval is the interval between attempts to create an informer.
	informerInterval = time.Second
)

var errNoAnswer = errors.New("the API server does not answer")

// initialSync is the initial sync of a cache of one kind.
type initialSync struct {
	// failures contains the last failure that was not received yet, if there is one.
	failures chan error
	// done is closed when the cache has synced.
	done chan struct{}
}

func newInitialSync() *initialSync {
	return &initialSync{failures: make(chan error, 1), done: make(chan struct{})}
}

// handleWatchError is called for each failure to list or to watch. Before the initial sync has
// ended, it stores the failure for reportFailures. Later, it only calls the handler of client-go,
// which logs the failure: the content of the cache stays in use.
func (s *initialSync) handleWatchError(ctx context.Context, reflector *toolscache.Reflector, err error) {
	select {
	case <-s.done:
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	default:
		s.setFailure(err)
	}
}

// setFailure stores a failure in failures. It replaces a failure that was not received yet.
func (s *initialSync) setFailure(err error) {
	for {
		select {
		case s.failures <- err:
			return
		default:
		}
		select {
		case <-s.failures: //nolint:errcheck // the loop sends the newer failure next
		default:
		}
	}
}

// wait waits until a running cache contains all objects of a kind. It retries all failures,
// and returns an error only if the context ends.
func (s *initialSync) wait(ctx context.Context, c cache.Cache, object client.Object) (cache.Informer, error) {
	var informer cache.Informer
	err := wait.PollUntilContextCancel(ctx, informerInterval, true, func(ctx context.Context) (bool, error) {
		var err error
		if informer, err = c.GetInformer(ctx, object); err != nil {
			s.setFailure(err)
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, err
	}
	// Check the context, because WaitForCacheSync may report a sync when the context ends. A read from
	// a cache that has not synced would block forever.
	c.WaitForCacheSync(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	close(s.done)
	return informer, nil
}

// reportFailures calls report with each failure, but not before failureGrace has passed. If there
// is no failure until noAnswerTimeout, it reports errNoAnswer. It returns when the context ends.
func (s *initialSync) reportFailures(ctx context.Context, report func(error)) {
	grace := time.After(failureGrace)
	noAnswer := time.After(noAnswerTimeout)
	var last error
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-s.failures:
		case <-grace:
			grace = nil
		case <-noAnswer:
			if last == nil {
				last = errNoAnswer
			}
		}
		if grace == nil && last != nil {
			report(last)
		}
	}
}

// reasonOf returns the reason of a failure for users. Equal failures have equal reasons: a
// reason does not contain the ports of connections.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "the API server cannot be reached"
	}
	return err.Error()
}
