// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// maxSettings bounds a file with settings, in bytes.
const maxSettings = 64 << 10

// settings reads the values of flags from environment variables and a file, and records the source of each value: flag,
// variable, file or default (a2a-cli specification, section 8.3). It does not read a file .env in the working
// directory: the author of that directory could name an agent in the file, to which the CLI would then send
// credentials.
type settings struct {
	// file is the value of --config.
	file string
	// sources are the sources of values other than defaults, by the name of the flag.
	sources map[string]string
}

// notVariables are the flags that no variable and no file sets (a2a-cli specification, section 7.2).
var notVariables = []string{"stream", "help", "version", "text", "file", "data", "media-type"}

// Variable returns the name of the variable that sets a flag of a command, "" for none.
func Variable(f *pflag.Flag) string {
	if slices.Contains(notVariables, f.Name) {
		return ""
	}
	return "A2ACLI_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// isSecret reports whether the value of a flag is a credential.
func isSecret(f *pflag.Flag) bool {
	return slices.Contains([]string{"bearer", "api-key", "svc-param", "registry-token", "webhook-token", "webhook-credentials"}, f.Name)
}

// warnOfMode warns if the mode of a file with a credential allows users other than the owner to read or change the file. Users
// who can change it can also name the agent to which the CLI sends the credential.
func (a *app) warnOfMode(file string) {
	info, err := os.Stat(file)
	if err != nil {
		return
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o044 != 0:
		a.warnf("Warning: other users of the machine can read the credential in %s: chmod 600 %s", file, quoted(file))
	case mode&0o022 != 0:
		a.warnf("Warning: other users of the machine can change the file with the credential, %s: chmod 600 %s", file, quoted(file))
	}
}

// read returns the settings of the file, and its path. Without --config, it returns no settings and the path "" if the
// file does not exist.
func (s *settings) read() (values map[string]string, file string, err error) {
	file = s.file
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, "", nil //nolint:nilerr // a user without a home has no file
		}
		file = filepath.Join(home, ".config", "a2a-cli", ".env")
	}
	text, err := readLimited(file, nil, maxSettings)
	switch {
	case s.file == "" && errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", failure.Wrap(failure.Usage, err, "read the settings")
	case len(text) > maxSettings:
		return nil, "", failure.New(failure.Usage, "the settings in %s have more than %d bytes", file, maxSettings)
	}
	values, err = parseSettings(text, file)
	return values, file, err
}

// parseSettings reads lines of NAME=value. Values may be in quotes, and lines may begin with export.
func parseSettings(text []byte, file string) (map[string]string, error) {
	values := map[string]string{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		setting := strings.TrimPrefix(strings.TrimSpace(string(line)), "export ")
		if setting == "" || setting[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, failure.New(failure.Usage, "line %d of %s is not NAME=value", number, file)
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[strings.TrimSpace(name)] = value
	}
	return values, nil
}
