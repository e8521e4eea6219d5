// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/web/uiserver"
)

const (
	// decisionLifetime is how long a token of the page is valid: as long as one request takes, within the tolerance of clocks.
	decisionLifetime = 30 * time.Second
	// maxAsked bounds a request for approval, in bytes.
	maxAsked = 2 << 20
	// maxDecoded bounds what it decodes to, in bytes, as stream.Body counts it.
	maxDecoded = memoryshare.EventCost*maxAsked + 4<<20
	// maxDecisionCalls bounds the concurrent connections of the page to one agent.
	maxDecisionCalls = 16
)

// decisionClaims are the claims of a token with which the page calls an agent for a person. The agent accepts the token for one task.
type decisionClaims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Expiry   int64    `json:"exp"`
	IssuedAt int64    `json:"iat"`
	ID       string   `json:"jti"`
	Decides  struct {
		Task   string         `json:"task"`
		Owner  string         `json:"owner"`
		Issuer string         `json:"issuer"`
		Claims map[string]any `json:"claims"`
	} `json:"a2a-operator.dev/decides"`
}

// DecisionCallOptions are what the page needs to call agents.
type DecisionCallOptions struct {
	Agents crclient.Reader
	// Signer returns the key that signs tokens, nil while there is none.
	Signer func() tokenexchange.Signer
	Now    func() time.Time
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots returns the authorities that verify agents with TLS. Nil means the public ones.
	Roots func() *x509.CertPool
	// ClusterDomain is the DNS domain of the cluster, for which the certificates of agents with TLS are valid.
	ClusterDomain string
}

// DecisionCalls returns the function with which the page calls agents for people.
func DecisionCalls(o DecisionCallOptions) func(context.Context, *uiserver.AsPerson) (*client.Client, error) {
	transport := responseheader.Bound(&http.Transport{
		DialContext: o.Dial, DialTLSContext: o.dialTLS, MaxConnsPerHost: maxDecisionCalls,
		DisableKeepAlives: true, // the next decision comes minutes later
	})
	limits := stream.Limits{Once: true, FirstEvent: 10 * time.Second, Idle: 10 * time.Second, Turn: 15 * time.Second, MaxEvent: maxAsked, MaxAnswer: maxAsked}
	return func(ctx context.Context, p *uiserver.AsPerson) (*client.Client, error) {
		agent := &a2av1alpha1.Agent{}
		err := o.Agents.Get(ctx, crclient.ObjectKey{Namespace: p.Namespace, Name: p.Name}, agent)
		if apierrors.IsNotFound(err) || err == nil && (agent.Spec.Remote != nil) {
			return nil, uiserver.ErrNoAgent
		}
		if err != nil {
			return nil, err
		}
		keys := o.Signer()
		if keys == nil {
			return nil, errors.New("the manager has no key to sign tokens with yet")
		}
		at := o.Now()
		claims := decisionClaims{
			Issuer: sidecarconfig.PageIssuer, Subject: "page", Audience: []string{names.Audience(p.Name, p.Namespace)},
			IssuedAt: at.Unix(), Expiry: at.Add(decisionLifetime).Unix(), ID: rand.Text(),
		}
		claims.Decides.Task = p.Task
		claims.Decides.Owner = p.Owner
		claims.Decides.Issuer = p.Person.Issuer
		claims.Decides.Claims = p.Person.Claims
		token, err := keys.Sign(claims)
		if err != nil {
			return nil, err
		}
		address := &url.URL{Scheme: "http", Host: names.ServiceHost(p.Name, p.Namespace), Path: "/"}
		if agent.Spec.Access.TLS != nil {
			address.Scheme = "https"
			address.Host += "." + o.ClusterDomain
		}
		return client.New(client.Options{
			HTTP: stream.New(noRedirects{transport}, limits), Endpoint: client.NewEndpoint(client.RPCV10, address, "", false),
			Header: http.Header{"Authorization": {"Bearer " + token}}, Extensions: []string{approval.Extension},
			Reserve: stream.AtMost(maxDecoded),
		}), nil
	}
}

// dialAgents returns the function that connects to the Services of agents. A tenant may give such a Service any address, so it refuses
// those that only the manager may reach.
func dialAgents() (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	protected, err := protectedTargets()
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{Timeout: dialTimeout, Control: protected.OnlyServices}).DialContext, nil
}

func (o *DecisionCallOptions) roots() *x509.CertPool {
	if o.Roots == nil {
		return nil
	}
	return o.Roots()
}

// dialTLS connects to an agent with TLS, whose certificate the present authorities verify.
func (o *DecisionCallOptions) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := o.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secure, err := tlslimits.Client(ctx, conn, &tls.Config{ServerName: host, RootCAs: o.roots(), MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, fmt.Errorf("verify the agent: %w", err)
	}
	return secure, nil
}

// noRedirects refuses redirects, which would get the token.
type noRedirects struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t noRedirects) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest {
		_ = response.Body.Close()
		return nil, errors.New("the agent answers with a redirect")
	}
	return response, err
}
