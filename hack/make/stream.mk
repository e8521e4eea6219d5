##@ Check streams and steps

# STORE=redis checks two sidecars with one redis-server. SEED=7 selects another plan of faults. `make test` runs a short form of the checks.
STORE ?=
SEED ?= 1

.PHONY: stream-check
stream-check: prerequisites ## Check streams while clients, agents and sidecars fail: 10,000 tasks, a million events (docs/explanation/reliability.md).
	@mkdir -p bin; for store in $(or $(STORE),memory); do for scenario in campaign drain $(if $(filter redis,$(STORE)),outage lifecycle,slow); do \
		nice -n 15 go run ./test/stream -scenario $$scenario -store $$store -seed $(SEED) -report bin/stream-$$scenario-$$store.json || exit 1; \
	done; done

.PHONY: step-check
step-check: prerequisites redis-server ## Check the steps of agents without code while sidecars are killed: 10,000 tasks on both stores (docs/explanation/reliability.md).
	@STEPS=10000 SEED=$(SEED) nice -n 15 go test -count=1 -timeout 2h -v -run "TestKills/$(or $(STORE),.)" ./test/steps

.PHONY: soak
soak: prerequisites ## Connect and disconnect 100,000 times, and check that the idle sidecar then has no more memory, goroutines and files than before (5 min).
	@nice -n 15 go run ./test/stream -scenario soak -seed $(SEED)

.PHONY: planted
planted: prerequisites redis-server ## Plant known bugs in a copy of the tree, and expect that a campaign notices each of them (minutes).
	$(call say,planting the bugs of test/stream/planted)
	@SEED=$(SEED) hack/planted.sh
