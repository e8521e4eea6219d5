#!/usr/bin/env bash
# Prints "-race", or nothing if RACE=0 is set or there is no C compiler, which the race detector needs. As root on a
# Debian-like system, the script installs a missing compiler.
set -euo pipefail

has_compiler() {
	command -v "$(go env CC | cut -d' ' -f1)" >/dev/null &&
		echo 'int main(void) { return 0; }' | "$(go env CC | cut -d' ' -f1)" -x c -include stdlib.h -o /dev/null - 2>/dev/null
}

if [[ ${RACE:-} == 0 ]]; then
	exit 0
fi
if ! has_compiler && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "The race detector needs a C compiler: installing gcc and libc6-dev." >&2
	{ apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev; } >&2 || true
fi
if has_compiler; then
	echo -race
else
	echo "No C compiler: testing without the race detector. For it: apt-get install -y gcc libc6-dev" >&2
fi
