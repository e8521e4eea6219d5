##@ Change

.PHONY: conformance
conformance: prerequisites python-environments ## Run the tests of the protocol requirements, and write docs/reference/conformance.md.
	$(call say,running the clients of all SDKs: JavaScript needs node and npm; Python needs Python 3.11)
	@UPDATE_GOLDEN=1 $(go_test) -count=1 -run '^TestWire21_Matrix$$' ./test/interop
	$(call say,running the conformance suite of the A2A project; without the suite its results on the page stay)
	@UPDATE_GOLDEN=1 $(go_test) -count=1 -run '^TestACTS$$' ./test/acts
	$(call say,running the tests of docs/reference/conformance.md)
	@mkdir -p bin
	@$(go_test) -json -run '^TestWire' $$(go run ./hack/conformance --packages) > bin/conformance.json \
		|| { grep -o '"Output":"[^"]*--- FAIL.*' bin/conformance.json; exit 1; }
	@go run ./hack/conformance < bin/conformance.json
