#!/usr/bin/env bash
# Plants each bug of test/stream/planted in a copy of the tree, and expects that the scenario "lifecycle" of test/stream notices it, or the
# test of a package that the patch names (Noticed by: PACKAGE TEST): hack/planted.sh [NAME...]. A bug that nothing notices, or a patch that does not apply any more, is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'git worktree remove --force "$copy/tree" 2>/dev/null; rm -rf "$copy"' EXIT
git worktree add --quiet --detach "$copy/tree" HEAD

failed=()
for patch in test/stream/planted/*.patch; do
	name=$(basename "$patch" .patch)
	[[ $# == 0 || " $* " == *" $name "* ]] || continue
	printf '\033[1m==> %s: %s\033[0m\n' "$name" "$(head -n 1 "$patch")"
	git -C "$copy/tree" checkout --quiet .
	if ! git -C "$copy/tree" apply "$PWD/$patch"; then
		failed+=("$name: the patch does not apply: write it anew")
		continue
	fi
	read -r package test < <(sed -n 's/^Noticed by: //p' "$patch") || true
	if [[ -n $package ]]; then
		if (cd "$copy/tree" && go test -count=1 -v -run "$test" "$package") >"$copy/log" 2>&1; then
			failed+=("$name: $test of $package does not notice it")
		elif ! grep -m 3 -e '--- FAIL' "$copy/log"; then
			cat "$copy/log"
			failed+=("$name: the test did not run")
		fi
		continue
	fi
	if (cd "$copy/tree" && go run ./test/stream -scenario lifecycle -store redis -seed "${SEED:-1}" -short) >"$copy/log" 2>&1; then
		failed+=("$name: nothing noticed it")
	elif ! grep -q 'violates the guarantees' "$copy/log"; then
		cat "$copy/log"
		failed+=("$name: the run ended before it could notice it")
	else
		grep -m 3 -E 'EXCEEDED|of [0-9]+ tasks: .*(lost|terminals|repeated|diverged|failed|foreign|wedged)' "$copy/log" | cut -c 1-200
	fi
done

if ((${#failed[@]})); then
	printf -- '--- FAIL: %s\n' "${failed[@]}"
	exit 1
fi
