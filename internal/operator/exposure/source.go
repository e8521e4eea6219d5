// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/operator/polledfile"
)

// maxFile bounds the size of the file, in bytes. A ConfigMap is not larger.
const maxFile = 1 << 20

// Source provides the rules of a file.
type Source = polledfile.Source[Rules]

// NewSource returns a Source that has read the file. It returns an error if the file is missing or has a
// mistake. The manager must not start then, because it would delete the routes of all Agents.
func NewSource(file string, log logr.Logger) (*Source, error) {
	text := ""
	return polledfile.New(polledfile.Config[Rules]{
		File: file, Content: "rules of exposure", Refused: refused, Log: log,
		Read: func(last *Rules) (*Rules, error) {
			rules, present, err := read(file)
			if err != nil || last != nil && present == text {
				return last, err
			}
			text = present
			log.Info("rules of exposure changed", "file", file)
			return rules, nil
		},
	})
}

func read(file string) (*Rules, string, error) {
	text, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, "", fmt.Errorf("read rules of exposure: %w", err)
	}
	rules, err := Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("read rules of exposure: %s %w", file, err)
	}
	return rules, string(text), nil
}

var refused = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_exposure_file_refused",
	Help: "Whether the file with the rules of exposure is refused (1), so that the former rules stay in use, or not (0).",
})

// Collectors returns the metric, which all Sources of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{refused} }
