// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// Limits of a request to the collector.
const (
	// maxResponse bounds the bytes that the client reads of a response. It closes the connection
	// of a longer response.
	maxResponse = 64 << 10
	// minRetryDelay and maxRetryDelay are the first and the longest delay between two attempts
	// (exponential backoff). maxRetryDelay also bounds the Retry-After of a collector.
	minRetryDelay = 500 * time.Millisecond
	maxRetryDelay = 10 * time.Second
	idleTimeout   = 30 * time.Second
)

// client posts spans to a collector. It implements otlptrace.Client.
type client struct {
	config    *Config
	transport *http.Transport
	// rejected is the rejection in the response to the last request. It needs no lock, because
	// the batch processor makes one request at a time.
	rejected rejection
	// stopped is canceled by Stop. Each request ends when stopped is canceled.
	stopped context.Context //nolint:containedctx // it lasts as long as the client
	stop    context.CancelFunc
}

func newClient(c *Config, o Options) *client {
	stopped, stop := context.WithCancel(context.Background())
	dialer := &net.Dialer{Timeout: c.Timeout}
	transport := &http.Transport{
		DialContext:         dialer.DialContext,
		DialTLSContext:      o.DialTLS,
		TLSHandshakeTimeout: c.Timeout,
		MaxIdleConns:        1,
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true,
	}
	if c.TLS != nil || o.DialTLS == nil {
		if o.Dial == nil {
			o.Dial = dialer.DialContext
		}
		transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, c, o.Dial, network, address)
		}
	}
	return &client{config: c, transport: responseheader.Bound(transport), stopped: stopped, stop: stop}
}

// dialTLS connects to a collector with Config.TLS, by default with the authorities of the system.
func dialTLS(ctx context.Context, c *Config, dial func(ctx context.Context, network, address string) (net.Conn, error), network, address string) (net.Conn, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		var err error
		if settings, err = c.TLS(); err != nil {
			return nil, err
		}
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to collector: %w", err)
	}
	settings.ServerName = host
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secure, err := tlslimits.Client(ctx, conn, settings)
	if err != nil {
		return nil, fmt.Errorf("TLS handshake with collector: %w", err)
	}
	return secure, nil
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.stop()
	c.transport.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It retries with exponential backoff until ctx ends,
// if the collector answers with a retryable status (OTLP, section "Failures") or does not
// answer.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)() // the export also ends with the client
	// TracesData has the same encoding as ExportTraceServiceRequest, whose package links gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err == nil && c.config.Gzip {
		body, err = compressed(body)
	}
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	c.rejected = rejection{}
	for delay := minRetryDelay; ; delay = min(2*delay, maxRetryDelay) {
		retryAfter, err := c.post(ctx, body)
		if err == nil || retryAfter < 0 {
			return err
		}
		select {
		case <-time.After(min(max(delay, retryAfter), maxRetryDelay)):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends spans once. If it returns an error, retryAfter is the delay that the collector asks
// for, 0 if it asks for none, and negative if the request must not be retried.
func (c *client) post(ctx context.Context, body []byte) (retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.Endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, fmt.Errorf("post spans: %w", err)
	}
	for name, value := range c.config.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.config.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.transport.RoundTrip(r)
	if err != nil {
		return 0, fmt.Errorf("post spans: %w", err)
	}
	answer, readErr := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if readErr == nil && len(answer) < maxResponse {
			c.rejected = rejectionOf(answer)
		}
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
		return time.Duration(seconds) * time.Second, fmt.Errorf("collector answered %s", http.StatusText(response.StatusCode))
	default:
		return -1, fmt.Errorf("collector answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
}

// rejection is the partial success of an export (ExportTraceServiceResponse.partial_success):
// the number of spans that a collector rejected although the status of its response is a
// success, and the reason.
type rejection struct {
	spans   int
	message string
}

// rejectionOf returns the rejection in a response, the zero value for none.
func rejectionOf(response []byte) (r rejection) {
	const partialSuccess, rejectedSpans, errorMessage = 1, 1, 2
	inner, _ := protowire.ConsumeBytes(field(response, partialSuccess, protowire.BytesType))
	if spans, n := protowire.ConsumeVarint(field(inner, rejectedSpans, protowire.VarintType)); n > 0 {
		r.spans = int(min(spans, maxQueue))
	}
	if text, n := protowire.ConsumeBytes(field(inner, errorMessage, protowire.BytesType)); n > 0 {
		r.message = string(text[:min(len(text), MaxValue)])
	}
	return r
}

// field finds the first field of an encoded message that has the number and the wire type. It
// returns the message from the value of this field on, or nil if there is no such field or the
// message is malformed.
func field(message []byte, number protowire.Number, wanted protowire.Type) []byte {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if found == number && kind == wanted {
			return message
		}
		n = protowire.ConsumeFieldValue(found, kind, message)
		if n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}

func compressed(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
