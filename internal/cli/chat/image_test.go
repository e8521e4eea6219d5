// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestTheTerminalForImagesIsDetected(t *testing.T) {
	for environment, want := range map[string]imageProtocol{
		"TERM=xterm-kitty": protocolKitty, "TERM=xterm-256color TERM_PROGRAM=ghostty": protocolKitty,
		"TERM=xterm-256color TERM_PROGRAM=iTerm.app": protocolITerm2, "TERM=xterm-256color TERM_PROGRAM=WezTerm": protocolITerm2,
		"TERM=xterm-256color": "", "TERM=xterm-kitty TMUX=/tmp/x": "", "TERM=screen TERM_PROGRAM=iTerm.app": "", "": "",
	} {
		if got := imagesOf(strings.Fields(environment)); got != want {
			t.Errorf("%q: %q, want %q", environment, got, want)
		}
	}
}

func TestAnImageFitsTheTerminalAndMovesNoRow(t *testing.T) {
	encode := func(width, height int, asJPEG bool) []byte {
		var out bytes.Buffer
		picture := image.NewGray(image.Rect(0, 0, width, height))
		if asJPEG {
			_ = jpeg.Encode(&out, picture, nil)
		} else {
			_ = png.Encode(&out, picture)
		}
		return out.Bytes()
	}
	for name, content := range map[string][]byte{
		"wide": encode(900, 30, false), "high": encode(30, 900, false), "square": encode(300, 300, true), "dot": encode(1, 1, false),
	} {
		for _, protocol := range []imageProtocol{protocolKitty, protocolITerm2} {
			for _, most := range []int{2, 5, 40} {
				rows := imageRows(&a2a.Part{Raw: content}, protocol, 20, most)
				if len(rows) < 2 || len(rows) > min(most, maxImageRows) {
					t.Fatalf("%s, %s: %d rows of at most %d", name, protocol, len(rows), most)
				}
				last := rows[len(rows)-1]
				if strings.Join(rows[:len(rows)-1], "") != "" || !strings.HasPrefix(last, "\x1b7") || !strings.HasSuffix(last, "\x1b8") {
					t.Errorf("%s, %s: the rows are %.200q", name, protocol, rows)
				}
				if protocol == protocolKitty && !strings.Contains(last, ";iVBORw0KGgo") {
					t.Errorf("%s: the terminal does not get a PNG", name)
				}
			}
		}
	}
	huge := encode(1, 1, false)
	copy(huge[16:24], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 x 65536
	for name, content := range map[string][]byte{"text": []byte("no image"), "empty": nil, "a bomb": huge, "large": append(encode(1, 1, false), make([]byte, maxImageBytes)...)} {
		if rows := imageRows(&a2a.Part{Raw: content}, protocolITerm2, 80, 40); rows != nil {
			t.Errorf("%s is shown in %d rows", name, len(rows))
		}
	}
	if rows := imageRows(&a2a.Part{Raw: encode(9, 9, false)}, "", 80, 40); rows != nil {
		t.Error("a terminal without images gets one")
	}
}
