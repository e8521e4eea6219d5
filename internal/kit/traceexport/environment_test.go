// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigOfReadsTheVariables(t *testing.T) {
	on := Config{Endpoint: "http://base/v1/traces", Sampler: Sampler{Ratio: 0.1}}
	for name, tt := range map[string]struct {
		base      Config
		variables map[string]string
		want      Config
	}{
		"off by default": {},
		"base":           {base: on, want: on},
		"disabled":       {base: on, variables: map[string]string{"OTEL_SDK_DISABLED": "TRUE"}},
		"no exporter":    {base: on, variables: map[string]string{"OTEL_TRACES_EXPORTER": "none"}, want: Config{Sampler: on.Sampler}},
		"default endpoint": {
			variables: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"},
			want:      Config{Endpoint: "http://localhost:4318/v1/traces"},
		},
		"endpoint of all signals": {
			base: on, variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:4318/otlp/"},
			want: Config{Endpoint: "https://c:4318/otlp/v1/traces", Sampler: on.Sampler},
		},
		"everything": {
			base: on,
			variables: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://no", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/t", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
				"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20a,x=1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
				"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25", "OTEL_SERVICE_NAME": "mine",
				"OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=a%2Cb", "OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10",
				"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_EXPORT_TIMEOUT": "200", "OTEL_PROPAGATORS": "baggage,tracecontext",
				"OTEL_SEMCONV_STABILITY_OPT_IN": "http,gen_ai_latest_experimental",
			},
			want: Config{
				Endpoint: "http://c/t", Headers: map[string]string{"authorization": "Bearer a", "x": "1"}, Timeout: 1500 * time.Millisecond, Gzip: true,
				Sampler: Sampler{Ratio: 0.25, IgnoreParent: true}, ServiceName: "mine", Attributes: map[string]string{"service.name": "other", "team": "a,b"},
				Batch:           Batch{MaxQueue: 100, MaxExport: 10, Delay: 100 * time.Millisecond, ExportTimeout: 200 * time.Millisecond},
				DraftAttributes: true,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ConfigOf(tt.base, func(name string) string { return tt.variables[name] })
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("ConfigOf() error = %v, difference (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestConfigOfRefusesMalformedVariables(t *testing.T) {
	for variable, want := range map[string]string{
		"OTEL_SDK_DISABLED=1":                             "must be true or false",
		"OTEL_TRACES_EXPORTER=jaeger":                     "must be otlp or none",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":      "OTEL_EXPORTER_OTLP_ENDPOINT must be an absolute http or https URL",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://secret:pw@c/": "without a user",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                `is "grpc", must be http/protobuf`,
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_HEADERS=secret":               "member 1 must be name=value",
		"OTEL_EXPORTER_OTLP_HEADERS=a=secret%0d%0ab":      "member 1 must be name=value",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd":             "must be gzip or none",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                  "must be a number from 1 to 600000",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere/ca.pem":  "must be a readable file of PEM certificates",
		"OTEL_EXPORTER_OTLP_CLIENT_KEY=/nowhere/key.pem":  "OTEL_EXPORTER_OTLP_CLIENT_KEY must be readable PEM files",
		"OTEL_TRACES_SAMPLER=xray":                        "must be always_on",
		"OTEL_TRACES_SAMPLER_ARG=0.1":                     "needs OTEL_TRACES_SAMPLER",
		"OTEL_RESOURCE_ATTRIBUTES=a":                      "member 1 must be name=value",
		"OTEL_RESOURCE_ATTRIBUTES=a=%ff":                  "member 1 must be name=value",
		"OTEL_BSP_MAX_QUEUE_SIZE=1000000":                 "must be a number from 1 to 65536",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4096":             "must be a number from 1 to 2048",
		"OTEL_BSP_SCHEDULE_DELAY=0":                       "must be a number from 1",
		"OTEL_PROPAGATORS=b3":                             "must be tracecontext,baggage",
	} {
		name, value, _ := strings.Cut(variable, "=")
		_, err := ConfigOf(Config{}, func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error = %v, want %q", variable, err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %q repeats a value that may be a credential", variable, err)
		}
	}
	_, err := ConfigOf(Config{}, func(n string) string {
		return map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "NaN"}[n]
	})
	if err == nil {
		t.Error("a ratio that is not a number is accepted")
	}
}
