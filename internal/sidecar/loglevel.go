// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"log/slog"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// logLevels are the levels of the sidecar configuration.
var logLevels = map[sidecarconfig.LogLevel]slog.Level{
	"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError,
}

// useLogLevel sets the level of the log to that of the sidecar configuration, or of the flag
// if it has none. The log has each change, at any level.
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
