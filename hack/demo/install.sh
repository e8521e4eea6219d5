#!/usr/bin/env bash
# Usage: hack/demo/install.sh up local|current, or: hack/demo/install.sh down current
# Installs the operator for the demo, or removes the objects of the demo. `make demo` sets the variables below.
#
# "local" is a cluster that the demo has created. There, the script applies config/default, which has the objects of the chart: a build of
# Helm takes longer than the installation.
# "current" is the cluster of the current kubectl context. There, the script changes no existing namespace without the
# label of the demo, a2a-operator.dev/made-by=demo, and no a2a-operator that the demo did not install.
set -euo pipefail

action=$1
cluster=$2
release=a2a-operator
namespace=${OPERATOR_NAMESPACE:-a2a-system}
agents=${DEMO_NAMESPACE:-a2a-demo}
label=a2a-operator.dev/made-by
crds=(agents.a2a-operator.dev agentskills.a2a-operator.dev)

die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

made_by_demo() {
	[[ $(kubectl get namespace "$1" --ignore-not-found -o "jsonpath={.metadata.labels['a2a-operator\.dev/made-by']}") == demo ]]
}

exists() {
	[[ -n $(kubectl get "$@" --ignore-not-found -o name) ]]
}

# refuse_foreign exits if the demo would change objects that it did not create.
refuse_foreign() {
	local what
	for what in "$namespace" "$agents"; do
		if exists namespace "$what" && ! made_by_demo "$what"; then
			die "namespace $what exists and was not made by the demo: choose other names with OPERATOR_NAMESPACE and DEMO_NAMESPACE"
		fi
	done
	if ! exists namespace "$namespace" && exists crd "${crds[@]}"; then
		die "this cluster has a2a-operator already, which the demo would change; apply config/samples instead"
	fi
}

# apply applies config/default with the images of the demo.
apply() {
	printf 'applying config/default to %s, and waiting for the manager (%s)\n' "$namespace" "$MANAGER_IMAGE"
	kubectl kustomize config/default | sed -E \
		-e "s|ghcr\.io/a2a-operator/manager:[^[:space:]]+|$MANAGER_IMAGE|" \
		-e "s|ghcr\.io/a2a-operator/sidecar:[^[:space:]]+|$SIDECAR_IMAGE|" \
		-e "s|a2a-system|$namespace|" |
		kubectl apply --server-side --force-conflicts -f - >/dev/null
	if ! kubectl -n "$namespace" rollout status "deployment/$release-manager" --timeout=5m; then
		kubectl -n "$namespace" get pods,events >&2
		die "the manager does not become ready, see above"
	fi
	kubectl -n "$namespace" get pods
}

up() {
	printf 'using the cluster of the kubectl context %s\n' "$(kubectl config current-context)"
	refuse_foreign
	if [[ $(kubectl get namespace "$namespace" --ignore-not-found -o 'jsonpath={.status.phase}') == Terminating ]]; then
		printf 'waiting until the former namespace %s is gone\n' "$namespace"
		kubectl wait --for=delete "namespace/$namespace" --timeout=2m >/dev/null
	fi
	kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply --server-side -f - >/dev/null
	kubectl label namespace "$namespace" "$label=demo" --overwrite >/dev/null
	printf 'installing charts/a2a-operator into %s, and waiting for the manager (%s)\n' "$namespace" "$MANAGER_IMAGE"
	local values=(--set "replicas=1")
	values+=(--set "image.repository=${MANAGER_IMAGE%:*}" --set "image.tag=${MANAGER_IMAGE##*:}")
	values+=(--set "sidecar.image.repository=${SIDECAR_IMAGE%:*}" --set "sidecar.image.tag=${SIDECAR_IMAGE##*:}")
	if ! "$HELM" upgrade --install "$release" charts/a2a-operator --namespace "$namespace" \
		--wait --timeout 5m "${values[@]}" >/dev/null; then
		kubectl -n "$namespace" get pods,events >&2
		die "the chart could not be installed, see above"
	fi
	kubectl -n "$namespace" get pods
}

down() {
	refuse_foreign
	local foreign
	if exists crd "${crds[0]}"; then
		foreign=$(kubectl get agents.a2a-operator.dev -A -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}' | grep -v "^$agents/" || true)
		[[ -z $foreign ]] || die "the removal of the CRDs would also delete these Agents, which the demo did not create; move or delete them first: $foreign"
	fi
	printf 'removing namespace %s\n' "$agents"
	kubectl delete namespace "$agents" --ignore-not-found
	if exists namespace "$namespace"; then
		printf 'removing release %s, its CRDs and namespace %s\n' "$release" "$namespace"
		"$HELM" uninstall "$release" --namespace "$namespace" --ignore-not-found --wait --timeout 2m
		kubectl delete crd "${crds[@]}" --ignore-not-found
		kubectl delete namespace "$namespace" --ignore-not-found
	fi
}

case $action/$cluster in
up/local) apply ;;
up/current) up ;;
down/current) down ;;
*) die "unknown arguments: $*" ;;
esac
