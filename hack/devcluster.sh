#!/usr/bin/env bash
# Usage: hack/devcluster.sh create|load ARCHIVE...|kubeconfig FILE|delete
# A cluster for development in containers, by kind or k3d with Docker or podman. DEV_CLUSTER is its name. DEV_CLUSTER_TOOL
# selects kind or k3d; by default, it is the first of them that is installed.
set -euo pipefail

name=${DEV_CLUSTER:-a2a-operator}
tool=${DEV_CLUSTER_TOOL:-}

die() {
	printf 'dev-cluster: %s\n' "$*" >&2
	exit 1
}

has() {
	command -v "$1" >/dev/null
}

# engine finds a container engine that answers. kind uses podman only if a variable says so, and k3d only by its socket.
engine() {
	if has docker && docker info >/dev/null 2>&1; then
		return
	fi
	if has podman && podman info >/dev/null 2>&1; then
		if [[ $tool == k3d && -z ${DOCKER_HOST:-} ]]; then
			die "k3d needs the socket of podman: start it with systemctl --user start podman.socket, and set DOCKER_HOST and DOCKER_SOCK as https://k3d.io/stable/usage/advanced/podman/ says"
		fi
		export KIND_EXPERIMENTAL_PROVIDER=podman
		return
	fi
	if has docker || has podman; then
		die "neither Docker nor podman answers: start it, and check that this user may use it (docker info)"
	fi
	die "Docker or podman is missing: install one of them, or run make demo as root on a Debian-like Linux, which needs neither"
}

find_tool() {
	if [[ -z $tool ]]; then
		if has kind; then
			tool=kind
		elif has k3d; then
			tool=k3d
		else
			die "kind or k3d is missing: install one of them as https://kind.sigs.k8s.io or https://k3d.io says"
		fi
	fi
	[[ $tool == kind || $tool == k3d ]] || die "DEV_CLUSTER_TOOL is '$tool': use kind or k3d"
	has "$tool" || die "$tool is missing: install it, or set DEV_CLUSTER_TOOL to the other one of kind and k3d"
}

exists() {
	case $tool in
	kind) kind get clusters 2>/dev/null | grep -qx "$name" ;;
	k3d) k3d cluster list "$name" >/dev/null 2>&1 ;;
	esac
}

create() {
	if exists; then
		printf 'using the cluster %s of %s\n' "$name" "$tool"
	elif [[ $tool == kind ]]; then
		kind create cluster --name "$name" --wait 3m
	else
		# The default image of a release of k3d may be older than the operator supports.
		k3d cluster create "$name" --image +stable --wait --timeout 3m
	fi
}

load() {
	local archive
	for archive in "$@"; do
		case $tool in
		kind) kind load image-archive "$archive" --name "$name" ;;
		k3d) k3d image import "$archive" --cluster "$name" ;;
		esac
	done
}

kubeconfig() {
	(umask 077 && case $tool in
	kind) kind get kubeconfig --name "$name" ;;
	k3d) k3d kubeconfig get "$name" ;;
	esac >"$1")
}

delete() {
	case $tool in
	kind) kind delete cluster --name "$name" ;;
	k3d) k3d cluster delete "$name" ;;
	esac
}

action=${1:-}
case $action in
create | load | kubeconfig | delete)
	shift
	find_tool
	engine
	"$action" "$@"
	;;
*) die "unknown arguments: $action $*" ;;
esac
