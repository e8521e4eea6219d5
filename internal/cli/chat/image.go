// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // decodes GIF
	_ "image/jpeg" // decodes JPEG
	"image/png"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxImageBytes and maxImagePixels bound an image that the chat shows. Other images appear as a file only.
	maxImageBytes, maxImagePixels = 8 << 20, 16 << 20
	// maxImageColumns and maxImageRows bound the size of an image in the terminal, in cells.
	maxImageColumns, maxImageRows = 40, 12
	// maxShownImages bounds the images of a turn that the chat shows.
	maxShownImages = 20
	// kittyChunk is the largest part of an image in one sequence of the kitty protocol, in bytes of base64.
	kittyChunk = 4096
)

// imageProtocol is how a terminal receives images, "" for a terminal without images.
type imageProtocol string

const (
	protocolKitty  imageProtocol = "kitty"
	protocolITerm2 imageProtocol = "iterm2"
)

// imagesOf returns the protocol of the terminal that the environment names. It returns "" inside of a multiplexer, which does
// not pass images on. The chat does not ask the terminal, because an answer could mix with the keys of the user.
func imagesOf(environment []string) imageProtocol {
	variable := func(name string) string {
		for _, each := range slices.Backward(environment) {
			if value, ok := strings.CutPrefix(each, name+"="); ok {
				return value
			}
		}
		return ""
	}
	term := variable("TERM")
	program := variable("TERM_PROGRAM")
	switch {
	case variable("TMUX") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux"):
		return ""
	case term == "xterm-kitty" || term == "xterm-ghostty" || program == "ghostty":
		return protocolKitty
	case program == "iTerm.app" || program == "WezTerm" || program == "mintty":
		return protocolITerm2
	}
	return ""
}

// imageRows returns rows that show an image, at most the given number, or nil for a part that is no image which the chat
// shows. The last row has the sequence that draws the image above it: an image that is drawn first would be erased with the
// rest of its rows. The rows must be printed together.
func imageRows(p *a2a.Part, protocol imageProtocol, width, most int) []string {
	columns, rows := imageSize(p, width, min(most, maxImageRows)-1)
	if protocol == "" || rows < 1 {
		return nil
	}
	sequence := iTermImage(p.Raw, columns, rows)
	if protocol == protocolKitty {
		sequence = kittyImage(p.Raw, columns, rows)
		if sequence == "" {
			return nil
		}
	}
	draw := ansi.SaveCursor + ansi.CursorUp(rows) + ansi.CursorForward(len(indent)) + sequence + ansi.RestoreCursor
	return append(make([]string, rows), draw)
}

// imageSize returns the size of an image in cells, which are twice as high as wide. It returns 0 if the part is no image of a
// bounded size.
func imageSize(p *a2a.Part, width, most int) (columns, rows int) {
	if len(p.Raw) > maxImageBytes || most < 1 {
		return 0, 0
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(p.Raw))
	if err != nil || config.Width < 1 || config.Height < 1 || config.Width > maxImagePixels/config.Height {
		return 0, 0
	}
	columns = max(min(width-len(indent), maxImageColumns), 1)
	rows = max(columns*config.Height/config.Width/2, 1)
	if rows > most {
		rows = most
		columns = min(max(2*rows*config.Width/config.Height, 1), columns)
	}
	return columns, rows
}

func iTermImage(content []byte, columns, rows int) string {
	return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d;width=%d;height=%d:%s\a", len(content), columns, rows, base64.StdEncoding.EncodeToString(content))
}

// kittyImage returns "" for an image that cannot be decoded. The protocol takes PNG only.
func kittyImage(content []byte, columns, rows int) string {
	decoded, format, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return ""
	}
	if format != "png" {
		var out bytes.Buffer
		if png.Encode(&out, decoded) != nil {
			return ""
		}
		content = out.Bytes()
	}
	text := base64.StdEncoding.EncodeToString(content)
	var out strings.Builder
	keys := fmt.Sprintf("a=T,f=100,q=2,C=1,c=%d,r=%d,", columns, rows)
	for len(text) > 0 {
		chunk := text[:min(kittyChunk, len(text))]
		text = text[len(chunk):]
		more := 0
		if text != "" {
			more = 1
		}
		fmt.Fprintf(&out, "\x1b_G%sm=%d;%s\x1b\\", keys, more, chunk)
		keys = ""
	}
	return out.String()
}
