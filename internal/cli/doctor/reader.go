// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// readTimeout bounds each read and each call.
const readTimeout = 10 * time.Second

var errSlowRead = failure.New(failure.Timeout, "no answer within %s", readTimeout)

// reader reads objects from the API server.
type reader struct{ client kubernetes.Interface }

// unread collects the parts that could not be read. It is safe for concurrent use.
type unread struct {
	mu  sync.Mutex
	all []Unread
}

func (u *unread) add(part string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, Unread{part, failure.Of(err)})
}

// sorted returns the parts sorted by name.
func (u *unread) sorted() []Unread {
	slices.SortFunc(u.all, func(a, b Unread) int { return strings.Compare(a.Part, b.Part) })
	return u.all
}

// read runs a request for at most readTimeout. Its error is a failure for the user.
func read[T any](ctx context.Context, access clusteraccess.Access, options metav1.ListOptions, request func(context.Context, metav1.ListOptions) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errSlowRead)
	defer cancel()
	out, err := request(ctx, options)
	if err != nil {
		var none T
		return none, clusteraccess.Explain(ctx, err, access)
	}
	return out, nil
}
