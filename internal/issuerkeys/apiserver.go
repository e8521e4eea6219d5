// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// apiServer gets documents from an API server.
type apiServer struct {
	client *rest.RESTClient
}

var _ Getter = (*apiServer)(nil)

// APIServer returns a Getter for the API server of a configuration.
func APIServer(config *rest.Config, httpClient *http.Client) (Getter, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("build client of the API server: %w", err)
	}
	return &apiServer{client: client}, nil
}

// Get gets the document at an absolute path.
func (s *apiServer) Get(ctx context.Context, path string) ([]byte, error) {
	return s.client.Get().AbsPath(path).SetHeader("Accept", "application/json, */*").DoRaw(ctx)
}
