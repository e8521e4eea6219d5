# `make help` lists the targets. They are in hack/make/, one file for each subject.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# hack/prerequisites.sh repeats the requested targets in its advice.
export MAKECMDGOALS

# One set of build flags for everything, so that all builds share Go's build cache. Without cgo, the binaries are
# static and need no C compiler. The race detector and hack/prose.sh need one, and set CGO_ENABLED=1.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath -buildvcs=%,$(shell go env GOFLAGS 2>/dev/null)) -trimpath -buildvcs=false

# The modules whose code is tested, linted and searched for vulnerabilities. `make test-monitoring` tests
# hack/monitoring. The other modules pin the versions of tools and of components of the cluster.
MODULES := . hack/cluster hack/release test/issuer

# say announces a long step.
say = @printf '\033[1m==> %s\033[0m\n' "$(1)"

# `make help` lists the groups in this order.
fragments := $(addprefix hack/make/,demo.mk test.mk e2e.mk bench.mk verify.mk docs.mk generate.mk build.mk supply.mk cluster.mk)
include $(fragments) $(filter-out $(fragments),$(sort $(wildcard hack/make/*.mk)))

##@ Help

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { group = substr($$0, 5); if (!(group in text)) { order[++groups] = group; text[group] = "" } } \
		/^[a-zA-Z0-9_-]+:.*## / { text[group] = text[group] sprintf("  \033[36m%-16s\033[0m %s\n", $$1, $$2) } \
		END { for (i = 1; i <= groups; i++) if (text[order[i]] != "") printf "%s\n%s\n", order[i], text[order[i]] }' \
		$(MAKEFILE_LIST)
