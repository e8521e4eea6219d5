##@ Release

# The released programs. Each has an image of the same name.
SHIPPED := ./cmd/manager ./cmd/sidecar

.PHONY: released
released: prerequisites ## Store CRDs, pod templates and sidecar configurations as the release with which later ones are compared.
	$(call say,keeping what is promised as released)
	@rm -f config/crd/released/accepted.yaml
	cp config/crd/bases/*.yaml config/crd/released/
	@UPDATE_RELEASED=1 $(go_test) -count=1 -run TestNextReleaseRestartsNoAgent ./internal/desired

.PHONY: licenses
licenses: prerequisites ## Write dist/licenses.txt: the license texts that must be distributed with the programs.
	$(call say,collecting licenses)
	@go run ./hack/supply licenses --texts dist/licenses.txt

.PHONY: sbom
sbom: image-binaries ## Write dist/*.spdx.json: the linked modules of each program, in SPDX.
	$(call say,listing what the programs are linked from)
	@go run ./hack/supply sbom --version '$(VERSION)' --created "$$(git log -1 --format=%cI)" --output dist $(addprefix $(IMAGE_DIR)/,$(notdir $(SHIPPED)))

.PHONY: reproducible
reproducible: prerequisites ## Build each program twice, in different places, and compare (minutes; SHIPPED=./cmd/sidecar for one).
	$(call say,building $(SHIPPED) twice)
	@GOOS=linux hack/reproducible.sh '$(LDFLAGS)' $(SHIPPED)

.PHONY: vulncheck
vulncheck: prerequisites ## Search the called code for known vulnerabilities, with vuln.go.dev or GOVULNDB.
	$(call say,looking for known vulnerabilities)
	@failed=0; for module in $(MODULES); do \
		go tool -modfile='$(CURDIR)/hack/tools/go.mod' govulncheck -C "$$module" $(if $(GOVULNDB),-db '$(GOVULNDB)') ./... || failed=1; \
	done; exit $$failed
