##@ Change

.PHONY: conformance
conformance: prerequisites python-environments ## Run the tests of the protocol requirements, and write docs/reference/conformance.md.
	$(call say,running every client that there is: the JavaScript ones need node and npm and the Python ones Python 3.11)
	@UPDATE_GOLDEN=1 $(go_test) -count=1 -run '^TestWire21_Matrix$$' ./test/interop
	$(call say,running what proves the lines)
	@mkdir -p bin
	@$(go_test) -json -run '^TestWire' $$(go run ./hack/conformance --packages) > bin/conformance.json \
		|| { grep -o '"Output":"[^"]*--- FAIL.*' bin/conformance.json; exit 1; }
	@go run ./hack/conformance < bin/conformance.json
