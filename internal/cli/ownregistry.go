// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/registry"
)

// ownCaller is the Caller of a client of ownRegistry.
const ownCaller = "you"

// ownRegistry returns a client of the Agents that the user may list in a namespace, or in all namespaces if it is "".
// The registry runs in this process, until closeConnection is called.
func (a *app) ownRegistry(ctx context.Context, namespace string) (client *registryclient.Client, closeConnection func(), err error) {
	config, err := a.cluster.Config()
	if err != nil {
		return nil, nil, err
	}
	ctrllog.SetLogger(logr.Discard())
	own, err := registry.NewOwn(config, namespace)
	if err != nil {
		return nil, nil, clusteraccess.Unusable(err)
	}
	running, cancel := context.WithCancel(ctx)
	ready := make(chan struct{})
	ended := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { ended <- own.Run(running, func() { close(ready) }) })
	closeConnection = func() {
		cancel()
		serving.Wait()
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		if err == nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, clusteraccess.ExplainWatch(ctx, err, namespace)
	}
	client = &registryclient.Client{
		Caller: ownCaller,
		HTTP:   &http.Client{Transport: &inprocess.Transport{Handler: own}},
		URL:    &url.URL{Scheme: "http", Host: "own.invalid"},
		Token:  func(context.Context) (string, error) { return "", nil },
	}
	return client, closeConnection, nil
}
