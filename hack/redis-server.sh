#!/usr/bin/env bash
# Checks that the tests find a redis-server, which they start and stop themselves. As root on Debian, it installs a missing one as
# bin/redis-server, from the package redis-tools: this package contains the program under another name, and starts no service.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=7.0

# server prints the path of the program that the tests run: the first of these that exists.
server() {
	local program
	for program in redis-server valkey-server bin/redis-server; do
		command -v "$program" && return
	done
	return 1
}

if ! server >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "The tests of the Redis store need a server: installing redis-tools." >&2
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends redis-tools; } >&2 || true
	if program=$(command -v redis-check-rdb); then
		mkdir -p bin
		ln -sf "$program" bin/redis-server
	fi
fi
have=
if program=$(server); then
	have=$("$program" --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\).*/\1/p') || true
	[[ -n $have && $(printf '%s\n' "$oldest" "$have" | sort -V | head -n 1) == "$oldest" ]] && exit 0
fi
printf 'missing: redis-server %s or newer, or valkey-server%s\n    apt-get install -y redis-server, or: brew install redis\n' \
	"$oldest" "${program:+ ($program has version ${have:-unknown})}" >&2
exit 1
