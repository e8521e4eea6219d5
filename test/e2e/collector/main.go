// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command collector is an OpenTelemetry Collector for the end-to-end tests, with an OTLP
// receiver and an exporter that appends spans to a file as OTLP JSON. It has its own module
// because of its dependencies.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "OpenTelemetry Collector of the end-to-end tests"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()}, DefaultScheme: "file",
		}},
	})
	if err := command.Execute(); err != nil {
		log.Fatal(err)
	}
}

func factories() (f otelcol.Factories, err error) {
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, fmt.Errorf("register receivers: %w", err)
	}
	toFile := exporter.NewFactory(component.MustNewType("file"), func() component.Config { return &fileConfig{} },
		exporter.WithTraces(newFileExporter, component.StabilityLevelDevelopment))
	if f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](toFile); err != nil {
		return f, fmt.Errorf("register exporters: %w", err)
	}
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, nil
}

// fileConfig is the configuration of the exporter.
type fileConfig struct {
	Path string `mapstructure:"path"`
}

// fileExporter appends each request as one line to a file.
type fileExporter struct {
	mu   sync.Mutex
	file *os.File
	path string
	json ptrace.JSONMarshaler
}

func newFileExporter(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Traces, error) {
	return &fileExporter{path: c.(*fileConfig).Path}, nil
}

// Start implements component.Component.
func (e *fileExporter) Start(context.Context, component.Host) (err error) {
	e.file, err = os.OpenFile(e.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// Shutdown implements component.Component.
func (e *fileExporter) Shutdown(context.Context) error { return e.file.Close() }

// Capabilities implements consumer.Traces.
func (*fileExporter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeTraces implements consumer.Traces.
func (e *fileExporter) ConsumeTraces(_ context.Context, spans ptrace.Traces) error {
	line, err := e.json.MarshalTraces(spans)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err = e.file.Write(append(line, '\n'))
	return err
}
