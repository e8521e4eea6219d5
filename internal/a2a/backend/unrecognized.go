// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxExcerpt bounds an excerpt, in bytes.
	maxExcerpt = 200
	// maxExamined bounds the part of a text from which an excerpt is made, in bytes. It
	// exceeds maxExcerpt, so that a credential is recognized before the excerpt cuts it.
	maxExamined = 4 << 10
	// minFragment is the minimum length, in bytes, of a truncated secret at the end of a
	// text. A shorter one is not replaced: it reveals little and may be a word.
	minFragment = 6
	ellipsis    = "..."
	redacted    = "[redacted]"
)

// Unrecognized returns the failure of a turn in which the agent sent something that the
// backend does not understand. Every backend fails such a turn instead of skipping the
// unknown part, so that a lost answer does not look like a success. The reason names the
// part that was not understood, its position in the answer (a line or the number of an
// event) and the cause. Unrecognized adds the Excerpt of received without the secrets.
// received must be text of the body of a successful response and not of a header.
func Unrecognized(reason string, received []byte, err error, secrets ...string) *TurnError {
	excerpt := cmp.Or(Excerpt(received, secrets...), "nothing")
	return &TurnError{State: a2a.StateFailed, Reason: reason + "; received: " + excerpt, Err: err, Unrecognized: true}
}

// Excerpt returns the beginning of a text of another program, for a status message: at most
// 200 bytes of valid UTF-8 on one line, without control or other invisible characters. It
// replaces the secrets by [redacted], and also every text that looks like a credential: a
// bearer token, a JWT, an API key, the password in a URL, and the value of a member named
// token, password, apiKey or similar.
func Excerpt(text []byte, secrets ...string) string {
	cut := len(text) > maxExamined
	if cut {
		text = text[:maxExamined]
	}
	s := string(text)
	for _, secret := range secrets {
		for _, spelled := range spellings(secret) {
			s = redactSecret(s, spelled)
		}
	}
	s = oneLine(s)
	for _, p := range credentials {
		s = p.pattern.ReplaceAllString(s, p.replacement)
	}
	if !cut && len(s) <= maxExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:min(len(s), maxExcerpt-len(ellipsis))], "") + ellipsis
}

// redactSecret replaces a secret in a text. The end of the text may have been cut within a
// secret, so redactSecret also replaces a beginning of the secret there.
func redactSecret(text, secret string) string {
	text = strings.ReplaceAll(text, secret, redacted)
	for n := min(len(text), len(secret)-1); n >= minFragment; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n] + redacted
		}
	}
	return text
}

// spellings returns the forms in which a program may write a secret: unchanged, and as in a
// JSON string. Encoders of JSON differ in whether they escape slashes and the characters of
// HTML, so each combination is a form. spellings returns nil for "".
func spellings(secret string) []string {
	if secret == "" {
		return nil
	}
	all := []string{secret}
	for _, html := range []bool{false, true} {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(html)
		if err := encoder.Encode(secret); err != nil {
			continue
		}
		quoted := strings.TrimSuffix(out.String(), "\n")
		quoted = quoted[1 : len(quoted)-1]
		all = append(all, quoted, strings.ReplaceAll(quoted, "/", `\/`))
	}
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// oneLine replaces each run of white space and unprintable characters by one space, and
// each byte of invalid UTF-8 by U+FFFD.
func oneLine(s string) string {
	var out strings.Builder
	gap := false
	for _, r := range s {
		if r == ' ' || !unicode.IsPrint(r) {
			gap = true
			continue
		}
		if gap && out.Len() > 0 {
			out.WriteByte(' ')
		}
		gap = false
		out.WriteRune(r)
	}
	return out.String()
}

// credentials are the patterns of credentials that Excerpt replaces.
var credentials = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)[ :]+[a-z0-9._~+/=-]+`), "$1 " + redacted},
	{regexp.MustCompile(`\beyJ[\w-]{8,}(\.[\w-]*)*`), redacted},
	{regexp.MustCompile(`\b(sk|pk|ghp|gho|xox[abp])[-_][\w-]{8,}`), redacted},
	{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + redacted + "@"},
	{regexp.MustCompile(`(?i)([\w.-]*(?:(?:authorization|cookie|passw(?:or)?d|secret|api[_-]?key|credential)[\w.-]*|token)\\*["']?\s*[:=]\s*\[?\s*)` +
		`(\\*"(?:[^"\\]|\\[^"])*\\*"?|'[^']*'?|[^\s,;}&"'\]]+)`), "${1}" + redacted},
}
