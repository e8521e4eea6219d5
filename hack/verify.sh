#!/usr/bin/env bash
# Generates the checked-in files, and runs the checks that do not change files. Fails if a check fails or a file of the tree has changed.
#
# A new generated file needs a step in hack/make/generate.mk, and a new check needs a line in phase 2.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()

phase() { printf '\033[1m==> verify: %s\033[0m\n' "$1"; }

check() {
	local name=$1 start=$SECONDS
	shift
	printf -- '--- %s\n' "$name"
	if "$@"; then
		printf -- '    ok, %ds\n' $((SECONDS - start))
	else
		printf -- '    FAILED: %s\n' "$name"
		failed+=("$name")
	fi
}

# tree prints the state of the tree: the differences from the last commit, and every untracked file that is not ignored.
tree() {
	git status --porcelain
	git diff HEAD
	git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum
}

tidy() {
	local mod diff ok=0
	while read -r mod; do
		if ! diff=$(go mod tidy -C "$(dirname "$mod")" -diff 2>&1); then
			printf '%s\n' "$diff" | head -n 40
			echo "$mod is not tidy: make tidy"
			ok=1
		fi
	done < <(git ls-files '*go.mod' ':!hack/site/go.mod') # the theme there has no Go package, and would be removed
	return "$ok"
}

# darwin compiles hack/cluster for macOS, where developers build the binaries of the tests with it.
darwin() {
	GOOS=darwin go build -C hack/cluster -o /dev/null .
}

shell() {
	local file ok=0
	while read -r file; do
		bash -n "$file" || ok=1
	done < <(git ls-files '*.sh' .ci/run)
	return "$ok"
}

# large refuses tracked files of more than 1 MiB: a binary that was added by mistake stays in the history of every clone.
large() {
	local found
	found=$(git ls-files -z | xargs -0 -r stat --printf '%s %n\n' 2>/dev/null | awk '$1 > 1048576')
	if [[ -n $found ]]; then
		printf 'tracked, and larger than 1 MiB:\n%s\n' "$found"
		return 1
	fi
}

# suppressions refuses //nolint comments for linters that .golangci.yml does not enable. nolintlint reports an unneeded
# comment only for an enabled linter.
suppressions() {
	local enabled found
	enabled=$(sed -n '/^  enable:/,/^  settings:/s/^    - //p' .golangci.yml | tr '\n' ' ')
	found=$(git grep -noE '//nolint:[a-z,]+' -- '*.go' | awk -v enabled="$enabled" '
		BEGIN { split(enabled, list, " "); for (i in list) on[list[i]] = 1 }
		{
			comment = $0
			sub(/.*nolint:/, "", comment)
			count = split(comment, names, ",")
			for (i = 1; i <= count; i++) if (!(names[i] in on)) print $0
		}')
	if [[ -n $found ]]; then
		printf '//nolint of linters that .golangci.yml does not enable: remove the comments\n%s\n' "$found"
		return 1
	fi
}

unchanged() {
	local after
	after=$(tree)
	if [[ $after != "$before" ]]; then
		diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") | head -n 200
		echo "Generated files were out of date. They are up to date now: commit them."
		return 1
	fi
	if [[ ${CI:-} == true && -n $after ]]; then
		git status --short
		echo "The tree differs from its commit."
		return 1
	fi
}

before=$(tree)

phase "1 of 3, generate"
make generate

phase "2 of 3, check"
check "lint, vet and import rules" make lint
check "nolint comments name enabled linters" suppressions
check "hack/cluster compiles on macOS" darwin
check "go.mod and go.sum are tidy" tidy
check "docs/reference/conformance.md lists the existing tests" go run ./hack/conformance --check
check "CRDs follow the API conventions" go test ./hack/crdlint
check "CRDs are compatible with those of the last release" go run ./hack/crdcompat
check "chart: lint" go tool -modfile=hack/tools/go.mod helm lint --strict --quiet charts/a2a-operator
check "chart: renders, is typed, equals config/" make test-chart
check "alerts, dashboards, runbooks: metrics exist, alerts fire" make test-monitoring
check "shell scripts parse" shell
check "no large file is tracked" large
check "workflows of GitHub" go tool -modfile=hack/tools/actionlint/go.mod actionlint
check "words of pages" hack/prose.sh
check "messages of commits follow CONTRIBUTING.md" hack/commits.sh

phase "3 of 3, compare with what is checked in"
check "nothing changed" unchanged

if ((${#failed[@]})); then
	printf 'verify failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
echo "verify: all checks passed"
