// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// corpus is documents by name, ranked without an index.
type corpus map[string]text.Document

func newCorpus(texts map[string]string) corpus {
	c := corpus{}
	for name, t := range texts {
		c[name] = text.Analyze([]text.Field{{Text: name, Weight: 3}, {Text: t, Weight: 1}})
	}
	return c
}

func (d document) frequency(term string) uint8 {
	i := slices.IndexFunc(d.Terms, func(t text.Term) bool { return t.Text == term })
	if i < 0 {
		return 0
	}
	return d.Terms[i].Frequency
}

type document struct{ text.Document }

// rank returns the names of the documents that match a query, best first.
func (c corpus) rank(q string) []string {
	statistics := text.Statistics{Documents: len(c)}
	for _, d := range c {
		statistics.MeanLength += float64(d.Length) / float64(len(c))
	}
	scores := map[string]float64{}
	for _, group := range text.ParseQuery(q).Groups {
		best := map[string]float64{}
		for _, form := range group {
			n := 0
			for _, d := range c {
				if (document{d}).frequency(form.Text) > 0 {
					n++
				}
			}
			weight := statistics.Weight(n) * form.Boost
			for name, d := range c {
				best[name] = max(best[name], statistics.Score(weight, (document{d}).frequency(form.Text), d.Length))
			}
		}
		for name, score := range best {
			scores[name] += score
		}
	}
	var names []string
	for name, score := range scores {
		if score > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return names
}

func TestRanking(t *testing.T) {
	c := newCorpus(map[string]string{
		"weather":    "Forecasts the weather of a city for the next days: temperature, rain, wind and storms.",
		"currency":   "Converts amounts between currencies with the exchange rates of the day.",
		"travel":     "Books flights and hotels, and plans trips in any weather.",
		"tickets":    "Triages support tickets and answers customers.",
		"rechnung":   "Prüft Rechnungen und bucht Zahlungen auf die richtigen Konten des Kunden.",
		"übersetzer": "Übersetzt Verträge und Handbücher in andere Sprachen.",
		"factures":   "Vérifie les factures des fournisseurs et prépare les paiements pour la banque.",
		"天气":         "查询城市的天气预报和空气质量",
		"翻译":         "把文件翻译成其他语言",
		"मौसम":       "शहर के मौसम की जानकारी और पूर्वानुमान देता है",
		"अनुवाद":     "दस्तावेज़ों का अन्य भाषाओं में अनुवाद करता है",
	})
	for q, want := range map[string]string{
		"Will it rain tomorrow?":         "weather",
		"forecasting storms":             "weather",
		"convert dollars, exchange rate": "currency",
		"booking a hotel":                "travel",
		"who answers a customer?":        "tickets",
		"Rechnung prüfen":                "rechnung",
		"Zahlung buchen":                 "rechnung",
		"Wer übersetzt einen Vertrag?":   "übersetzer",
		"vérifier une facture":           "factures",
		"paiement d'un fournisseur":      "factures",
		"天气预报":                           "天气",
		"翻译文件":                           "翻译",
		"मौसम का पूर्वानुमान": "मौसम",
		"U\u0308bersetzer":                     "übersetzer",
		"WEATHER":                              "weather",
		"what is the weather of the next days": "weather",
	} {
		if got := c.rank(q); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, want %q first", q, got, want)
		}
	}
	if got := c.rank("blockchain"); len(got) != 0 {
		t.Errorf("an unknown word finds %q", got)
	}
	if got := c.rank(" ... "); len(got) != 0 {
		t.Errorf("a query without words finds %q", got)
	}
}

// A name counts more than a description, a rare word more than a frequent one, and a
// short text more than a long one.
func TestWeightsOfMatches(t *testing.T) {
	c := newCorpus(map[string]string{
		"invoice": "Handles documents.",
		"other":   "Handles an invoice.",
		"long":    "Handles an invoice, and letters, parcels, postcards, stamps, forms, labels, boxes, crates and pallets.",
		"rare":    "Handles zeppelins.",
	})
	for q, want := range map[string][]string{
		"invoice":         {"invoice", "other", "long"},
		"handle zeppelin": {"rare"},
	} {
		if got := c.rank(q); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q finds %q, want %q first", q, got, want)
		}
	}
}

func TestAnalyzeIsBounded(t *testing.T) {
	long := make([]byte, 0, 1<<20)
	for i := range cap(long) / 8 {
		long = append(long, 'w', byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676%26), byte('a'+i/17576%26), 'x', 'y', ' ')
	}
	d := text.Analyze([]text.Field{{Text: string(long), Weight: 255}})
	if len(d.Terms) > 2*4096 || d.Length != 65535 {
		t.Errorf("a document of 1 MiB has %d terms, length %d", len(d.Terms), d.Length)
	}
	before := allocated()
	expanding := strings.Repeat("\ufdfa", 80_000) // NFKC makes 11 bytes of each byte
	d = text.Analyze([]text.Field{{Text: "first", Weight: 1}, {Text: expanding, Weight: 1}, {Text: "last", Weight: 1}})
	if spent := allocated() - before; spent > 4<<20 || d.Terms[0].Text != "first" || d.Terms[len(d.Terms)-1].Text == "last" {
		t.Errorf("a document of 240 KB that NFKC expands costs %d bytes, terms %.5v", spent, d.Terms)
	}
	if q := text.ParseQuery(string(long)); len(q.Groups) != 32 {
		t.Errorf("a query of 1 MiB has %d words", len(q.Groups))
	}
}

// allocated returns the bytes that the test has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// manyFunctionWords has more function words than a query may have words.
const manyFunctionWords = "a an the of and or to in for with on at by from is are was be it its this that these which what who how can do does i me my you your we our "

// A query finds a word after any number of function words.
func TestTopicAfterManyFunctionWords(t *testing.T) {
	q := text.ParseQuery(manyFunctionWords + "weather")
	if len(q.Groups) != 1 || q.Groups[0][0].Text != "weather" {
		t.Errorf("the query has the words %v, want weather alone", q.Groups)
	}
}

// Several function words alone find nothing, because nearly every document has them. One alone may be the name of something.
func TestQueryOfFunctionWords(t *testing.T) {
	for _, words := range []string{manyFunctionWords, "the of and", "der die das"} {
		if q := text.ParseQuery(words); len(q.Groups) != 0 {
			t.Errorf("%q has the words %v, want none", words, q.Groups)
		}
	}
	if q := text.ParseQuery("IT"); len(q.Groups) != 1 || q.Groups[0][0].Text != "it" {
		t.Errorf("the query has the words %v, want it", q.Groups)
	}
}
