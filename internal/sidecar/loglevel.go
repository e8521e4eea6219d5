// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"log/slog"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// logLevels maps the levels of the sidecar configuration to levels of slog.
var logLevels = map[sidecarconfig.LogLevel]slog.Level{
	"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError,
}

// useLogLevel sets the level of the log to the level in the sidecar configuration, or
// without one to the level of the flag. It logs each change, whatever the two levels are.
func (s *Sidecar) useLogLevel(configured sidecarconfig.LogLevel) {
	if s.options.Level == nil {
		return
	}
	next, found := logLevels[configured]
	if !found {
		next = s.options.LogLevel
	}
	if former := s.options.Level.Level(); former != next {
		lower := min(former, next)
		s.options.Level.Set(lower)
		write := s.log.Info
		switch {
		case lower >= slog.LevelError:
			write = s.log.Error
		case lower >= slog.LevelWarn:
			write = s.log.Warn
		}
		write("log level changed", "new_level", next.String(), "former_level", former.String())
		s.options.Level.Set(next)
	}
}
