// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// metrics is a client that opens a connection for each request, so that it adds no open connection to the measurement.
var metrics = http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// gauge reads one metric of a sidecar.
func (s *server) gauge(ctx context.Context, name string) (float64, error) {
	all, err := s.gauges(ctx, name)
	return all[name], err
}

// gauges reads the metrics of a sidecar that have no labels. It returns an error if one of names is missing.
func (s *server) gauges(ctx context.Context, names ...string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.health+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := metrics.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = number
		}
	}
	for _, name := range names {
		if _, found := all[name]; !found {
			return nil, fmt.Errorf("read metrics: %s is missing", name)
		}
	}
	return all, lines.Err()
}
