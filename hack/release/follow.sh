#!/usr/bin/env bash
# Usage: hack/release/follow.sh PAGE FILES VERSION PUBLIC_KEY COSIGN
# Runs the shell commands of the section "Verify a release" of a page, in the order of the page and to the last line, like a stranger who
# has nothing but the published files: in an empty directory, with cosign and the programs of the system. Only what a dry run cannot have
# is replaced: the version, the address of the files, and the identity of the signer.
set -euo pipefail

page=$1 files=$2 version=$3 key=$4 cosign=$5
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/bin" "$directory/empty"
ln -s "$cosign" "$directory/bin/cosign"

awk '/^## / { inside = $0 == "## Verify a release" } !inside { next } /^```/ { code = $0 == "```sh"; next } code' "$page" |
	sed -e "s|^version=.*|version=$version|" -e "s|^files=.*|files=file://$files|" \
		-e "s|^signer=.*|signer=(--key $key --insecure-ignore-tlog=true)|" -e '/^  --certificate-oidc-issuer/d' >"$directory/commands.sh"
for replaced in "version=$version" "files=file://$files" "signer=(--key"; do
	grep -qF "$replaced" "$directory/commands.sh" || { echo "the page has no line for $replaced" >&2 && exit 1; }
done
cd "$directory/empty"
HOME=$directory PATH=$directory/bin:/usr/bin:/bin bash -euo pipefail -x "$directory/commands.sh"
