module github.com/a2a-operator/a2a-operator/hack/site

go 1.26.0

// The theme of the site, which has no Go package, and what its test needs.
require (
	github.com/dop251/goja v0.0.0-20250630131328-58d95d85e994
	github.com/imfing/hextra v0.9.7
)

require (
	github.com/dlclark/regexp2 v1.11.4 // indirect
	github.com/go-sourcemap/sourcemap v2.1.3+incompatible // indirect
	github.com/google/pprof v0.0.0-20230207041349-798e818bf904 // indirect
	golang.org/x/text v0.3.8 // indirect
)
