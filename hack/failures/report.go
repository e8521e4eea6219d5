// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type report struct {
	Suites []struct {
		Cases []struct {
			Name    string   `xml:"name,attr"`
			Failure *failure `xml:"failure"`
			Error   *failure `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// fromReport returns the failed tests of a JUnit report of Ginkgo.
func fromReport(text []byte) ([]string, error) {
	var r report
	if err := xml.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read JUnit report: %w", err)
	}
	const most = 15
	var out []string
	for _, suite := range r.Suites {
		for _, test := range suite.Cases {
			why := test.Failure
			if why == nil {
				why = test.Error // a panic, or an interrupt
			}
			if why == nil {
				continue
			}
			out = append(out, "--- FAIL: "+test.Name)
			said := strings.Split(strings.TrimSpace(why.Message), "\n")
			if len(said) > most {
				said = append(said[:most], "...")
			}
			// The text repeats the message, and ends with the position of the failure.
			if place := strings.LastIndex(why.Text, "In ["); place >= 0 {
				where, _, _ := strings.Cut(why.Text[place:], " @ ")
				said = append(said, where)
			}
			for _, line := range said {
				out = append(out, "    "+line)
			}
		}
	}
	return out, nil
}
