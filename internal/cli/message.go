// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// maxInput bounds a file or a text of a message, in bytes. Sidecars accept 8 MiB for the whole message.
const maxInput = 64 << 20

// partFlags are the flags for the parts of a message, in the order of the command line.
type partFlags struct {
	parts []partFlag
}

// partFlag is one part: the flag, its value and its media type. If the type is "", read detects it.
type partFlag struct {
	flag, value, mediaType string
}

// addTo adds the flags.
func (p *partFlags) addTo(flags *pflag.FlagSet) {
	flags.Var(&partValue{p, "text"}, "text", "`TEXT` of a part. May be repeated, as --file and --data: the message has the parts in this order.")
	flags.Var(&partValue{p, "file"}, "file", "File of a part, as `PATH` or URL. The agent fetches a URL itself.")
	flags.Var(&partValue{p, "data"}, "data", "`PATH` of a JSON file with the structured data of a part; - reads stdin.")
	flags.Var(&partValue{p, "media-type"}, "media-type", "Media `TYPE` of the part before this flag, such as application/pdf.")
}

// partValue is the pflag.Value of one of the flags.
type partValue struct {
	all  *partFlags
	flag string
}

// String returns the default.
func (*partValue) String() string { return "" }

// Type implements pflag.Value.
func (*partValue) Type() string { return "string" }

// Set adds a part, or the media type of the last one.
func (v *partValue) Set(value string) error {
	if v.flag != "media-type" {
		v.all.parts = append(v.all.parts, partFlag{flag: v.flag, value: value})
		return nil
	}
	last := len(v.all.parts) - 1
	if last < 0 || v.all.parts[last].mediaType != "" {
		return failure.New(failure.Usage, "it follows no --text, --file or --data")
	}
	if _, _, err := mime.ParseMediaType(value); err != nil || !strings.Contains(value, "/") {
		return failure.New(failure.Usage, "%q is not a media type", value)
	}
	v.all.parts[last].mediaType = value
	return nil
}

// message returns a message with the texts of the arguments and the parts of the flags. It reads the
// text "-" from in.
func (p *partFlags) message(texts []string, in io.Reader) (*a2a.Message, error) {
	all := p.parts
	if len(texts) > 0 {
		all = append([]partFlag{{flag: "text", value: strings.Join(texts, " ")}}, all...)
	}
	if len(all) == 0 {
		return nil, failure.New(failure.Usage, "the message has no content").
			WithHint("name a text, --file or --data; the text - is read from stdin")
	}
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser}
	for _, each := range all {
		part, err := each.read(in)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, part)
	}
	return m, nil
}

// read returns the part that the flag describes.
func (p *partFlag) read(in io.Reader) (a2a.Part, error) {
	switch p.flag {
	case "data":
		text, err := readInput(p.value, in)
		if err != nil {
			return a2a.Part{}, err
		}
		if !json.Valid(text) {
			return a2a.Part{}, failure.New(failure.Usage, "--data %s is not JSON", p.value)
		}
		return a2a.Part{Content: a2a.ContentData, Data: text, MediaType: p.mediaType}, nil
	case "file":
		return p.readFile()
	default:
		text := p.value
		if text == "-" {
			read, err := readInput("-", in)
			if err != nil {
				return a2a.Part{}, err
			}
			text = strings.ToValidUTF8(strings.TrimSuffix(string(read), "\n"), "\ufffd")
		}
		return a2a.Part{Content: a2a.ContentText, Text: text, MediaType: p.mediaType}, nil
	}
}

func (p *partFlag) readFile() (a2a.Part, error) {
	if strings.HasPrefix(p.value, "https://") || strings.HasPrefix(p.value, "http://") {
		return a2a.Part{Content: a2a.ContentURL, URL: p.value, MediaType: p.mediaType}, nil
	}
	content, err := readInput(p.value, nil)
	if err != nil {
		return a2a.Part{}, err
	}
	mediaType := p.mediaType
	if mediaType == "" {
		mediaType, _, _ = mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(p.value)))
	}
	if mediaType == "" {
		mediaType, _, _ = mime.ParseMediaType(http.DetectContentType(content))
	}
	return a2a.Part{Content: a2a.ContentRaw, Raw: content, Filename: filepath.Base(p.value), MediaType: mediaType}, nil
}

// readInput reads a file, or in if path is "-".
func readInput(path string, in io.Reader) ([]byte, error) {
	if path != "-" || in == nil {
		file, err := os.Open(path) //nolint:gosec // the user names the file
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read the message")
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read the message")
	}
	if len(content) > maxInput {
		return nil, failure.New(failure.Usage, "%s has more than %d bytes", path, maxInput).
			WithHint("publish the file, and name its URL with --file")
	}
	return content, nil
}
