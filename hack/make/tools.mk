# Tools are pinned in hack/tools/go.mod and built by the Go command, from its cache after the first time. Nothing is
# downloaded but Go modules.

tool = go tool -modfile=hack/tools/go.mod
CONTROLLER_GEN := $(tool) controller-gen
CRD_REF_DOCS := $(tool) crd-ref-docs

.PHONY: prerequisites
prerequisites: # What every target needs.
	@hack/prerequisites.sh go git
