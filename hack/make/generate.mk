##@ Change

.PHONY: generate
generate: prerequisites generate-api generate-chart generate-docs generate-descriptors generate-licenses ## Write all generated files: deepcopy, CRDs, RBAC, chart, references, descriptors, licenses.

.PHONY: generate-api
generate-api:
	$(call say,generating deepcopy functions and apply configurations and CRDs and the manager's role)
	rm -rf api/v1alpha1/applyconfiguration
	$(CONTROLLER_GEN) paths=./api/... \
		object:headerFile=hack/boilerplate.go.txt \
		applyconfiguration:headerFile=hack/boilerplate.go.txt \
		crd:generateEmbeddedObjectMeta=true output:crd:dir=config/crd/bases
	go run ./hack/crdbounds config/crd/bases
	go run ./hack/crdfields internal/objects/crdschema/fields.txt config/crd/bases/a2a-operator.dev_agents.yaml config/crd/bases/a2a-operator.dev_agentskills.yaml
	$(CONTROLLER_GEN) paths=./controllers/... paths=./internal/... \
		rbac:roleName=manager output:rbac:dir=config/rbac

.PHONY: generate-chart
generate-chart: generate-api
	$(call say,generating the chart and config/default)
	go run ./hack/chart
	@{ echo '# Generated from the chart by `make generate`.'; \
		go tool -modfile=hack/tools/go.mod helm template a2a-operator charts/a2a-operator --namespace a2a-system --set crds.enabled=false | \
		sed -E '/^# Source: |helm\.sh\/chart: |app\.kubernetes\.io\/(managed-by|version): /d'; } >config/default/operator.yaml

.PHONY: generate-docs
generate-docs: generate-chart
	$(call say,generating pages and tables of docs/reference and the texts of kubectl a2a doctor)
	$(CRD_REF_DOCS) --log-level=ERROR --renderer=markdown --config=hack/api-reference.yaml \
		--source-path=api --output-path=docs/reference/api-reference.md
	go run ./hack/reference

.PHONY: generate-descriptors
generate-descriptors:
	$(call say,compiling the protos of gRPC)
	cd internal/a2a/binding/grpc/proto && go run ../../../../../hack/descriptors descriptors.binpb a2a.proto a2a_v0_3.proto

.PHONY: generate-licenses
generate-licenses:
	$(call say,listing the licenses of the linked modules)
	go run ./hack/licenses

.PHONY: tidy
tidy: prerequisites ## Tidy go.mod of every module.
	@for mod in $$(git ls-files '*go.mod' ':!hack/site/go.mod'); do echo "tidy $$mod"; go mod tidy -C "$$(dirname "$$mod")"; done
