#!/usr/bin/env bash
# Usage: hack/demo/demo.sh
# Shows the product on a cluster in which hack/demo/install.sh has installed the chart. Like a user, it needs only kubectl, its plugin,
# curl and tokens. It prints each command, and fails at the first wrong result. It can run again on the same cluster. `make demo` sets the
# variables below.
set -euo pipefail
cd "$(dirname "$0")/../.."

namespace=${DEMO_NAMESPACE:-default}
operator=${OPERATOR_NAMESPACE:-a2a-system}
# images is the pattern of the image names of the agents. {name} stands for echo and researcher.
images=${SAMPLE_IMAGES:-a2a-operator/sample-{name\}:dev}
sidecar=${SIDECAR_IMAGE:-}
undo=${DEMO_UNDO:-make demo-down}
start=$SECONDS
steps=0
forward=
scratch=$(mktemp -d)
trap 'stop_forward; rm -rf "$scratch"' EXIT

die() {
	printf '\ndemo: step %d: %s\n' "$steps" "$*" >&2
	exit 1
}

step() {
	stop_forward
	printf '\n\033[1m%d. %s\033[0m\n\n' $((++steps)) "$*"
}

indent() { sed -u 's/^/    /'; }

# show prints a command that a reader can type.
show() {
	local word line=
	for word; do
		[[ $word != *[[:space:]]* ]] || word="\"$word\""
		line+=" $word"
	done
	printf '  $%s\n' "$line"
}

# run shows and runs a command, and keeps its output in $scratch/out.
run() {
	show "$@"
	"$@" 2>&1 | tee "$scratch/out" | indent
}

# has exits unless the output of the last run has a text.
has() { grep -qF -- "$1" "$scratch/out" || die "the output has no \"$1\""; }

stop_forward() {
	[[ -z $forward ]] || kill "$forward" 2>/dev/null || true
	forward=
}

# forward_to NAMESPACE OBJECT PORT makes a port reachable until the next step, and sets url. It uses the API server, so it works with a
# remote cluster, too.
forward_to() {
	stop_forward
	show kubectl --namespace "$1" port-forward "$2" ":$3"
	: >"$scratch/forward" # the output of an earlier step names another port
	kubectl --namespace "$1" port-forward "$2" ":$3" >"$scratch/forward" 2>&1 &
	forward=$!
	local deadline=$((SECONDS + 30))
	until grep -q 'Forwarding from 127' "$scratch/forward"; do
		((SECONDS < deadline)) && kill -0 "$forward" 2>/dev/null || die "$(cat "$scratch/forward")"
		sleep 0.1
	done
	url=http://$(sed -n 's/^Forwarding from \(127[^ ]*\) .*/\1/p' "$scratch/forward" | head -n 1)
}

# token AUDIENCE sets token to a token of the default ServiceAccount.
token() {
	show kubectl --namespace "$namespace" create token default --audience "$1"
	token=$(kubectl --namespace "$namespace" create token default --audience "$1")
}

# rpc METHOD TEXT prints a request of A2A 0.3.
rpc() {
	printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":{"message":{"kind":"message","role":"user","messageId":"%s","parts":[{"kind":"text","text":"%s"}]}}}' \
		"$1" "$RANDOM$RANDOM" "$2"
}

# tool NAME ARGUMENTS calls a tool of the MCP server at url, with the version of MCP that has no sessions.
tool() {
	local version=2026-07-28 key=io.modelcontextprotocol
	local meta='"_meta":{"'$key'/protocolVersion":"'$version'","'$key'/clientInfo":{"name":"demo","version":"1"},"'$key'/clientCapabilities":{}}'
	local call='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'$1'","arguments":'$2','$meta'}}'
	run curl -sN "$url/mcp" --header 'Content-Type: application/json' --header 'Accept: application/json, text/event-stream' \
		--header "MCP-Protocol-Version: $version" --header 'Mcp-Method: tools/call' --header "Mcp-Name: $1" --data "$call"
}

step "Two agents and two skills that both share"
if [[ $namespace != default ]]; then
	kubectl apply --server-side --filename - >/dev/null <<-EOF
		apiVersion: v1
		kind: Namespace
		metadata:
		  name: $namespace
		  labels:
		    pod-security.kubernetes.io/enforce: restricted
		    a2a-operator.dev/made-by: demo
	EOF
fi
show kubectl --namespace "$namespace" apply --server-side -k config/samples
# --force-conflicts overwrites the edits that a visitor made since the last run.
kubectl kustomize config/samples | sed "s|a2a-operator/sample-\(echo\|researcher\):dev|${images/\{name\}/\\1}|" |
	kubectl --namespace "$namespace" apply --server-side --force-conflicts --filename - | indent

step "Until the agents are ready"
# The Agents of an earlier demo have its sidecar until the operator changes their Deployments.
for name in echo researcher; do
	deadline=$((SECONDS + 180))
	until [[ $(kubectl --namespace "$namespace" get deployment "$name" --ignore-not-found --output 'jsonpath={.spec.template.spec.initContainers[*].image}') == *"$sidecar"* ]] &&
		kubectl --namespace "$namespace" get deployment "$name" >/dev/null 2>&1; do
		((SECONDS < deadline)) || die "the Deployment $name does not have the sidecar $sidecar"
		sleep 0.5
	done
	kubectl --namespace "$namespace" rollout status deployment "$name" --timeout 3m >/dev/null || true
done
if ! run kubectl --namespace "$namespace" wait --for=condition=Ready --timeout 3m agent/echo agent/researcher; then
	kubectl --namespace "$namespace" describe agents.a2a-operator.dev echo researcher | indent
	die "the agents are not ready"
fi
run kubectl --namespace "$namespace" get agents.a2a-operator.dev echo researcher

step "The card of echo, at both well-known paths"
forward_to "$namespace" service/echo 80
for path in agent.json agent-card.json; do
	show curl -s "$url/.well-known/$path"
	curl -sf "$url/.well-known/$path" >"$scratch/$path"
done
cmp "$scratch/agent.json" "$scratch/agent-card.json" || die "the two cards differ"
run kubectl a2a card get echo --namespace "$namespace"
has "Skill: echo: Echo"

step "A call without a token is refused"
forward_to "$namespace" service/echo 80
run curl -si "$url/" --header 'Content-Type: application/json' --data "$(rpc message/send Hello)"
has "401 Unauthorized"

step "An answer arrives chunk by chunk"
text="Every word of this arrives as soon as the agent has said it"
token "echo.$namespace.a2a-operator.dev"
forward_to "$namespace" service/echo 80
show curl -sN "$url/" --header 'Authorization: Bearer $TOKEN' --header 'Content-Type: application/json' --data "$(rpc message/stream "$text")"
curl -sN "$url/" --header "Authorization: Bearer $token" --header 'Content-Type: application/json' --data "$(rpc message/stream "$text")" |
	sed -un 's/^data: *//p' | tee "$scratch/out" | cut -c 1-160 | indent
(($(grep -c '"artifact-update"' "$scratch/out") > 2)) || die "the answer did not arrive in chunks"
has '"completed"'

step "The registry finds agents, by skill and by what they do"
deadline=$((SECONDS + 10))
until run kubectl a2a find --skill echo --ready --namespace "$namespace" --registry-namespace "$operator" && grep -q echo "$scratch/out"; do
	((SECONDS < deadline)) || die "the registry does not have the agent with the skill echo"
	sleep 0.5
done
run kubectl a2a find say my words back --output name --namespace "$namespace" --registry-namespace "$operator"
[[ $(head -n 1 "$scratch/out") == "$namespace/echo" ]] || die "the best match is not echo"

step "One card has the skills of all agents that its caller sees"
token a2a-operator.dev
forward_to "$operator" service/a2a-operator-registry 80
show curl -s "$url/.well-known/agent.json" --header 'Authorization: Bearer $TOKEN'
curl -sf "$url/.well-known/agent.json" --header "Authorization: Bearer $token" >"$scratch/out"
grep -o '"id": *"[^"]*"' "$scratch/out" | indent
has "$namespace.echo.echo"
has "$namespace.researcher.research"

step "An agent asks back, then finds echo in the registry and calls it"
run kubectl a2a send researcher "The history of tea" --namespace "$namespace"
has "State: input-required"
run kubectl a2a send researcher --task-id "$(sed -n 's/^Task: //p' "$scratch/out" | head -n 1)" "In detail, please" --namespace "$namespace"
has "State: completed"
has "$namespace/echo"

step "A framework finds echo and calls it, with an MCP client only"
# The gateway of a sidecar listens on the loopback interface of the pod only.
forward_to "$namespace" deployment/researcher 8643
tool find_agents '{"q":"say my words back","namespace":"'"$namespace"'","limit":1}'
has echo
tool call_agent '{"agent":"'"$namespace"'/echo","message":"A framework needs only its MCP client"}'
has "A framework needs only its MCP client"

step "kubectl a2a sends a message, and prints the answer as it arrives"
run kubectl a2a send echo "From a terminal, without a token by hand" --namespace "$namespace"
has "State: completed"

step "kubectl a2a chat talks with an agent"
if [[ -t 0 && -t 1 ]]; then
	echo "  Your next message answers a question of the agent; /quit ends the chat."
	show kubectl a2a chat researcher --namespace "$namespace"
	kubectl a2a chat researcher --namespace "$namespace"
else
	run kubectl a2a chat researcher "The history of tea" --namespace "$namespace"
	has "State: input-required"
fi

cat <<-EOF

	The demo took $((SECONDS - start)) s.

	Commands to try next

	    export ${KUBECONFIG:+KUBECONFIG=$KUBECONFIG }${DEMO_PATH:+PATH=$DEMO_PATH:\$PATH}
	    kubectl a2a chat researcher --namespace $namespace
	    kubectl a2a doctor echo --namespace $namespace
	    kubectl --namespace $namespace edit agentskill quote    # both cards change, and no pod restarts
	    $undo    # removes everything
EOF
step "A page of the agents, with their health and a place to try them"
show kubectl a2a ui --no-browser --namespace "$namespace" --registry-namespace "$operator"
if [[ -t 0 && -t 1 ]]; then
	echo "  Open the address in a browser of this machine; it works once. Ctrl-C ends the page and the demo."
	kubectl a2a ui --no-browser --namespace "$namespace" --registry-namespace "$operator"
	exit
fi
kubectl a2a ui --no-browser --namespace "$namespace" --registry-namespace "$operator" >"$scratch/ui" 2>&1 &
forward=$!
deadline=$((SECONDS + 30))
until grep -q http "$scratch/ui"; do
	((SECONDS < deadline)) || die "kubectl a2a ui printed no address: $(cat "$scratch/ui")"
	sleep 0.1
done
curl -sfL --cookie-jar "$scratch/cookies" "$(grep -o 'http[^ ]*' "$scratch/ui" | head -n 1)" >"$scratch/out"
has echo
echo "  The page lists the agents. On a terminal, the demo keeps the page open."
