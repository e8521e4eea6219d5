// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceexport exports the spans of a program to a collector by OTLP over HTTP. The standard
// OTEL_* variables configure it. The manager and the sidecar use the package, which imports neither
// of them.
//
// A collector never delays a program: ended spans wait in a bounded queue, and are dropped if the
// queue is full. The package does not use the exporters of OpenTelemetry, because they link gRPC.
package traceexport

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// MaxValue is the maximum length of a text: in characters for an attribute of a span, in bytes for
// a message of the collector. Longer texts are truncated.
const MaxValue = 256

// Config configures a Provider. The zero value exports nothing.
type Config struct {
	// Endpoint is the URL to which the spans are posted, such as http://collector:4318/v1/traces.
	// If it is "", no spans are exported.
	Endpoint string
	// Headers are sent with each request. They may hold a credential.
	Headers map[string]string
	// Timeout bounds one request to the collector, 10 s by default.
	Timeout time.Duration
	// Gzip compresses requests.
	Gzip bool
	// TLS returns the TLS settings for a connection. It is called for each connection and reads its
	// files each time, because certificates are renewed. If TLS is nil, Options.DialTLS connects.
	TLS func() (*tls.Config, error)
	// Sampler decides which traces are recorded.
	Sampler Sampler
	// ServiceName and Attributes describe the program in each export. They take precedence over
	// those of Options.
	ServiceName string
	Attributes  map[string]string
	Batch       Batch
	// DraftAttributes adds the span attributes of OpenTelemetry's draft conventions for A2A.
	DraftAttributes bool
}

// Batch bounds the queue of spans and the exports. A field that is zero has its default.
type Batch struct {
	// MaxQueue bounds the spans in memory that have ended and are not exported yet, 2048 by
	// default.
	MaxQueue int
	// MaxExport bounds the spans of one request, 512 by default.
	MaxExport int
	// Delay is the time between two exports, 5 s by default.
	Delay time.Duration
	// ExportTimeout bounds one export with its retries, 30 s by default.
	ExportTimeout time.Duration
}

// Sampler decides which traces are recorded.
type Sampler struct {
	// Ratio is the fraction of traces to record, from 0 to 1. By default, it applies to traces that
	// begin in this program and whose first span has no link.
	Ratio float64
	// IgnoreParent makes Ratio apply to all traces. By default, Ratio does not apply to a trace
	// that began in another program: this program records it if the other program does. It does not
	// apply to a trace whose first span has a link either: the trace is recorded if the linked
	// trace is.
	IgnoreParent bool
}

// The defaults and the limits of a Config.
const (
	defaultTimeout       = 10 * time.Second
	defaultQueue         = 2048
	defaultExport        = 512
	defaultDelay         = 5 * time.Second
	defaultExportTimeout = 30 * time.Second
	maxQueue             = 1 << 16
	maxDuration          = 10 * time.Minute
)

// TracesPath is appended to a URL that names a collector without a path for traces.
const TracesPath = "/v1/traces"

func (c *Config) setDefaults() {
	b := &c.Batch
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	b.Delay = cmp.Or(b.Delay, defaultDelay)
	b.ExportTimeout = cmp.Or(b.ExportTimeout, defaultExportTimeout)
	b.MaxQueue = cmp.Or(b.MaxQueue, defaultQueue)
	b.MaxExport = cmp.Or(b.MaxExport, min(defaultExport, b.MaxQueue))
}

// ConfigOf returns base with the values of the OTEL_* variables, which take precedence. getenv is
// os.Getenv or a replacement for tests. If OTEL_SDK_DISABLED is true, the result is the zero
// Config. The error names each variable with an invalid value, and the action to take. It does not
// contain the values of headers.
//
// ConfigOf ignores the variables for OTLP over gRPC, and those for metrics and logs.
func ConfigOf(base Config, getenv func(string) string) (Config, error) {
	e := &environment{getenv: func(name string) string { return strings.TrimSpace(getenv(name)) }}
	c := base
	disabled := e.flag("OTEL_SDK_DISABLED")
	e.endpoint(&c)
	if headers, ok := e.pairs(e.signal("HEADERS")); ok {
		c.Headers = headers
	}
	if name, text := e.signal("PROTOCOL"); text != "" && text != "http/protobuf" {
		e.refusef("%s is %q, must be http/protobuf: use the collector's port for OTLP over HTTP, by default 4318", name, text)
	}
	if name, text := e.signal("COMPRESSION"); text != "" {
		c.Gzip = text == "gzip"
		if !c.Gzip && text != "none" {
			e.refusef("%s is %q, must be gzip or none", name, text)
		}
	}
	e.milliseconds(&c.Timeout, "OTEL_EXPORTER_OTLP_TIMEOUT")
	e.milliseconds(&c.Timeout, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
	e.tls(&c)
	e.sampler(&c.Sampler)
	e.resource(&c)
	e.batch(&c.Batch)
	e.propagators()
	if text := getenv("OTEL_SEMCONV_STABILITY_OPT_IN"); text != "" {
		c.DraftAttributes = slices.Contains(splitList(text), "gen_ai_latest_experimental")
	}
	if len(e.errs) > 0 {
		return Config{}, errors.Join(e.errs...)
	}
	if disabled {
		return Config{}, nil
	}
	return c, nil
}

// environment reads OTEL_* variables, and collects the errors about their values.
type environment struct {
	getenv func(string) string
	errs   []error
}

func (e *environment) refusef(format string, args ...any) {
	e.errs = append(e.errs, fmt.Errorf(format, args...))
}

// signal returns the name and the value of the variable for a setting of the exporter, such as
// ENDPOINT. The variable for traces (OTEL_EXPORTER_OTLP_TRACES_*) takes precedence over the
// variable for all signals (OTEL_EXPORTER_OTLP_*).
func (e *environment) signal(setting string) (name, value string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		name = prefix + setting
		if e.getenv(name) != "" {
			return name, e.getenv(name)
		}
	}
	return name, ""
}

func (e *environment) flag(name string) bool {
	text := e.getenv(name)
	if text != "" && !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
		e.refusef("%s is %q, must be true or false", name, text)
	}
	return strings.EqualFold(text, "true")
}

// endpoint sets c.Endpoint. If OTEL_TRACES_EXPORTER is none, the endpoint is "". If it is otlp and
// neither another variable nor c names an endpoint, the endpoint is the default of OTLP.
func (e *environment) endpoint(c *Config) {
	exporter := e.getenv("OTEL_TRACES_EXPORTER")
	if exporter != "" && exporter != "otlp" && exporter != "none" {
		e.refusef("OTEL_TRACES_EXPORTER is %q, must be otlp or none", exporter)
	}
	name, text := e.signal("ENDPOINT")
	if text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
			// The error does not contain the value, because it may contain a credential.
			e.refusef("%s must be an absolute http or https URL without a user, such as http://collector.observability:4318", name)
			return
		}
		c.Endpoint = text
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			c.Endpoint = u.JoinPath(TracesPath).String()
		}
	}
	if exporter == "otlp" {
		c.Endpoint = cmp.Or(c.Endpoint, "http://localhost:4318"+TracesPath)
	}
	if exporter == "none" {
		c.Endpoint = ""
	}
}

// pairs parses the text of the variable name, which has the format of W3C Baggage. It returns the
// decoded values by name, and false for an empty text.
func (e *environment) pairs(name, text string) (map[string]string, bool) {
	if text == "" {
		return nil, false
	}
	header := strings.HasSuffix(name, "_HEADERS")
	members := map[string]string{}
	for i, member := range splitList(text) {
		key, value, ok := strings.Cut(member, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil || !utf8.ValidString(key+value) || header && (!httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value)) {
			e.refusef("%s: member %d must be name=value, with other characters than those of a URL path percent-encoded", name, i+1)
			continue
		}
		members[key] = value
	}
	return members, true
}

func splitList(text string) []string {
	var members []string
	for member := range strings.SplitSeq(text, ",") {
		member = strings.TrimSpace(member)
		if member != "" {
			members = append(members, member)
		}
	}
	return members
}

func (e *environment) milliseconds(d *time.Duration, name string) {
	n := 0
	e.number(&n, name, 1, int(maxDuration/time.Millisecond))
	if n > 0 {
		*d = time.Duration(n) * time.Millisecond
	}
}

func (e *environment) number(n *int, name string, least, most int) {
	text := e.getenv(name)
	if text == "" {
		return
	}
	read, err := strconv.Atoi(text)
	if err != nil || read < least || read > most {
		e.refusef("%s is %q, must be a number from %d to %d", name, text, least, most)
		return
	}
	*n = read
}

// tls sets c.TLS to a function that reads the certificate authorities of the collector and the
// client certificate. It calls the function once, to find mistakes in the files.
func (e *environment) tls(c *Config) {
	caName, ca := e.signal("CERTIFICATE")
	certificateName, certificate := e.signal("CLIENT_CERTIFICATE")
	keyName, key := e.signal("CLIENT_KEY")
	if ca == "" && certificate == "" && key == "" {
		return
	}
	c.TLS = func() (*tls.Config, error) {
		settings := &tls.Config{MinVersion: tls.VersionTLS12}
		if ca != "" {
			pem, err := os.ReadFile(ca)
			settings.RootCAs = x509.NewCertPool()
			if err != nil || !settings.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("%s is %q, must be a readable file of PEM certificates", caName, ca)
			}
		}
		if certificate != "" || key != "" {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			if err != nil {
				return nil, fmt.Errorf("%s and %s must be readable PEM files of a certificate and its key: %w", certificateName, keyName, err)
			}
			settings.Certificates = []tls.Certificate{pair}
		}
		return settings, nil
	}
	if _, err := c.TLS(); err != nil {
		e.errs = append(e.errs, err)
	}
}

func (e *environment) sampler(s *Sampler) {
	name := e.getenv("OTEL_TRACES_SAMPLER")
	text := e.getenv("OTEL_TRACES_SAMPLER_ARG")
	kind, parentBased := strings.CutPrefix(name, "parentbased_")
	switch kind {
	case "":
		if text != "" {
			e.refusef("OTEL_TRACES_SAMPLER_ARG needs OTEL_TRACES_SAMPLER: set it to parentbased_traceidratio, or remove the argument")
		}
		return
	case "always_on":
		s.Ratio = 1
	case "always_off":
		s.Ratio = 0
	case "traceidratio":
		ratio, err := strconv.ParseFloat(cmp.Or(text, "1"), 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			e.refusef("OTEL_TRACES_SAMPLER_ARG is %q, must be a number from 0 to 1 such as 0.1", text)
		}
		s.Ratio = ratio
	default:
		e.refusef("OTEL_TRACES_SAMPLER is %q, must be always_on, always_off or traceidratio, or one of them after parentbased_", name)
	}
	s.IgnoreParent = !parentBased
}

func (e *environment) resource(c *Config) {
	if attributes, ok := e.pairs("OTEL_RESOURCE_ATTRIBUTES", e.getenv("OTEL_RESOURCE_ATTRIBUTES")); ok {
		c.Attributes = attributes
	}
	c.ServiceName = cmp.Or(e.getenv("OTEL_SERVICE_NAME"), c.Attributes["service.name"], c.ServiceName)
}

func (e *environment) batch(b *Batch) {
	e.number(&b.MaxQueue, "OTEL_BSP_MAX_QUEUE_SIZE", 1, maxQueue)
	e.number(&b.MaxExport, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, cmp.Or(b.MaxQueue, defaultQueue))
	e.milliseconds(&b.Delay, "OTEL_BSP_SCHEDULE_DELAY")
	e.milliseconds(&b.ExportTimeout, "OTEL_BSP_EXPORT_TIMEOUT")
}

// propagators accepts only the formats of the trace context that the programs read and write:
// tracecontext and baggage.
func (e *environment) propagators() {
	for _, name := range splitList(e.getenv("OTEL_PROPAGATORS")) {
		if name != "tracecontext" && name != "baggage" {
			e.refusef("OTEL_PROPAGATORS names %q, must be tracecontext,baggage: remove the others", name)
		}
	}
}
