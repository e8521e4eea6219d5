#!/usr/bin/env bash
# Sees to it that the tests find a redis-server, which they start and stop themselves. On Debian as root one that is missing is
# installed, as bin/redis-server: redis-tools has the program, by another name, and no service that would run from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

has_server() { command -v redis-server >/dev/null || command -v valkey-server >/dev/null || [[ -x bin/redis-server ]]; }

if has_server; then
	exit 0
fi
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "The tests of the Redis store need a server: installing redis-tools." >&2
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends redis-tools; } >&2 || true
	if program=$(command -v redis-check-rdb); then
		mkdir -p bin
		ln -sf "$program" bin/redis-server
	fi
fi
if ! has_server || ! { redis-server --version || valkey-server --version || bin/redis-server --version; } >/dev/null 2>&1; then
	printf 'missing: redis-server 7.0 or newer, or valkey-server\n    apt-get install -y redis-server, or: brew install redis\n' >&2
	exit 1
fi
