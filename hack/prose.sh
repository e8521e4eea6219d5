#!/usr/bin/env bash
# Usage: hack/prose.sh [PATH...]
# Checks the words of documentation and comments by the rules in hack/prose/styles. The tool, Vale, parses Go with a C
# library, so it needs a C compiler; without one the check is skipped with a line that says so, except in CI.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "$(go env CC)" >/dev/null; then
	echo "No C compiler: the words are not checked. For it: apt-get install -y gcc libc6-dev" >&2
	[[ ${CI:-} != true ]]
	exit
fi
mapfile -t paths < <(
	if (($#)); then
		printf '%s\n' "$@"
	else
		# Not ours: what is generated, and the text of licenses.
		git ls-files '*.md' '*.go' | grep -v -e '/zz_generated' -e '^api/v1alpha1/applyconfiguration/' -e '^docs/licenses.md$' -e '/testdata/'
	fi
)
CGO_ENABLED=1 go tool -modfile=hack/tools/prose/go.mod vale --config hack/prose/vale.ini --output line "${paths[@]}"
