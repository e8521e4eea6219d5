#!/usr/bin/env bash
# Usage: hack/prose.sh [PATH...]
# Checks the words of pages, comments and user-visible texts by the style in hack/prose/styles. The tool, Vale, links a C
# library, so it needs a C compiler. Without a compiler, the script prints a line that says so and skips the check; in CI it fails.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "$(go env CC)" >/dev/null; then
	echo "No C compiler: the words are not checked. To install one: apt-get install -y gcc libc6-dev" >&2
	[[ ${CI:-} != true ]]
	exit
fi
go run ./hack/prose "$@"
