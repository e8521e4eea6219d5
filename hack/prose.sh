#!/usr/bin/env bash
# Usage: hack/prose.sh [PATH...]
# Checks the words of pages by the style in hack/prose/styles; no PATH means all pages. The references in docs/ are
# generated from comments of the API, help texts and reasons, so this checks these texts, too. The tool, Vale, links
# a C library, so it needs a C compiler. Without a compiler, the script prints a line that says so and skips the
# check; in CI it fails.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "$(go env CC)" >/dev/null; then
	echo "No C compiler: the words are not checked. To install one: apt-get install -y gcc libc6-dev" >&2
	[[ ${CI:-} != true ]]
	exit
fi
# Test data and the list of licenses have the words of other projects. A page that is deleted and not committed yet is
# still listed.
mapfile -t pages < <(git ls-files --cached --others --exclude-standard -- "$@" |
	grep '\.md$' | grep -vE '(^|/)testdata/|^docs/reference/licenses\.md$' | while read -r page; do [[ ! -e $page ]] || echo "$page"; done)
if ((${#pages[@]} == 0)); then
	echo "no page in $*" >&2
	exit 2
fi
# Vale uses its C code only to parse source code. Without optimization, it compiles in half of the time.
CGO_ENABLED=1 CGO_CFLAGS="-O0 -w" go tool -modfile=hack/tools/prose/go.mod vale \
	--no-global --config hack/prose/vale.ini --output line "${pages[@]}"
