# hack/tools/go.mod pins the tools, and the Go command builds them; later builds use Go's cache. Only Go modules are downloaded.

tool = go tool -modfile=hack/tools/go.mod
CONTROLLER_GEN := $(tool) controller-gen
CRD_REF_DOCS := $(tool) crd-ref-docs

.PHONY: prerequisites
prerequisites: # Checks the programs that every target needs.
	@hack/prerequisites.sh go git
