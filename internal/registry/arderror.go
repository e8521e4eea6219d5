// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

// ardError is an error of ARD (appendix B).
type ardError struct {
	status  int
	Code    string `json:"errorCode"`
	Message string `json:"message"`
}

func (e *ardError) Error() string { return e.Message }

// ardField returns the name that ARD has for a parameter of the index.
func ardField(name string) string {
	switch name {
	case "q":
		return "query.text"
	case "cursor":
		return "pageToken"
	default:
		return name
	}
}
