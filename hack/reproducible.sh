#!/usr/bin/env bash
# Usage: hack/reproducible.sh LDFLAGS PACKAGE...
# Builds each program twice: here, with the existing build cache, and from a copy of the tracked files, with an empty
# cache, in another directory, home, time zone and locale, and under another umask. Fails unless both builds of each
# program have the same bytes. Both use the same machine, Go and modules.
set -euo pipefail
cd "$(dirname "$0")/.."

ldflags=$1
shift
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
modules=$(go env GOMODCACHE)
proxy=$(go env GOPROXY)

mkdir -p "$scratch"/{here,there,home} "$scratch/a longer way/tree"
git ls-files -z | xargs -0 cp --parents -t "$scratch/a longer way/tree"

failed=0
for package in "$@"; do
	name=$(basename "$package")
	go build -ldflags "$ldflags" -o "$scratch/here/$name" "$package"
	(
		cd "$scratch/a longer way/tree"
		umask 077
		# The path of the module cache also differs.
		ln -sfn "$modules" "$scratch/modules"
		HOME=$scratch/home GOCACHE=$scratch/cache GOMODCACHE=$scratch/modules GOPROXY=$proxy TZ=Asia/Kathmandu LC_ALL=C.UTF-8 \
			go build -ldflags "$ldflags" -o "$scratch/there/$name" "$package"
	)
	here=$(sha256sum <"$scratch/here/$name")
	there=$(sha256sum <"$scratch/there/$name")
	if [[ $here == "$there" ]]; then
		printf '%s  %s, twice\n' "${here%% *}" "$name"
		continue
	fi
	failed=1
	printf '%s: two builds of one tree differ: %s here, %s there\n' "$name" "${here%% *}" "${there%% *}" >&2
	diff <(go version -m "$scratch/here/$name" | tail -n +2) <(go version -m "$scratch/there/$name" | tail -n +2) >&2 || true
done
exit "$failed"
