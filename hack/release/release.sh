#!/usr/bin/env bash
# Usage: hack/release/release.sh build | publish | dry-run [COMMAND...]
# Releases a version: images, the chart, install.yaml, the samples and the archives of kubectl-a2a, with SBOMs, provenance and
# signatures. `build` makes everything in dist, without access to a registry. `publish` pushes and signs what is in dist, and compiles
# nothing of the product. `dry-run` does both with a registry on loopback and a new key, checks the properties that
# docs/how-to/supply-chain.md lists, and runs COMMAND while the registry serves. `make` sets VERSION, LDFLAGS and REPOSITORY.
#
# go, helm, crane and cosign make all artifacts. The times in the archives and in the chart are the time of the commit, and the images
# have no times, so that one commit gives equal digests on every machine. ko is not used, because it chooses the path of the program in
# the image, and the operator executes /sidecar in the pods of agents.
set -euo pipefail
cd "$(dirname "$0")/../.."

: "${VERSION:?is the version, such as v0.1.0}" "${LDFLAGS:?are the linker flags of the programs}"
# public is the prefix of the images in the chart and in config/, and source the address of the source code.
public=ghcr.io/a2a-operator
source=https://github.com/a2a-operator/a2a-operator
output=${OUTPUT:-dist/release}
# staged has the images and the chart as OCI layouts, and their digests: the result of build that publish pushes.
staged=dist/stage
# images has NAME=PACKAGE of each published image.
images=(manager=./cmd/manager sidecar=./cmd/sidecar sample-echo=./config/samples/echo sample-researcher=./config/samples/researcher)
plugin_targets=(darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64)
commit=$(git rev-parse HEAD)
date=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
export TZ=UTC LC_ALL=C.UTF-8 COSIGN_PASSWORD=
parts=$PWD/bin/release crane=$PWD/bin/crane cosign=$PWD/bin/cosign helm=$PWD/bin/helm sbom=$PWD/bin/cyclonedx-gomod
# key has the options of cosign for a key of a dry run. Without them, cosign signs with the identity of the workflow.
key=()
scratch=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT

die() {
	printf 'release: %s\n' "$*" >&2
	exit 1
}

done_() { printf '%-8s %s\n' "$1" "${*:2}"; }

# serve starts a registry on loopback until the end of the script, and sets served to its address. $1 is an address, or "" for a free port.
serve() {
	local log=$scratch/registry-$((${#servers[@]})).log
	: >"$log"
	"$crane" registry serve --address "${1:-127.0.0.1:0}" --disk "$(mktemp -d -p "$scratch")" >"$log" 2>&1 &
	servers+=($!)
	until grep -q 'serving on port' "$log"; do
		kill -0 "${servers[-1]}" 2>/dev/null || die "the registry ended: $(cat "$log")"
		sleep 0.1
	done
	served=127.0.0.1:$(sed -n 's/.*serving on port //p' "$log")
}

# build PACKAGE OS ARCHITECTURE FILE
build() { CGO_ENABLED=0 GOOS=$2 GOARCH=$3 go build -trimpath -buildvcs=false -ldflags "$LDFLAGS" -o "$4" "$1"; }

# describe PROGRAM FILE [AUTHORITIES] writes the SBOM of a program, or of its image with a bundle of certificate authorities.
describe() {
	"$sbom" bin -json -noserial -notimestamp -std -licenses -version "$VERSION" -output "$2" "$1" 2>"$scratch/sbom.log" || die "$(cat "$scratch/sbom.log")"
	"$parts" complete "$date" "$2" "${@:3}" || die "complete the SBOM $2"
}

# pack DIRECTORY TIME writes a tar of a directory, whose files have no blanks in their names, without owners and times of this machine.
pack() { tar -C "$1" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="$2" -c $(ls -A "$1"); }

# digest_of IMAGE returns the digest of a staged image.
digest_of() { cat "$staged/$1.digest"; }

# build_images stages the images in a registry on loopback: an index of both platforms for each program.
build_images() {
	local image name package program arch root file at
	"$parts" authorities >"$scratch/ca-certificates.crt"
	go run ./hack/licenses --texts "$output/licenses.txt"
	for image in "${images[@]}"; do
		name=${image%%=*} package=${image#*=}
		program=$(basename "$package")
		local platforms=()
		for arch in amd64 arm64; do
			file=$output/programs/linux_$arch/$program
			at=$stage/$name:$arch
			build "$package" linux "$arch" "$file"
			mkdir -p "$output/sbom/linux_$arch"
			describe "$file" "$output/sbom/linux_$arch/$program.cdx.json" "$scratch/ca-certificates.crt"
			root=$(mktemp -d -p "$scratch")
			mkdir -p "$root/etc/ssl/certs" "$root/licenses"
			install -m 755 "$file" "$root/$program"
			install -m 644 LICENSE "$root/licenses/"
			install -m 644 "$output/licenses.txt" "$root/licenses/third-party.txt"
			install -m 644 "$scratch/ca-certificates.crt" "$root/etc/ssl/certs/"
			pack "$root" @0 >"$scratch/layer.tar"
			"$crane" append --oci-empty-base --new_layer "$scratch/layer.tar" --new_tag "$at" >/dev/null 2>&1
			"$crane" mutate "$at" --tag "$at" --set-platform "linux/$arch" --entrypoint "/$program" --user 65532:65532 --workdir / \
				--env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
				--label "org.opencontainers.image.title=$name,org.opencontainers.image.version=$VERSION,org.opencontainers.image.revision=$commit" \
				--label "org.opencontainers.image.source=$source,org.opencontainers.image.licenses=Apache-2.0" >/dev/null 2>&1
			platforms+=(--manifest "$at")
			"$crane" digest "$at" >"$staged/$name-$arch.digest"
		done
		"$crane" index append "${platforms[@]}" --tag "$stage/$name:index" >/dev/null 2>&1
		"$crane" digest "$stage/$name:index" >"$staged/$name.digest"
		"$crane" pull --format oci "$stage/$name:index" "$staged/$name" >/dev/null 2>&1 || die "stage the image $name"
	done
}

# pin PREFIX TAG pins the images PREFIX/NAME:TAG of a manifest by digest.
pin() {
	local script=() image name text
	for image in "${images[@]}"; do
		name=${image%%=*}
		script+=(-e "s|$1/$name:$2|$REPOSITORY/$name@$(digest_of "$name")|g")
	done
	text=$(sed "${script[@]}")
	[[ $text == *@sha256:* ]] || die "no image $1/NAME:$2 is in the manifest"
	! grep -E "image.*$1/" <<<"$text" | grep -v @sha256: >&2 || die "an image stays without a digest"
	printf '%s\n' "$text"
}

# write_manifests writes install.yaml, with the CRDs, the roles and the manager, and samples.yaml.
write_manifests() {
	local kustomize=(go tool -modfile=hack/tools/go.mod kustomize build)
	"${kustomize[@]}" config/default | pin "$public" "$chart_version" >"$output/install.yaml"
	"${kustomize[@]}" config/samples | pin a2a-operator dev >"$output/samples.yaml"
}

# package_chart writes the package of the chart, with the digests of the images as default values.
package_chart() {
	local tree=$scratch/chart/a2a-operator image name
	rm -rf "$scratch/chart"
	mkdir -p "$scratch/chart"
	cp -r charts/a2a-operator "$tree"
	for image in "${images[@]}"; do
		name=${image%%=*}
		awk -v old="repository: $public/$name" -v new="repository: $REPOSITORY/$name" -v digest="$(digest_of "$name")" '
			substr($0, length($0) - length(old) + 1) == old { sub(/repository: .*/, new); found = 1 }
			found && sub(/digest: ""/, "digest: \"" digest "\"") { found = 0 }
			{ print }' "$tree/values.yaml" >"$scratch/values.yaml"
		mv "$scratch/values.yaml" "$tree/values.yaml"
	done
	! grep -n 'digest: ""' "$tree/values.yaml" >&2 || die "an image in values.yaml has no digest"
	# Artifact Hub lists and scans these images, and the notes of an installation compare with them.
	{
		echo '  artifacthub.io/images: |'
		for image in "${images[@]}"; do
			name=${image%%=*}
			printf '    - name: %s\n      image: %s/%s@%s\n' "$name" "$REPOSITORY" "$name" "$(digest_of "$name")"
		done
	} >>"$tree/Chart.yaml"
	find "$tree" -exec touch -d "$date" {} +
	"$helm" package "$tree" --version "${VERSION#v}" --app-version "$VERSION" --destination "$output" >/dev/null
	touch -d "$date" "$output/a2a-operator-${VERSION#v}.tgz"
	"$helm" push "$output/a2a-operator-${VERSION#v}.tgz" "oci://$stage" --plain-http >/dev/null 2>&1
	"$crane" digest "$stage/a2a-operator:${VERSION#v}" >"$staged/chart.digest"
	"$crane" pull --format oci "$stage/a2a-operator:${VERSION#v}" "$staged/chart" >/dev/null 2>&1 || die "stage the chart"
}

# write_archives writes an archive of the plugin and its SBOM for each platform, and the manifest of krew, the plugin manager of kubectl.
write_archives() {
	local target os arch base root completion suffix
	cat >"$output/a2a.yaml" <<-EOF
		apiVersion: krew.googlecontainertools.github.com/v1alpha2
		kind: Plugin
		metadata:
		  name: a2a
		spec:
		  version: $VERSION
		  homepage: $source
		  shortDescription: Call, inspect and debug A2A agents
		  description: |
		    Finds the A2A agents of a cluster, calls them, shows their tasks and cards, and explains why an
		    agent of a2a-operator does not work.
		  caveats: |
		    krew installs no programs for completion. To complete the words after "kubectl a2a", run once:
		      kubectl a2a completion kubectl
		  platforms:
	EOF
	for target in "${plugin_targets[@]}"; do
		os=${target%/*} arch=${target#*/} suffix=
		completion=kubectl_complete-a2a
		if [[ $os == windows ]]; then
			suffix=.exe
			completion+=.cmd
		fi
		base=kubectl-a2a_${VERSION}_${os}_$arch
		root=$(mktemp -d -p "$scratch")
		build ./cmd/kubectl-a2a "$os" "$arch" "$root/kubectl-a2a$suffix"
		describe "$root/kubectl-a2a$suffix" "$output/$base.cdx.json"
		install -m 755 "internal/cli/completion/$completion" "$root/"
		install -m 644 LICENSE "$output/licenses.txt" "$root/"
		if [[ $os == windows ]]; then
			find "$root" -exec touch -d "$date" {} +
			(cd "$root" && find . -type f | sort | zip -qX "$scratch/archive.zip" -@)
			mv "$scratch/archive.zip" "$output/$base.zip"
			base+=.zip
		else
			pack "$root" "$date" | gzip -n9 >"$output/$base.tar.gz"
			base+=.tar.gz
		fi
		cat >>"$output/a2a.yaml" <<-EOF
			    - selector:
			        matchLabels:
			          os: $os
			          arch: $arch
			      uri: $source/releases/download/$VERSION/$base
			      sha256: $(sha256sum <"$output/$base" | cut -d ' ' -f 1)
			      bin: kubectl-a2a$suffix
		EOF
	done
}

# write_provenance writes a predicate of SLSA provenance v1. It has no time, so that two runs for one commit write equal bytes.
write_provenance() {
	local builder=$source/hack/release run=
	if [[ -n ${GITHUB_WORKFLOW_REF:-} ]]; then
		builder=$GITHUB_SERVER_URL/$GITHUB_WORKFLOW_REF
		run=", \"metadata\": {\"invocationId\": \"$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID/attempts/$GITHUB_RUN_ATTEMPT\"}"
	fi
	cat >"$output/provenance.json" <<-EOF
		{
		  "buildDefinition": {
		    "buildType": "$source/blob/main/hack/release",
		    "externalParameters": {"version": "$VERSION", "repository": "$REPOSITORY"},
		    "internalParameters": {"go": "$(go env GOVERSION)"},
		    "resolvedDependencies": [{"uri": "git+$source@refs/tags/$VERSION", "digest": {"gitCommit": "$commit"}}]
		  },
		  "runDetails": {"builder": {"id": "$builder"}$run}
		}
	EOF
}

# build_installation builds everything that an installation needs, and pushes it to the registry stage only.
build_installation() {
	[[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "VERSION $VERSION is not a semantic version with a leading v, such as v0.1.0"
	chart_version=$(sed -n 's/^appVersion: //p' charts/a2a-operator/Chart.yaml)
	rm -rf "$output" "$staged"
	mkdir -p "$output" "$staged"
	go build -C hack/release -o "$parts" .
	serve ""
	stage=$served
	build_images
	write_manifests
	package_chart
}

# load_stage serves what build has made in a registry on loopback, the registry stage.
load_stage() {
	local image name
	[[ -e $staged/chart.digest && $(cat "$staged/version" 2>/dev/null) == "$VERSION $commit" ]] || die "$staged is not the build of $VERSION at commit $commit: run release.sh build"
	serve ""
	stage=$served
	for image in "${images[@]}"; do
		name=${image%%=*}
		"$crane" push "$staged/$name" "$stage/$name:index" >/dev/null 2>&1 || die "load the image $name"
		[[ $("$crane" digest "$stage/$name:index") == "$(digest_of "$name")" ]] || die "$staged/$name has another digest than $staged/$name.digest"
	done
	"$crane" push "$staged/chart" "$stage/a2a-operator:${VERSION#v}" >/dev/null 2>&1 || die "load the chart"
	[[ $("$crane" digest "$stage/a2a-operator:${VERSION#v}") == "$(digest_of chart)" ]] || die "$staged/chart has another digest than $staged/chart.digest"
}

# refuse_other_images exits if a tag of the version names another image, because a published version never changes.
refuse_other_images() {
	local image name found
	for image in "${images[@]}"; do
		name=${image%%=*}
		if found=$("$crane" digest "$REPOSITORY/$name:$VERSION" 2>/dev/null) && [[ $found != $(digest_of "$name") ]]; then
			die "$REPOSITORY/$name:$VERSION is published with the digest $found, and commit $commit makes $(digest_of "$name"): release the next version"
		fi
	done
}

push_images() {
	local image name
	for image in "${images[@]}"; do
		name=${image%%=*}
		"$crane" copy "$stage/$name:index" "$REPOSITORY/$name:$VERSION" 2>/dev/null || die "push image $REPOSITORY/$name:$VERSION"
		done_ image "$REPOSITORY/$name:$VERSION $(digest_of "$name")"
	done
}

# push_chart pushes the chart by its digest. After tag_chart, users can install it by its version.
push_chart() { "$crane" copy "$stage/a2a-operator:${VERSION#v}" "$REPOSITORY/charts/a2a-operator@$(digest_of chart)" 2>/dev/null || die "push the chart"; }

tag_chart() {
	"$crane" tag "$REPOSITORY/charts/a2a-operator@$(digest_of chart)" "${VERSION#v}" 2>/dev/null || die "tag the chart"
	done_ chart "oci://$REPOSITORY/charts/a2a-operator ${VERSION#v} $(digest_of chart)"
}

# sign VERB ARGUMENT... runs a command of cosign that signs.
sign() { "$cosign" "$1" --yes "${key[@]}" "${@:2}" >"$scratch/cosign.log" 2>&1 || die "cosign $*: $(tail -n 5 "$scratch/cosign.log")"; }

# sign_images signs the images, and attests their provenance and their SBOMs.
sign_images() {
	local image name program arch
	for image in "${images[@]}"; do
		name=${image%%=*} program=$(basename "${image#*=}")
		sign sign --recursive "$REPOSITORY/$name@$(digest_of "$name")"
		sign attest --type slsaprovenance1 --predicate "$output/provenance.json" "$REPOSITORY/$name@$(digest_of "$name")"
		for arch in amd64 arm64; do
			sign attest --type cyclonedx --predicate "$output/sbom/linux_$arch/$program.cdx.json" "$REPOSITORY/$name@$(digest_of "$name-$arch")"
		done
		done_ signed "$REPOSITORY/$name"
	done
}

sign_chart() {
	sign sign "$REPOSITORY/charts/a2a-operator@$(digest_of chart)"
	sign attest --type slsaprovenance1 --predicate "$output/provenance.json" "$REPOSITORY/charts/a2a-operator@$(digest_of chart)"
	done_ signed "$REPOSITORY/charts/a2a-operator"
}

# write_images writes images.txt: the list of all images, with the digests of those of the release.
write_images() {
	local image name script=()
	for image in "${images[@]}"; do
		name=${image%%=*}
		grep -q "^$public/$name:" config/images.txt || die "config/images.txt has no $public/$name: make generate"
		script+=(-e "s|^$public/$name:.*|$REPOSITORY/$name:$VERSION@$(digest_of "$name")|")
	done
	sed "${script[@]}" config/images.txt >"$output/images.txt"
	! grep "^$public/" "$output/images.txt" | grep -v @sha256: >&2 || die "the release has no image that images.txt names"
}

# write_lists writes images.txt, digests.txt, and checksums.txt with the checksum of each other file of the release.
write_lists() {
	write_images
	local image name arch
	for image in "${images[@]}"; do
		name=${image%%=*}
		echo "$REPOSITORY/$name@$(digest_of "$name")"
		for arch in amd64 arm64; do
			echo "$REPOSITORY/$name@$(digest_of "$name-$arch") linux/$arch"
		done
	done >"$output/digests.txt"
	echo "$REPOSITORY/charts/a2a-operator@$(digest_of chart)" >>"$output/digests.txt"
	(cd "$output" && find . -maxdepth 1 -type f -printf '%P\n' | sort | xargs sha256sum >"$scratch/checksums.txt" && mv "$scratch/checksums.txt" .)
}

# sign_files signs checksums.txt, and attests the provenance of all files of the release in one statement.
sign_files() {
	local files
	mapfile -t files < <(cd "$output" && cut -c 67- checksums.txt)
	(cd "$output" && "$parts" statement provenance.json "${files[@]}" checksums.txt) >"$scratch/statement.json" || die "write the statement on the files"
	sign attest-blob --statement "$scratch/statement.json" --bundle "$output/provenance.sigstore.json"
	sign sign-blob --bundle "$output/checksums.txt.sigstore.json" "$output/checksums.txt"
	done_ signed "$output/checksums.txt and ${#files[@]} files"
}

# write_notes writes the notes of the release: the section of CHANGELOG.md, or for a version without a section, as in a dry run, a draft of it.
write_notes() {
	if grep -q "^## $VERSION\b" CHANGELOG.md; then
		go run ./hack/changelog notes "$VERSION"
	else
		go run ./hack/changelog draft "$VERSION" <"$output/install.yaml"
	fi >"$staged/notes.md" || die "write the notes of the release"
}

# build_release makes everything that publish pushes, and pushes nothing.
build_release() {
	build_installation
	write_archives
	write_provenance
	write_notes
	write_lists
	echo "$VERSION $commit" >"$staged/version"
}

# publish pushes what build_release has made. It pushes and signs the images before the chart that names them, and signs the
# chart before the chart gets its tag. After a failed run, each chart with the tag of its version is therefore signed, and all images
# that it names exist. The next run for the same commit completes the release.
publish() {
	load_stage
	refuse_other_images
	push_images
	sign_images
	push_chart
	sign_chart
	tag_chart
	sign_files
}

# verify PUBLIC_KEY checks every signature and attestation. It ignores the transparency log, because signatures by a key are not in it.
verify() {
	local check=("$cosign") options=(--key "$1" --insecure-ignore-tlog=true) reference log=$scratch/cosign.log
	while read -r reference _; do
		"${check[@]}" verify "${options[@]}" "$reference" >"$log" 2>&1 || return 1
	done <"$output/digests.txt"
	while read -r reference; do
		"${check[@]}" verify-attestation "${options[@]}" --type slsaprovenance1 "$reference" >"$log" 2>&1 || return 1
	done < <(grep -v ' linux/' "$output/digests.txt")
	while read -r reference _; do
		"${check[@]}" verify-attestation "${options[@]}" --type cyclonedx "$reference" >"$log" 2>&1 || return 1
	done < <(grep ' linux/' "$output/digests.txt")
	"${check[@]}" verify-blob "${options[@]}" --bundle "$output/checksums.txt.sigstore.json" "$output/checksums.txt" >"$log" 2>&1 || return 1
	while read -r _ reference; do
		"${check[@]}" verify-blob-attestation "${options[@]}" --type slsaprovenance1 --bundle "$output/provenance.sigstore.json" "$output/$reference" >"$log" 2>&1 || return 1
	done <"$output/checksums.txt"
}

# follow DIRECTORY runs the commands of docs/how-to/supply-chain.md for the files of a release.
follow() { hack/release/follow.sh docs/how-to/supply-chain.md "$(realpath "$1")" "$VERSION" "$scratch/cosign.pub" "$cosign" >"$scratch/follow.log" 2>&1 || { tail -n 20 "$scratch/follow.log" >&2; return 1; }; }

# refuses DESCRIPTION COMMAND... exits if a command succeeds.
refuses() { ! ("${@:2}") >"$scratch/refused.log" 2>&1 || die "$1 is accepted"; }

new_key() {
	(cd "$scratch" && "$cosign" generate-key-pair --output-key-prefix "$1" >/dev/null 2>&1) || die "make a key"
}

# dry_run publishes twice, and checks what docs/how-to/supply-chain.md says about a release.
dry_run() {
	serve "${ADDRESS:-127.0.0.1:5005}"
	REPOSITORY=$served/a2a-operator
	new_key cosign
	new_key stranger
	echo '{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}' >"$scratch/services.json"
	key=(--key "$scratch/cosign.key" --signing-config "$scratch/services.json")
	build_installation
	push_images
	cp "$staged/chart.digest" "$scratch/first.digest"
	local first
	first=$("$crane" digest "$REPOSITORY/manager:$VERSION")
	refuses "an image without a signature" "$cosign" verify --key "$scratch/cosign.pub" --insecure-ignore-tlog=true "$REPOSITORY/manager@$first"
	# The second run for the commit completes the release.
	build_release
	publish
	[[ $("$crane" digest "$REPOSITORY/manager:$VERSION") == "$first" && $(digest_of chart) == $(<"$scratch/first.digest") ]] || die "two runs for a commit have other digests"
	verify "$scratch/cosign.pub" || die "verify: $(tail -n 5 "$scratch/cosign.log")"
	done_ verified "$(wc -l <"$output/digests.txt") objects, checksums.txt"
	local image name
	while read -r image; do
		name=${image#*/}
		"$crane" copy "$image" "$stage/mirror/${name%@*}" 2>/dev/null || die "mirror $image"
		[[ $("$crane" digest "$stage/mirror/${name%@*}") == "${image#*@}" ]] || die "$image has another digest in a mirror"
	done < <(grep "^$REPOSITORY/" "$output/images.txt")
	done_ mirrored "$(grep -c "^$REPOSITORY/" "$output/images.txt") images of images.txt"
	refuses "a signature of another key" verify "$scratch/stranger.pub"
	cp -r "$output" "$scratch/changed"
	echo changed >>"$scratch/changed/checksums.txt"
	refuses "a changed list of checksums" "$cosign" verify-blob --key "$scratch/cosign.pub" --insecure-ignore-tlog=true \
		--bundle "$scratch/changed/checksums.txt.sigstore.json" "$scratch/changed/checksums.txt"
	refuses "a changed file" eval 'cp -r "$output" "$scratch/tampered" && echo >>"$scratch/tampered/install.yaml" && follow "$scratch/tampered"'
	follow "$output"
	done_ followed "docs/how-to/supply-chain.md, with the published files only"
	echo sha256:other >"$scratch/manager.digest.other"
	refuses "another image for a published version" eval 'digest_of() { cat "$scratch/manager.digest.other"; }; refuse_other_images'
	(cd "$output" && sha256sum --check --quiet checksums.txt)
	done_ checked "refusals of unsigned, changed and other artifacts"
	if [[ -n ${FORMER:-} ]]; then
		# Another version of this commit, from which COMMAND can upgrade.
		(
			LDFLAGS=${LDFLAGS//.version=$VERSION/.version=$FORMER} VERSION=$FORMER output=$output-former staged=$staged-former
			servers=()
			trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
			build_installation
			push_images
			push_chart
			tag_chart
		)
		export RELEASE_FORMER_CHART_VERSION=${FORMER#v} RELEASE_FORMER_FILES=$output-former
	fi
	if (($#)); then
		RELEASE_CHART=oci://$REPOSITORY/charts/a2a-operator RELEASE_CHART_VERSION=${VERSION#v} RELEASE_FILES=$output "$@"
	fi
}

case ${1:-} in
build | publish)
	: "${REPOSITORY:?is the prefix of the images, such as ghcr.io/a2a-operator}"
	chart_version=$(sed -n 's/^appVersion: //p' charts/a2a-operator/Chart.yaml)
	[[ $VERSION == "$chart_version" ]] || die "VERSION $VERSION is not the appVersion $chart_version of the chart: change the tag, or both versions there"
	[[ -z $(git status --porcelain) ]] || die "the source tree differs from commit $commit: commit or remove the changes"
	if [[ $1 == build ]]; then
		grep -q "^## $VERSION\b" CHANGELOG.md || die "CHANGELOG.md has no section for $VERSION: run make released VERSION=$VERSION, commit the result, and tag that commit"
		build_release
	else
		publish
	fi
	;;
dry-run) dry_run "${@:2}" ;;
*) die "want build, publish or dry-run" ;;
esac
