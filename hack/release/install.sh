#!/usr/bin/env bash
# Usage: bin/release dry-run ... -- hack/release/install.sh KUBECONFIG
# Installs the release of a dry run in a cluster without a2a-operator, as its users do: with helm and kubectl, and without Go.
#
# The release is installed twice, by the chart and by install.yaml. Each time, the Agent echo of samples.yaml must be Ready within 90 s.
set -euo pipefail
cd "$(dirname "$0")/../.."

helm=$PWD/bin/helm
files=$PWD/${RELEASE_FILES:?is set by bin/release}
chart=${RELEASE_CHART:?is set by bin/release}
version=${RELEASE_CHART_VERSION:?is set by bin/release}
export KUBECONFIG=$1
namespace=a2a-system
agents=release-check
limit=90
# The tools of a user, and those of the system.
PATH=$PWD/bin/k8s:/usr/sbin:/usr/bin:/sbin:/bin

say() { printf '\033[1m--- %s\033[0m\n' "$*"; }

die() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

if command -v go >/dev/null; then
	die "Go is on PATH ($(command -v go)), and users of a release do not need it"
fi
if kubectl get crd agents.a2a-operator.dev >/dev/null 2>&1; then
	die "the cluster has a2a-operator already: make cluster-down, and start again"
fi

explain() {
	kubectl get agents,pods --all-namespaces --output wide || true
	kubectl describe agent --namespace "$agents" echo | tail -n 40 || true
	kubectl get events --all-namespaces --field-selector type=Warning | tail -n 20 || true
	kubectl logs --namespace "$namespace" --selector app.kubernetes.io/component=manager --tail 20 || true
}

by_chart() { "$helm" install a2a-operator "$chart" --version "$version" --plain-http --namespace "$namespace" --create-namespace >/dev/null; }
without_chart() { "$helm" uninstall a2a-operator --namespace "$namespace" --wait --timeout 2m >/dev/null; }
by_manifest() { kubectl apply --server-side --filename "$files/install.yaml" >/dev/null; }
without_manifest() { kubectl delete --filename "$files/install.yaml" --wait --timeout 2m >/dev/null; }

# check installs the release by one function, waits for an Agent, and removes everything by another function.
check() {
	local how=$1 install=$2 remove=$3 start=$SECONDS
	say "installing $how"
	"$install"
	kubectl wait --for=condition=Established crd/agents.a2a-operator.dev crd/agentskills.a2a-operator.dev --timeout 30s >/dev/null
	kubectl create namespace "$agents" >/dev/null
	kubectl apply --server-side --namespace "$agents" --filename "$files/samples.yaml" >/dev/null
	if ! kubectl wait --for=condition=Ready agent/echo --namespace "$agents" --timeout $((limit - (SECONDS - start)))s >/dev/null; then
		explain >&2
		die "the Agent echo is not Ready after $limit s"
	fi
	printf 'the Agent echo is Ready after %d s\n' $((SECONDS - start))
	local images image
	images=$(
		kubectl get pods --namespace "$namespace" --output 'jsonpath={.items[*].spec.containers[*].image} '
		kubectl get pods --namespace "$agents" --selector a2a-operator.dev/agent=echo \
			--output 'jsonpath={.items[0].spec.initContainers[*].image} {.items[0].spec.containers[*].image}'
	)
	for image in $images; do
		[[ $image == */a2a-operator/*@sha256:* ]] || die "image $image is not pinned by its digest"
	done
	printf 'images: %s\n' "$images"
	say "removing it"
	kubectl delete namespace "$agents" --timeout 2m >/dev/null
	"$remove"
	kubectl delete crd agents.a2a-operator.dev agentskills.a2a-operator.dev --ignore-not-found --timeout 1m >/dev/null
	kubectl delete namespace "$namespace" --ignore-not-found --timeout 2m >/dev/null
}

say "checking the archive of kubectl-a2a"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) die "there is no archive for $(uname -m)" ;;
esac
(cd "$files" && sha256sum --check --quiet checksums.txt)
tar -xzf "$files/kubectl-a2a_v${version}_linux_$architecture.tar.gz" -C "$scratch"
"$scratch/kubectl-a2a" --version

check "the chart" by_chart without_chart
check "install.yaml" by_manifest without_manifest
