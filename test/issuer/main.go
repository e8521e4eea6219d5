// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command issuer is an OpenID Connect issuer for the end-to-end tests: the example server of zitadel/oidc, with TLS
// and ID tokens that expire soon. Its users are test-user@HOST (id1) and test-user2 (id2), with the password
// verysecure.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	issuer := flag.String("issuer", "", "The https `URL` of the issuer, at whose host and port it listens.")
	certificate := flag.String("cert", "", "The `file` of the certificate.")
	key := flag.String("key", "", "The `file` of the key.")
	client := flag.String("client", "", "The `id` of the client.")
	secret := flag.String("secret", "", "The `secret` of the client.")
	redirect := flag.String("redirect", "", "The redirect `URI` of the client.")
	lifetime := flag.Duration("id-token-lifetime", time.Hour, "The `lifetime` of ID tokens.")
	flag.Parse()
	address, err := url.Parse(*issuer)
	if err != nil {
		log.Fatal(err)
	}
	storage.RegisterClients(storage.WebClient(*client, *secret, *redirect))
	users := &accounts{Storage: storage.NewStorage(storage.NewUserStore(*issuer)), lifetime: *lifetime}
	server := &http.Server{
		Addr: address.Host, Handler: exampleop.SetupServer(*issuer, users, slog.Default(), false), ReadHeaderTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}

// accounts are the users and clients of the example server.
type accounts struct {
	*storage.Storage
	lifetime time.Duration
}

// GetClientByClientID implements op.Storage.
func (a *accounts) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := a.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return client{Client: found, lifetime: a.lifetime}, nil
}

type client struct {
	op.Client
	lifetime time.Duration
}

// IDTokenLifetime implements op.Client.
func (c client) IDTokenLifetime() time.Duration { return c.lifetime }
