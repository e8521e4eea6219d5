#!/usr/bin/env bash
# Runs all fuzz tests, even if one of them fails: hack/fuzz.sh TIME, such as 30s or 5000x (a number of inputs).
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

while read -r file name; do
	package=./$(dirname "$file")
	printf '\033[1m==> %s %s\033[0m\n' "$package" "$name"
	if go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 1s "$package" 2>&1 | tee "$log"; then
		continue
	fi
	# If the time ends while a worker runs an input, Go reports a failure. No input failed, so the fuzz test has passed.
	if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
		echo "    the time ended; no input failed"
		continue
	fi
	failed+=("$package $name")
done < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' internal test | sed 's/:func / /' | sort)

if ((${#failed[@]})); then
	printf -- '--- FAIL: %s\n' "${failed[@]}"
	exit 1
fi
