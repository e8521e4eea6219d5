#!/usr/bin/env bash
# Usage: hack/release/release.sh dry-run hack/release/install.sh KUBECONFIG
# Installs the release of a dry run in a cluster without a2a-operator. Like a user of a release, the script needs only helm and
# kubectl, and not Go.
#
# The script installs the release by the chart and then by install.yaml: the Agent echo of samples.yaml must be Ready within 90 s. If the
# dry run has a former version, the script then upgrades from this version in both ways: all calls of the Agent must succeed during the
# upgrade. At the end of each part, the commands of docs/how-to/uninstall.md must leave no object in the cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."

helm=$PWD/bin/helm
files=$PWD/${RELEASE_FILES:?is set by release.sh}
chart=${RELEASE_CHART:?is set by release.sh}
version=${RELEASE_CHART_VERSION:?is set by release.sh}
former=${RELEASE_FORMER_CHART_VERSION:-}
former_files=${RELEASE_FORMER_FILES:+$PWD/$RELEASE_FORMER_FILES}
export KUBECONFIG=$1
namespace=a2a-system
agents=release-check
limit=90
# PATH contains only the tools of a user and of the system.
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

install_chart() { "$helm" install a2a-operator "$chart" --version "$1" --plain-http --namespace "$namespace" --create-namespace >/dev/null; }

upgrade_chart() {
	"$helm" upgrade a2a-operator "$chart" --version "$1" --plain-http --namespace "$namespace" --reset-then-reuse-values "${@:2}" >/dev/null
}

remove_chart() {
	"$helm" uninstall a2a-operator --namespace "$namespace" >/dev/null
	kubectl delete crd agents.a2a-operator.dev agentskills.a2a-operator.dev --timeout 1m >/dev/null
	kubectl delete namespace "$namespace" --timeout 2m >/dev/null
}

apply_manifest() { kubectl apply --server-side --filename "$1/install.yaml" >/dev/null; }

# apply_former_manifest applies the install.yaml of the former version with one change: in the CRD of Agents, the
# column "Skills" has the name "Former". Both dry runs are of one commit and have equal CRDs, so
# manifest_upgraded_crds could not see the upgrade without this change.
apply_former_manifest() {
	sed 's/^\( *\)name: Skills$/\1name: Former/' "$1/install.yaml" | kubectl apply --server-side --filename - >/dev/null
	! manifest_upgraded_crds || die "the CRD of the former version has no column Former"
}

# chart_upgraded_crds and manifest_upgraded_crds succeed if the cluster has the CRD of Agents of the new version.
chart_upgraded_crds() {
	[[ $(kubectl get crd agents.a2a-operator.dev --output 'jsonpath={.metadata.labels.helm\.sh/chart}') == "a2a-operator-$version" ]]
}

manifest_upgraded_crds() {
	! kubectl get crd agents.a2a-operator.dev --output 'jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}' | grep -qw Former
}

remove_manifest() { kubectl delete --filename "$files/install.yaml" --timeout 2m >/dev/null; }

# objects lists the objects of the cluster, except for the kinds whose objects Kubernetes itself creates and deletes.
objects() {
	local kinds
	kinds=$(kubectl api-resources --verbs list --output name | grep -v -e '^events' -e '^leases' -e '^endpoints$' -e '^componentstatuses' -e '\.metrics\.' | paste -sd,)
	kubectl get "$kinds" --all-namespaces --ignore-not-found --no-headers \
		--output 'custom-columns=KIND:.kind,GROUP:.apiVersion,NAMESPACE:.metadata.namespace,NAME:.metadata.name' | sort
}

begin() {
	kubectl create namespace "$agents" >/dev/null
	kubectl wait --for=create configmap/kube-root-ca.crt serviceaccount/default --namespace "$agents" --timeout 30s >/dev/null
	objects >"$scratch/before"
}

# end removes the Agents and the operator, and checks that no object is left.
end() {
	say "removing it"
	kubectl delete agents --all --all-namespaces >/dev/null
	kubectl delete agentskills --all --all-namespaces >/dev/null
	"$1"
	local deadline=$((SECONDS + 60))
	until objects >"$scratch/after" && diff "$scratch/before" "$scratch/after" >"$scratch/left"; do
		if ((SECONDS > deadline)); then
			cat "$scratch/left" >&2
			die "the commands of uninstall.md left or removed the objects above"
		fi
		sleep 1
	done
	kubectl delete namespace "$agents" --timeout 2m >/dev/null
}

# run_samples applies the samples of a version, and waits until the Agent echo is Ready. $2 is the time, a value of
# SECONDS, at which the time limit begins.
run_samples() {
	kubectl wait --for=condition=Established crd/agents.a2a-operator.dev crd/agentskills.a2a-operator.dev --timeout 30s >/dev/null
	kubectl apply --server-side --namespace "$agents" --filename "$1/samples.yaml" >/dev/null
	if ! kubectl wait --for=condition=Ready agent/echo --namespace "$agents" --timeout $((limit - (SECONDS - $2)))s >/dev/null; then
		explain >&2
		die "the Agent echo is not Ready after $limit s"
	fi
	printf 'the Agent echo is Ready after %d s\n' $((SECONDS - $2))
}

sidecar_image() {
	kubectl get pods --namespace "$agents" --selector a2a-operator.dev/agent=echo --output 'jsonpath={.items[*].spec.initContainers[*].image}'
}

manager_image() {
	kubectl get deployment --namespace "$namespace" --selector app.kubernetes.io/component=manager \
		--output 'jsonpath={.items[0].spec.template.spec.containers[0].image}'
}

# check_installation installs the release with the function $1 and its argument $2, waits until the Agent echo is
# Ready, and removes everything with the function $3.
check_installation() {
	local install=$1 argument=$2 remove=$3 start image
	say "installing by $install"
	begin
	start=$SECONDS
	"$install" "$argument"
	run_samples "$files" "$start"
	for image in $(manager_image) $(sidecar_image) \
		$(kubectl get pods --namespace "$agents" --selector a2a-operator.dev/agent=echo --output 'jsonpath={.items[0].spec.containers[*].image}'); do
		[[ $image == */a2a-operator/*@sha256:* ]] || die "image $image is not pinned by its digest"
		printf 'image %s\n' "$image"
	done
	end "$remove"
}

# call_repeatedly calls the Agent until the file "stop" exists, and writes a line for each call.
call_repeatedly() {
	local words calls=0
	while [[ ! -e $scratch/stop ]]; do
		words="call $((++calls))"
		if "$scratch/kubectl-a2a" send echo "$words" --namespace "$agents" >"$scratch/answer" 2>&1 && grep -qF "$words" "$scratch/answer"; then
			echo answered
		else
			printf 'failed: %s\n' "$(tr '\n' ' ' <"$scratch/answer")"
		fi
	done >"$scratch/calls"
}

# check_upgrade installs the former version, upgrades it while a client calls the Agent, and checks that CRDs, manager
# and sidecar have the new version. With the chart, it then downgrades the manager to the former version.
check_upgrade() {
	local way=$1 install=$2 old=$3 upgrade=$4 new=$5 remove=$6 start=$SECONDS uid manager sidecar calls
	say "upgrading by the $way from $former to $version"
	begin
	"$install" "$old"
	run_samples "$former_files" "$start"
	uid=$(kubectl get agent echo --namespace "$agents" --output 'jsonpath={.metadata.uid}')
	manager=$(manager_image) sidecar=$(sidecar_image)
	rm -f "$scratch/stop"
	call_repeatedly &
	caller=$!
	start=$SECONDS
	"$upgrade" "$new"
	# The image of the sidecar changes, so the operator updates the pods of the Agent.
	until [[ $(sidecar_image) != *"$sidecar"* && -n $(sidecar_image) ]]; do
		if ((SECONDS - start > limit)); then
			explain >&2
			die "the Agent echo still has the former sidecar $limit s after the upgrade"
		fi
		sleep 1
	done
	kubectl wait --for=condition=Ready agent/echo --namespace "$agents" --timeout 30s >/dev/null
	printf 'the Agent echo has the new sidecar after %d s\n' $((SECONDS - start))
	[[ $(manager_image) != "$manager" ]] || die "the manager still has the image $manager"
	[[ $(kubectl get agent echo --namespace "$agents" --output 'jsonpath={.metadata.uid}') == "$uid" ]] || die "the Agent echo was created again"
	touch "$scratch/stop"
	wait "$caller"
	calls=$(grep -c answered "$scratch/calls" || true)
	printf '%d calls succeeded during the upgrade\n' "$calls"
	if ((calls == 0)) || grep failed "$scratch/calls" >&2; then
		die "calls failed during the upgrade"
	fi
	"${way}_upgraded_crds" || die "the cluster still has the CRD of Agents of $former"
	if [[ $way == chart ]]; then
		say "downgrading to $former"
		upgrade_chart "$former" --set crds.enabled=false
		kubectl rollout status deployment/a2a-operator-manager --namespace "$namespace" --timeout "${limit}s" >/dev/null
		[[ $(manager_image) == "$manager" ]] || die "the manager does not have the former image $manager"
		kubectl wait --for=condition=Ready agent/echo --namespace "$agents" --timeout "${limit}s" >/dev/null
		chart_upgraded_crds || die "the cluster does not have the CRD of Agents of $version after the downgrade"
	fi
	end "$remove"
}

say "checking the archive of kubectl-a2a"
scratch=$(mktemp -d)
caller=
# If the script fails, call_repeatedly must end too.
trap 'touch "$scratch/stop"; [[ -z $caller ]] || wait "$caller" || true; rm -rf "$scratch"' EXIT
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) die "there is no archive for $(uname -m)" ;;
esac
(cd "$files" && sha256sum --check --quiet checksums.txt)
tar -xzf "$files/kubectl-a2a_v${version}_linux_$architecture.tar.gz" -C "$scratch"
"$scratch/kubectl-a2a" --version
PATH=$scratch:$PATH kubectl __complete a2a sen | grep -q '^send' || die "the archive does not let kubectl complete kubectl a2a"

check_installation install_chart "$version" remove_chart
check_installation apply_manifest "$files" remove_manifest
if [[ -n $former ]]; then
	check_upgrade chart install_chart "$former" upgrade_chart "$version" remove_chart
	check_upgrade manifest apply_former_manifest "$former_files" apply_manifest "$files" remove_manifest
fi
