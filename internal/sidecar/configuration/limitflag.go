// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// limitNames are the fields of spec.limits that --limit can set.
var limitNames = []string{
	"requests.perSecond", "requests.burst", "totalRequests.perSecond", "totalRequests.burst",
	"failedAuthentications.perSecond", "failedAuthentications.burst",
	"turns.max", "turns.maxPerCaller", "turns.maxQueued", "turns.queueTimeout",
	"streams.max", "streams.maxPerCaller", "tokens.perHour", "tokens.perCallerPerHour", "maxBodyBytes",
}

// setLimit applies a value of --limit, such as turns.max=64, to limits.
func setLimit(limits *sidecarconfig.Limits, flag string) error {
	name, value, found := strings.Cut(flag, "=")
	if !found || !slices.Contains(limitNames, name) {
		return fmt.Errorf("--limit is %q, must be name=value with one of %s", flag, strings.Join(limitNames, ", "))
	}
	text := strconv.Quote(value)
	if name != "turns.queueTimeout" {
		number, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("--limit is %q, must have a whole number", flag)
		}
		text = strconv.Itoa(number)
	}
	// The value is decoded in the same way as in the sidecar configuration.
	path := strings.Split(name, ".")
	for _, member := range slices.Backward(path) {
		text = `{"` + member + `":` + text + `}`
	}
	if err := json.Unmarshal([]byte(text), limits); err != nil {
		return fmt.Errorf("--limit is %q: %w", flag, err)
	}
	return nil
}

func (o *Options) validateLimits() error {
	var limits sidecarconfig.Limits
	var errs []error
	for _, flag := range o.Limits {
		errs = append(errs, setLimit(&limits, flag))
	}
	return errors.Join(append(errs, limits.Validate())...)
}
