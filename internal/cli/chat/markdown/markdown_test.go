// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

const document = `# Result of the *search*

Some text with **strong**, *stressed*, ~~deleted~~ and ` + "`code`" + ` words, a [link](https://example.com/a?b=1&c=2),
<https://example.org>, an ![image](cat.png) and an escape \* of a star; a line that is long enough to need a second row.

1. first
2. second
   - nested, with a text that does not fit in one row of a terminal of twenty columns
   - again

- apart

- from each other

> A quote
> of two lines.

` + "```go\nfunc main() {\n\n\tfmt.Println(\"a line of code that is wider than the terminal, which has eighty columns\")\n}\n```" + `
After the code.

| City | Weather | °C |
|---|:---:|---:|
| Paris | **rain** | 12 |
| שלום | sun, with a description that is long | 31 |

---

<b>HTML</b> stays as it is.

שלום עולם, مرحبا بالعالم
`

// rowsOf shows a text that arrives in pieces of the given size, as the chat does.
func rowsOf(text string, size, width int) []string {
	var b Blocks
	var rows []string
	show := func(block string) {
		if len(rows) > 0 {
			rows = append(rows, "")
		}
		rows = append(rows, Rows(block, width)...)
	}
	for piece := range slices.Chunk([]byte(text), size) {
		for _, block := range b.Add(string(piece)) {
			show(block)
		}
	}
	if rest := b.Rest(); rest != "" {
		show(rest)
	}
	return rows
}

func TestADocumentIsLaidOutForWideAndNarrowTerminals(t *testing.T) {
	for _, width := range []int{78, 18} {
		rows := rowsOf(document, len(document), width)
		for _, row := range rows {
			if ansi.StringWidth(row) > width {
				t.Errorf("a row is wider than %d cells: %q", width, row)
			}
		}
		for _, size := range []int{1, 3, 50} {
			if got := rowsOf(document, size, width); !slices.Equal(got, rows) {
				t.Errorf("pieces of %d bytes have other rows:\n%s", size, strings.Join(got, "\n"))
			}
		}
		text := strings.ReplaceAll(strings.Join(rows, "\n"), "\x1b", "^") + "\n"
		file := fmt.Sprintf("testdata/document-%d.golden", width)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != text {
			t.Errorf("%s differs (%v); UPDATE_GOLDEN=1 writes it. Got:\n%s", file, err, text)
		}
	}
}

func TestATextMayEndInsideOfABlock(t *testing.T) {
	for text, want := range map[string]string{
		"| a | b |\n|---|---|\n| 1 | 2": "a  b|────|1  2",
		"| a | b |\n|---|---|":          "a  b|────",
		"| a | b |\n|--":                "| a | b | |--",
		"| a | b |\n|---|---|\n|":       "a  b|────|",
		"```sh\nls -l":                  "  ls -l",
		"```":                           "",
		"**bold":                        "**bold",
		"[text](https://exa":            "[text](https://exa",
		"- one\n-":                      "• one|•",
		"1.":                            "1.",
		"# ":                            "",
		"> ":                            "",
		"a\n\n":                         "a",
	} {
		rows := rowsOf(text, 2, 40)
		if got := ansi.Strip(strings.Join(rows, "|")); strings.TrimRight(got, "| ") != strings.TrimRight(want, "| ") {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestNoTextControlsTheTerminalOrHidesAnAddress(t *testing.T) {
	const attack = "\x1b]0;owned\x07 \u202e &#27;[2J &#x9b;31m &#8238; &ZeroWidthSpace; [a](https://evil.example/\u202e \"t\") [https://good.example](https://evil.example)\n\n" +
		"```\n\x1b[2J\n```\n\n| \x1b[2J | &#27;[2J |\n|---|---|\n| \x9b | <a href='x'>\x1b |\n\n<div>\x1b[2J\n</div>\n\n&#27;[2J [&#27;](&#27;)"
	for _, size := range []int{1, 1000} {
		text := strings.Join(rowsOf(attack, size, 60), "\n")
		plain := strings.Join(strings.Fields(ansi.Strip(text)), " ")
		for _, bad := range []string{"\x1b]", "\x1b[2J", "\x07", "\u202e", "\u200b", "\u009b"} {
			if strings.Contains(text, bad) {
				t.Errorf("the rows have %q:\n%q", bad, text)
			}
		}
		if strings.Contains(plain, "\x1b") || !strings.Contains(plain, "https://good.example (https://evil.example)") {
			t.Errorf("the rows are\n%s", plain)
		}
	}
}

func TestNoBlockIsLong(t *testing.T) {
	var b Blocks
	for _, block := range append(b.Add(strings.Repeat("*a_ é\n", 100_000)), b.Rest()) {
		if len(block) > 3*maxPending || strings.Contains(block, "\ufffd") {
			t.Errorf("a block has %d bytes", len(block))
		}
	}
	table := strings.Repeat("a|", 300) + "\n" + strings.Repeat("-|", 300) + strings.Repeat("\n|", 300)
	if got := Bound(table); got == table {
		t.Error("a table of 4 KB has 90,000 cells")
	}
}

func TestALongBlockIsCutAndStaysCode(t *testing.T) {
	code := "```\n" + strings.Repeat("* no list\n", 10_000) + "```\nafter **it**\n"
	rows := rowsOf(code, 700, 40)
	items, listed := 0, 0
	for _, row := range rows {
		plain := ansi.Strip(row)
		if plain == "  * no list" {
			items++
		}
		if strings.HasPrefix(plain, "•") {
			listed++
		}
	}
	if items != 10_000 || listed != 0 || ansi.Strip(rows[len(rows)-1]) != "after it" {
		t.Errorf("%d lines of code and %d items, and the last row is %q", items, listed, rows[len(rows)-1])
	}
	if got := ansi.Strip(strings.Join(rowsOf(strings.Repeat("x", 100_000), 1000, 50), "")); strings.Count(got, "x") != 100_000 {
		t.Errorf("a line of 100,000 bytes has %d", strings.Count(got, "x"))
	}
}

func FuzzRows(f *testing.F) {
	f.Add(document, 20)
	f.Add("&#27;[2J\n\n- a\n\n  b\n", 3)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + (width&0x7fffffff)%100
		for _, row := range rowsOf(text, 7, width) {
			if strings.ContainsAny(ansi.Strip(row), "\x1b\x07\u202e\n") {
				t.Errorf("a row controls the terminal: %q", row)
			}
		}
	})
}
