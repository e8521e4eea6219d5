// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// wireGolden is the file with the results of every codec: the encodings of the named
// values, and hashes of the encodings of generated values. Errors are recorded by
// reason and field. Their messages are hashed in the last column and listed in the
// last section, so that a new wording changes nothing else.
var wireGolden = filepath.Join("testdata", "wire.txt.gz")

// TestWireBytesEqualTheRecordedCorpus compares every codec with the recorded corpus.
// UPDATE_GOLDEN=1 records it again; WIRE_TRACE=<file> writes every single case.
func TestWireBytesEqualTheRecordedCorpus(t *testing.T) {
	if raceEnabled {
		t.Skip("the codecs have no goroutines, and the race detector makes this test 15 times slower; make test runs it without")
	}
	r := newRecorder(t)
	r.encoders()
	r.cards()
	r.decoders("JSON", jsonDecoders, func(kind string) [][]byte { return seeds(kind, false) }, mutations)
	r.decoders("protobuf", protobufDecoders, func(kind string) [][]byte { return seeds(kind, true) }, protobufMutations)
	r.listMessages()
	got := r.lines.String()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		write(t, got)
		return
	}
	want := read(t)
	if got == want {
		return
	}
	wanted, gotten := strings.Split(want, "\n"), strings.Split(got, "\n")
	shown := 0
	for _, line := range wanted {
		if !slices.Contains(gotten, line) && shown < 20 {
			t.Errorf("missing: %.300s", line)
			shown++
		}
	}
	for _, line := range gotten {
		if !slices.Contains(wanted, line) && shown < 40 {
			t.Errorf("new:     %.300s", line)
			shown++
		}
	}
	t.Errorf("the wire differs from %s", wireGolden)
}

// recorder collects the lines of the corpus.
type recorder struct {
	t     *testing.T
	lines strings.Builder
	// trace receives every single case; nil for no trace.
	trace    io.Writer
	messages map[string]bool
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{t: t, messages: map[string]bool{}}
	if path := os.Getenv("WIRE_TRACE"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		r.trace = file
	}
	return r
}

func (r *recorder) tracef(format string, args ...any) {
	if r.trace != nil {
		_, _ = fmt.Fprintf(r.trace, format, args...)
	}
}

func (r *recorder) linef(format string, args ...any) { fmt.Fprintf(&r.lines, format+"\n", args...) }

// generated is the number of values that each encoder's hash covers.
const generated = 500

func (r *recorder) encoders() {
	for _, kind := range slices.Sorted(maps.Keys(encoders)) {
		for _, dialect := range slices.Sorted(maps.Keys(encoders[kind])) {
			label := "encode " + kind + " " + dialect
			f := encoders[kind][dialect]
			values := named(kind)
			for _, name := range slices.Sorted(maps.Keys(values)) {
				r.linef("%s/%s: %q", label, name, f(nil, values[name]))
			}
			g, sum := generator{random()}, sha256.New()
			for range generated {
				text := f([]byte("before"), g.generate(kind))
				_, _ = io.WriteString(sum, strconv.Quote(string(text))+"\n")
				r.tracef("%s: %q\n", label, text)
			}
			r.linef("%s/generated: %s", label, digest(sum))
		}
	}
}

// cards records the form of a card for each version.
func (r *recorder) cards() {
	whole := &card.Card{
		Name: "Echo \u2028<é>", Description: "Says it", Version: "1", Provider: &card.Provider{Organization: "o", URL: "https://o.example"},
		IconURL: "https://i.example", DocumentationURL: "https://d.example",
		Capabilities: card.Capabilities{
			Streaming: true, PushNotifications: true, ExtendedCard: true,
			Extensions: []card.Extension{{URI: "https://x.example", Description: "x", Required: true, Params: card.RawObject(`{"a":1.0}`)}},
		},
		DefaultInputModes: []string{"text/plain"},
		Skills: []card.Skill{
			{ID: "a", Name: "A", Tags: []string{"t"}, InputSchema: card.RawObject(`{"type":"object"}`), Security: []card.Requirement{{"key": nil}, {"oauth": {"s"}}}},
			{ID: "b", Name: "B", Extended: true, Examples: []string{"e"}, InputModes: []string{"a/b"}},
		},
		SecuritySchemes: []card.SecurityScheme{
			{Name: "key", Type: card.SchemeAPIKey, In: "header", ParameterName: "X-Key"},
			{Name: "bearer", Type: card.SchemeHTTP, Scheme: "bearer", BearerFormat: "JWT", Description: "d"},
			{Name: "oauth", Type: card.SchemeOAuth2, Scopes: []string{"s"}, MetadataURL: "https://m.example", Flow: &card.OAuthFlow{
				Type: card.FlowAuthorizationCode, AuthorizationURL: "https://a.example", TokenURL: "https://t.example", Scopes: map[string]string{"s": "S"}, PKCERequired: true,
			}},
			{Name: "oidc", Type: card.SchemeOpenIDConnect, OpenIDConnectURL: "https://c.example"},
			{Name: "mtls", Type: card.SchemeMutualTLS},
		},
	}
	optional := *whole
	optional.SecurityOptional, optional.Bindings = true, card.Bindings
	all := map[string]*card.Card{
		"empty": {}, "whole": whole.At(card.NewBase("https://agents.example.com/echo/")), "extended": whole.Extended(),
		"optional": optional.At(card.NewBase("https://echo.example.com")), "public": whole.Public(),
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for form := range card.Forms {
			text, err := card.Render(all[name], card.Form(form), card.Signature{Protected: "p", Signature: "s"})
			r.linef("card %s/%d: %q %v", name, form, text, err)
			parsed, err := card.Parse(text)
			r.linef("parsed card %s/%d: %s %v", name, form, dump(parsed), err)
		}
		texts, err := card.SignedTexts(all[name])
		r.linef("readings of card %s: %q %v", name, texts, err)
		digest, err := card.Digest(all[name])
		r.linef("digest of card %s: %s %v", name, digest, err)
	}
}

// seeds returns the texts that the decoders of a kind read before and after
// mutation.
func seeds(kind string, binary bool) [][]byte {
	var all [][]byte
	seedValues := seedValues()[kind]
	for _, encoded := range slices.Sorted(maps.Keys(seedValues)) {
		for _, dialect := range slices.Sorted(maps.Keys(encoders[encoded])) {
			if strings.HasSuffix(dialect, "gRPC") != binary {
				continue
			}
			for _, value := range seedValues[encoded] {
				all = append(all, encoders[encoded][dialect](nil, value))
			}
		}
	}
	if !binary {
		for _, text := range handwritten[kind] {
			all = append(all, []byte(text))
		}
	}
	return all
}

func (r *recorder) decoders(form string, all map[string]map[string]decode, seeds func(kind string) [][]byte, mutations func([]byte, func([]byte))) {
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		texts := seeds(kind)
		for _, name := range slices.Sorted(maps.Keys(all[kind])) {
			for i, text := range texts {
				label := fmt.Sprintf("decode %s %s %s/%d", form, kind, name, i)
				r.decodeAll(label, all[kind][name], text, mutations)
			}
		}
	}
}

// decodeAll decodes a text and its mutations. It records a hash of the outcome for the text, a hash of all outcomes,
// and a hash of all messages of errors.
func (r *recorder) decodeAll(label string, f decode, text []byte, mutations func([]byte, func([]byte))) {
	outcomes, messages := sha256.New(), sha256.New()
	first, count := "", 0
	mutations(text, func(input []byte) {
		outcome, message := r.outcome(f, input)
		if count++; count == 1 {
			first = outcome
		}
		_, _ = io.WriteString(outcomes, outcome+"\n")
		_, _ = io.WriteString(messages, message+"\n")
		r.tracef("%s of %q: %s %s\n", label, input, outcome, message)
	})
	sum := sha256.Sum256([]byte(first))
	r.linef("%s: %s, of %d %s, messages %s", label, hex.EncodeToString(sum[:6]), count, digest(outcomes), digest(messages))
}

func (r *recorder) outcome(f decode, input []byte) (outcome, message string) {
	value, err := f(input)
	if err == nil {
		return dump(value), ""
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		r.messages[string(problem.Reason)+": "+problem.Message] = true
		return "refused: " + string(problem.Reason) + " at " + problem.Field, problem.Message
	}
	r.messages[err.Error()] = true
	return "refused", err.Error()
}

func (r *recorder) listMessages() {
	var last string
	for _, message := range slices.Sorted(maps.Keys(r.messages)) {
		// The position in the text is not part of the wording.
		if message = strings.TrimRight(message, "0123456789"); message != last {
			r.linef("message %s", message)
		}
		last = message
	}
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:6]) }

// dump returns a value and everything to which it points as text.
func dump(value any) string {
	var out strings.Builder
	dumpTo(&out, reflect.ValueOf(value))
	return out.String()
}

func dumpTo(out *strings.Builder, v reflect.Value) {
	switch {
	case !v.IsValid():
		out.WriteString("nil")
	case v.Type() == reflect.TypeFor[time.Time]():
		fmt.Fprint(out, v.Interface())
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		dumpTo(out, v.Elem())
	case v.Kind() == reflect.Struct:
		out.WriteByte('{')
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				out.WriteString(v.Type().Field(i).Name + ":")
				dumpTo(out, v.Field(i))
				out.WriteByte(' ')
			}
		}
		out.WriteByte('}')
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		fmt.Fprintf(out, "%q", v.Bytes())
	case v.Kind() == reflect.Slice:
		out.WriteByte('[')
		for i := range v.Len() {
			dumpTo(out, v.Index(i))
			out.WriteByte(' ')
		}
		out.WriteByte(']')
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			fmt.Fprintf(out, "%q:", key)
			dumpTo(out, v.MapIndex(key))
		}
	case v.Kind() == reflect.String:
		fmt.Fprintf(out, "%q", v.String())
	default:
		fmt.Fprint(out, v.Interface())
	}
}

func read(t *testing.T) string {
	t.Helper()
	packed, err := os.ReadFile(wireGolden)
	if err != nil {
		t.Fatal(err)
	}
	unpacker, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacker)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, text string) {
	t.Helper()
	var packed bytes.Buffer
	packer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(packer, text); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wireGolden, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
