#!/usr/bin/env bash
# Usage: hack/prerequisites.sh NAME...
# Names each missing prerequisite with the command that installs it, and fails if one is missing.
set -euo pipefail

oldest_go=1.26
missing=0
goals=${MAKECMDGOALS:-demo}
# The demo can use a cluster of the user; other targets that need a node cannot.
instead=
if [[ $goals == demo* ]]; then
	instead=", or make demo CLUSTER=current, for the cluster of your kubectl context (docs/tutorials/local.md)"
fi

lacks() {
	printf 'missing: %s\n    %s\n' "$1" "$2" >&2
	missing=1
}

for name in "$@"; do
	case $name in
	go)
		if ! command -v go >/dev/null; then
			lacks "Go $oldest_go or newer" "install it as https://go.dev/doc/install says, and put its bin directory into PATH"
			continue
		fi
		have=$(go env GOVERSION) || have="an older Go that cannot read go.mod"
		have=${have#go}
		if [[ $(printf '%s\n' "$oldest_go" "${have%%[^0-9.]*}" | sort -V | head -n 1) != "$oldest_go" ]]; then
			lacks "Go $oldest_go or newer (this is $have)" "install it as https://go.dev/doc/install says, or: go env -w GOTOOLCHAIN=auto"
		fi
		;;
	git | curl | zip)
		command -v "$name" >/dev/null || lacks "$name" "apt-get install -y $name"
		;;
	root)
		[[ $(id -u) == 0 ]] || lacks "root, to run a node with containerd and iptables" "sudo make $goals$instead"
		;;
	linux)
		[[ $(uname -s) == Linux ]] || lacks "Linux, to run a node" "run make $goals on a Linux machine$instead"
		;;
	kubectl)
		command -v kubectl >/dev/null || lacks kubectl "install it as https://kubernetes.io/docs/tasks/tools/ says"
		;;
	*)
		echo "prerequisites.sh: unknown prerequisite $name" >&2
		exit 2
		;;
	esac
done
exit "$missing"
