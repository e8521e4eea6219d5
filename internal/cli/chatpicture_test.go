// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"
)

// chatPicture is the file with the picture of a chat that the documentation shows.
const chatPicture = "../../docs/images/chat.svg"

// Sizes of the picture, in pixels. A column is as wide as a character of the usual monospace fonts.
const (
	pictureColumn, pictureRow, pictureMargin = 8.43, 20, 16
	pictureFont                              = 14
)

// pictureStyle has the colors of a terminal, light and dark.
const pictureStyle = `
    .screen { fill: #ffffff; stroke: #d1d9e0 } text { fill: #1f2328; white-space: pre } .bold { font-weight: 600 } .label { fill: #0969da } .note { fill: #59636e }
    @media (prefers-color-scheme: dark) {
      .screen { fill: #0d1117; stroke: #3d444d } text { fill: #e6edf3 } .label { fill: #58a6ff } .note { fill: #9198a1 }
    }
`

// TestChatScreenEqualsThePictureOnThePages runs a chat in which the agent asks a question, and compares the screen with
// the picture in the documentation. UPDATE_GOLDEN=1 writes the picture.
func TestChatScreenEqualsThePictureOnThePages(t *testing.T) {
	setTerminal(t)
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, text string) {
		if text == "A cat on a wall" {
			writeEvents(w, paintingTask, `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_INPUT_REQUIRED",`+
				`"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"With ink or with oil?"}]}}}}`)
			return
		}
		writeEvents(w, paintingTask, artifactUpdate("cat", `{"text":"Seven strokes of a dry brush. The wall is the empty paper below them."}`),
			artifactUpdate("cat", `{"raw":"iVBORw0KGgo=","filename":"cat.png","mediaType":"image/png"}`), paintingDone)
	})
	const columns, rows = 80, 18
	s := runOnTerminal(t, columns, rows, "chat", "--url", u)
	s.await(t, "/help helps.")
	s.press(t, "A cat on a wall", keyEnter)
	s.await(t, "The agent waits for your answer.")
	s.press(t, "With ink", keyEnter)
	s.awaitThat(t, "end of the task", func() bool {
		text := s.emulator.String()
		return strings.Contains(text, "Task t-1 is completed.") && !strings.Contains(text, "waits for you.") &&
			!strings.Contains(text, "waiting for the agent") && !strings.Contains(text, "working, ") && !strings.Contains(text, "completed, ")
	})
	s.mu.Lock()
	got := picture(s.emulator, columns, rows)
	s.mu.Unlock()
	s.press(t, keyCtrlD)
	s.status(t)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(chatPicture, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(chatPicture)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/images/chat.svg shows another chat: UPDATE_GOLDEN=1 go test -run %s writes\n%s", t.Name(), got)
	}
}

// picture returns the screen of a terminal as SVG, in the light or dark colors that the reader prefers.
func picture(terminal vt10x.Terminal, columns, rows int) string {
	var text strings.Builder
	last := 0
	for y := range rows {
		if row := pictureText(terminal, y, columns); row != "" {
			last = y
			fmt.Fprintf(&text, "  <text x=\"%d\" y=\"%d\">%s</text>\n", pictureMargin, pictureMargin+y*pictureRow+pictureFont, row)
		}
	}
	width, height := int(float64(columns)*pictureColumn)+2*pictureMargin, (last+1)*pictureRow+2*pictureMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d">
  <title id="title">kubectl a2a chat: the agent asks back, and sends a text and a picture</title>
  <style>%s  </style>
  <rect class="screen" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>
%s</svg>
`, width, height, pictureFont, pictureStyle, width-1, height-1, text.String())
}

// pictureText returns a row of the screen as SVG text, with one element for each sequence of cells that have the same
// style.
func pictureText(terminal vt10x.Terminal, y, columns int) string {
	var out, run strings.Builder
	style := ""
	flush := func() {
		if run.Len() == 0 {
			return
		}
		var escaped strings.Builder
		_ = xml.EscapeText(&escaped, []byte(run.String()))
		if style == "" {
			out.WriteString(escaped.String())
		} else {
			fmt.Fprintf(&out, "<tspan class=%q>%s</tspan>", style, escaped.String())
		}
		run.Reset()
	}
	note := terminal.Cell(0, y).Char == '*' // the emulator does not support faint text, in which notices are shown
	for x := range columns {
		cell := terminal.Cell(x, y)
		next := ""
		switch {
		case note:
			next = "note"
		case cell.FG == vt10x.Cyan:
			next = "label"
		case cell.Mode&(1<<2) != 0: // bold
			next = "bold"
		}
		if next != style {
			flush()
			style = next
		}
		if cell.Char == 0 {
			cell.Char = ' '
		}
		run.WriteRune(cell.Char)
	}
	text := strings.TrimRight(run.String(), " ")
	run.Reset()
	run.WriteString(text)
	flush()
	return strings.TrimRight(out.String(), " ")
}
