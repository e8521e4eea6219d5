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
	// patience is how long a cache may fail to be filled before anybody is told:
	// a start, and a CRD that has just come, have their hitches.
	patience = 10 * time.Second
	// silence is how long the API server may say nothing at all. With that of the
	// CRD before it, it is less than the two minutes that a controller has to start.
	silence = 30 * time.Second
	// informerPeriod is how often an informer is asked for that there is not.
	informerPeriod = time.Second
)

var errSilence = errors.New("the API server does not answer")

// filling is a cache of one kind until all objects are in it.
type filling struct {
	// failures holds the last one, until somebody hears of it.
	failures chan error
	// done is closed once the cache is filled.
	done chan struct{}
}

func newFilling() *filling {
	return &filling{failures: make(chan error, 1), done: make(chan struct{})}
}

// handle is told of each failure to list or to watch. Those of a cache that was
// filled once are the library's to log: what is in it goes on being used.
func (f *filling) handle(ctx context.Context, reflector *toolscache.Reflector, err error) {
	select {
	case <-f.done:
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	default:
		f.note(err)
	}
}

// note makes a failure the last one.
func (f *filling) note(err error) {
	for {
		select {
		case f.failures <- err:
			return
		default:
		}
		select {
		case <-f.failures: //nolint:errcheck // there is a later one
		default:
		}
	}
}

// fill waits until a cache that runs has all objects of a kind, however often
// that fails. It returns the informer, and an error only when the context ends.
func (f *filling) fill(ctx context.Context, c cache.Cache, object client.Object) (cache.Informer, error) {
	var informer cache.Informer
	err := wait.PollUntilContextCancel(ctx, informerPeriod, true, func(ctx context.Context) (bool, error) {
		var err error
		if informer, err = c.GetInformer(ctx, object); err != nil {
			f.note(err)
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, err
	}
	// What waits also stops waiting, and may say that all is there, when the
	// context ends: whoever read from what was not filled would wait for ever.
	c.WaitForCacheSync(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	close(f.done)
	return informer, nil
}

// attend tells of the failures that last, until the context ends.
func (f *filling) attend(ctx context.Context, tell func(error)) {
	patient, silent := time.After(patience), time.After(silence)
	var last error
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-f.failures:
		case <-patient:
			patient = nil
		case <-silent:
			if last == nil {
				last = errSilence
			}
		}
		if patient == nil && last != nil {
			tell(last)
		}
	}
}

// reasonOf is what is to be told of a failure. Between the same failures it
// does not differ, as the ports of a connection do.
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
