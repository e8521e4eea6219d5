// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// allowed are the elements of the HTML of answers with their attributes.
var allowed = map[string][]string{
	"a": {"href", "target", "rel"}, "span": {"class"}, "div": {"class", "role", "aria-label", "tabindex"}, "pre": {"tabindex"}, "p": {"class"}, "ol": {"start"},
	"blockquote": nil, "br": nil, "code": nil, "del": nil, "em": nil, "hr": nil, "li": nil, "strong": nil, "table": nil, "tbody": nil, "td": nil, "th": nil, "thead": nil, "tr": nil, "ul": nil,
}

// harmless fails the test if HTML has other elements, attributes or addresses than the allowed ones.
func harmless(t *testing.T, source, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\u202e\u2066\x1b\x00") {
		t.Errorf("%q becomes %q, with characters that hide others", source, text)
	}
	tokens := html.NewTokenizer(strings.NewReader(text))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		if token.Type == html.TextToken {
			continue
		}
		attributes, ok := allowed[token.Data]
		if !ok {
			t.Errorf("%q becomes %s in %s", source, token, text)
		}
		for _, a := range token.Attr {
			if !slices.Contains(attributes, a.Key) {
				t.Errorf("%q becomes %s", source, token)
			}
			if u, err := url.Parse(a.Val); a.Key == "href" && (err != nil || !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme)) {
				t.Errorf("%q links %s", source, a.Val)
			}
		}
	}
}

func TestMarkdownOfAnAgentBecomesHarmlessHTML(t *testing.T) {
	for _, text := range hostile {
		for _, format := range []string{"%", "[%](%)", "![%](%)", "<%>", "[a]: %\n\n[a]", "```%\n%\n```", "    %", "| % |\n|:-:|\n| % |", "# %", "> %", "- %", "**%**", "`%`", "&#x202e;&#27;&#0;%", "[![%](%)](%)"} {
			source := strings.ReplaceAll(format, "%", text)
			harmless(t, source, toHTML(source))
		}
	}
	for source, want := range map[string]string{
		"**Bold** and <b>tags</b>":                       "<p><strong>Bold</strong> and &lt;b&gt;tags&lt;/b&gt;</p>\n",
		"<div>\n*x*\n</div>":                             "<p class=\"plain\">&lt;div&gt;\n*x*\n&lt;/div&gt;</p>\n",
		"# Heading":                                      "<p class=\"heading\">Heading</p>\n",
		"[good](https://evil.example/a)":                 `<p><a href="https://evil.example/a" target="_blank" rel="noopener noreferrer">good</a> <span class="host">(evil.example)</span></p>` + "\n",
		"![](https://evil.example/a.png)":                `<p><a href="https://evil.example/a.png" target="_blank" rel="noopener noreferrer">Image</a> <span class="host">(evil.example)</span></p>` + "\n",
		"[good](javascript:alert(1))":                    "<p>good (javascript:alert(1))</p>\n",
		"https://a.example/?x=1&y=2":                     `<p><a href="https://a.example/?x=1&amp;y=2" target="_blank" rel="noopener noreferrer">https://a.example/?x=1&amp;y=2</a></p>` + "\n",
		"[a](https://evil.example&sol;@good.example)":    `<p><a href="https://evil.example/@good.example" target="_blank" rel="noopener noreferrer">a</a> <span class="host">(evil.example)</span></p>` + "\n",
		"[a](https://good.example&#46;evil.example)":     `<p><a href="https://good.example.evil.example" target="_blank" rel="noopener noreferrer">a</a> <span class="host">(good.example.evil.example)</span></p>` + "\n",
		"<https://evil.example&sol;@good.example>":       `<p><a href="https://evil.example&amp;sol;@good.example" target="_blank" rel="noopener noreferrer">https://evil.example&amp;sol;@good.example</a></p>` + "\n",
		"[a ![b](https://b.example)](https://c.example)": `<p><a href="https://c.example" target="_blank" rel="noopener noreferrer">a b</a> <span class="host">(c.example)</span></p>` + "\n",
	} {
		if got := toHTML(source); got != want {
			t.Errorf("%q becomes %q", source, got)
		}
	}
}

// TestATableHasNoMoreCellsThanItsText shows tables whose rows lack nearly all cells, alone, in a quote and in a list.
func TestATableHasNoMoreCellsThanItsText(t *testing.T) {
	for _, prefix := range []string{"", "> ", "1. "} {
		table := prefix + strings.Repeat("a|", 1000) + "\n" + strings.Replace(prefix, "1.", "  ", 1) + strings.Repeat("-|", 1000) + strings.Repeat("\n"+strings.Replace(prefix, "1.", "  ", 1)+"|", 1000)
		if got := toHTML(table); len(got) > 5*len(table) || !strings.Contains(got, "<pre") {
			t.Errorf("%q: %d bytes become %d", prefix, len(table), len(got))
		}
	}
	if got := toHTML("|a|b|\n|-|-|\n" + strings.Repeat("|c|d|\n", 2000)); strings.Count(got, "<td>") != 4000 {
		t.Errorf("a long table has %d cells", strings.Count(got, "<td>"))
	}
}

func FuzzMarkdownOfAnAgentBecomesHarmlessHTML(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { harmless(t, text, toHTML(text)) })
}

// TestMarkdownInPiecesIsThatOfTheWhole streams an answer in pieces of every size, and cuts it at every place, such as in the
// middle of a table.
func TestMarkdownInPiecesIsThatOfTheWhole(t *testing.T) {
	source := []rune(strings.Join(answerInMarkdown, ""))
	want := toHTML(string(source))
	for size := 1; size < 40; size++ {
		d := &document{}
		var done strings.Builder
		last := ""
		for piece := range slices.Chunk(source, size) {
			html, rest := d.add(string(piece))
			done.WriteString(html)
			last = rest
			harmless(t, string(piece), done.String()+rest)
		}
		if got := done.String() + last; got != want {
			t.Errorf("in pieces of %d characters: %s\nwant %s", size, got, want)
		}
	}
	d := &document{}
	if html, rest := d.add("Prices:\n\n| Route | Pri"); html+rest != "<p>Prices:</p>\n<p>| Route | Pri</p>\n" {
		t.Errorf("a table that has only begun is %q", html+rest)
	}
	if _, rest := d.add("ce |\n|---|---|\n| Ber"); !strings.Contains(rest, "<td>Ber</td>") {
		t.Errorf("a stream that ends in a table ends with %q", rest)
	}
}

func TestALongAnswerIsCutWithANotice(t *testing.T) {
	shown := newTranscript()
	text := ""
	for range 6 {
		text += shown.clip(strings.Repeat("a", 1<<20))
	}
	if len(text) > maxShown+100 || strings.Count(text, "does not show the rest") != 1 {
		t.Errorf("the page shows %d bytes", len(text))
	}
}
