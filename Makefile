# The short way to everything; each target is safe to repeat and installs what it needs (tools/install-deps).
# CMake and Ninja do the work; see CMakePresets.json for the other ways to build.

SHELL := /bin/bash
BUILD ?= build
JOBS ?= $(shell nproc)
export NINJA_STATUS ?= [%p after %e s] 
PEER_GRAPHS ?= ogbn-arxiv flickr
PEER_RESULTS ?= bench/results/peers-here.json
BATCH_GRAPH ?= ogbn-products
CHECK_OPTIONS ?=

.DEFAULT_GOAL := help
.PHONY: help deps build demo check check-synth check-morphgl check-mgg check-links check-tiering check-mpi \
  check-partition check-accuracy check-defaults check-toys check-sanitize check-python wheel bench bench-peers \
  bench-batches bench-mpi bench-scale format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install the packages that building and testing need
	@tools/install-deps check

build: ## build the command into build/bin/gneiss
	@tools/install-deps build
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=OFF
	@cmake --build $(BUILD) --parallel $(JOBS) --target gneiss

demo: ## train gcn, sage, gin and gat on two small graphs and show the scores
	@tools/demo --before-build "$(BUILD)" "$(JOBS)"
	@$(MAKE) --no-print-directory build
	@GNEISS=$(BUILD)/bin/gneiss tools/demo

# Test programs share the processors: a waiting thread that spins would hold up the one it waits for.
check: ## build everything and run all tests
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON $(CHECK_OPTIONS)
	@cmake --build $(BUILD) --parallel $(JOBS)
	@status=0; \
	  OMP_WAIT_POLICY=passive ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(JOBS) || \
	  status=$$?; \
	  tools/check-skips $(BUILD) || status=1; exit $$status

check-synth: ## write, build and run every program of tests/synth/cases.txt (minutes)
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON
	@cmake --build $(BUILD) --parallel $(JOBS) --target check-synth

check-morphgl: ## rerun the experiments of MorphGL's paper on simulated machines and hold their numbers (a minute)
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON
	@cmake --build $(BUILD) --parallel $(JOBS) --target check-morphgl

check-mgg: ## rerun the experiments of MGG's paper on simulated machines and hold their numbers (minutes)
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON
	@cmake --build $(BUILD) --parallel $(JOBS) --target check-mgg

check-links: ## time sums of two virtual devices over a link that takes time, on an idle machine (seconds)
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON
	@cmake --build $(BUILD) --parallel $(JOBS) --target check-links

check-tiering: ## rerun the experiments of the Data Tiering paper on generated graphs and hold their numbers (minutes)
	@tools/install-deps check
	@tools/configure $(BUILD) -DGNEISS_BUILD_TESTS=ON
	@cmake --build $(BUILD) --parallel $(JOBS) --target check-tiering

check-mpi: ## install Open MPI, build with it, and hold processes under mpirun against one process (a minute)
	@tools/install-deps check mpi
	@tools/configure $(BUILD)-mpi -DGNEISS_BUILD_TESTS=ON -DGNEISS_MPI=ON
	@cmake --build $(BUILD)-mpi --parallel $(JOBS) --target gneiss mpi_space_test
	@tools/check-mpi $(BUILD)-mpi/bin/gneiss $(BUILD)-mpi/tests/mpi_space_test

check-partition: ## cut graphs that partitioners stumble over, and compare modelled with measured epochs (minutes)
	@tools/install-deps check
	@tools/configure $(BUILD)
	@cmake --build $(BUILD) --parallel $(JOBS) --target gneiss
	@tools/check-partition $(BUILD)/bin/gneiss

check-accuracy: build ## train on the published data sets and compare with the literature (long)
	@GNEISS=$(BUILD)/bin/gneiss tools/check-accuracy

check-defaults: build ## train the models with defaults and compare them with the recipes (long)
	@GNEISS=$(BUILD)/bin/gneiss tools/check-accuracy --defaults

check-toys: ## add a toy reader, op and pass to a copy of the tree, build it and try them (minutes)
	@tools/install-deps build
	@tools/check-toys

check-sanitize: ## run the tests under the address and undefined-behaviour sanitizers, threads under TSan
	@tools/install-deps check
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build --preset asan-ubsan --parallel $(JOBS)
	@status=0; ctest --preset asan-ubsan --parallel $(JOBS) || status=$$?; \
	  tools/check-skips build-asan-ubsan --sanitized || status=1; exit $$status
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --parallel $(JOBS)
	@ctest --preset tsan

wheel: ## build the Python package, dist/gneiss-*.whl, with the command in it
	@tools/install-deps build
	@JOBS=$(JOBS) tools/make-wheel

check-python: wheel ## install the wheel and its partners into a fresh environment and run tests/python (minutes)
	@tools/check-python

bench: ## build the benchmarks and run the ones that need nothing else
	@tools/install-deps bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench --parallel $(JOBS)
	@for b in build-bench/bin/*_bench; do echo "== $$b"; "$$b" || exit 1; done

bench-peers: build ## measure DGL and PyG beside Gneiss; writes README's table and docs/results.md
	@bench/peers/install
	@build/bin/gneiss doctor --calibrate
	@bench/peers/run --graphs $(PEER_GRAPHS) --json build/peers.json
	@bench/peers/report build/peers.json --results $(PEER_RESULTS)
	@bench/results/render

bench-scale: build ## papers100m:scale=SCALE (0.25) generated, scored, reordered, trained within MEM (6G) (hours)
	@bench/scale --gneiss $(BUILD)/bin/gneiss --scale $(or $(SCALE),0.25) --mem $(or $(MEM),6G) --json $(BUILD)/scale.json

bench-mpi: ## measure two ranks under mpirun beside one of two threads (minutes); GLOO=PYTHON, TWO_HOSTS=TOOL add to it
	@tools/install-deps check mpi
	@tools/configure $(BUILD)-mpi -DGNEISS_BUILD_TESTS=OFF -DGNEISS_MPI=ON
	@cmake --build $(BUILD)-mpi --parallel $(JOBS) --target gneiss
	@bench/ranks --gneiss $(BUILD)-mpi/bin/gneiss $(if $(GLOO),--gloo $(GLOO)) \
	  $(if $(TWO_HOSTS),--two-hosts $(TWO_HOSTS)) --json $(BUILD)/ranks.json

bench-batches: build ## measure mini-batches beside GraphBolt, if bench/peers/install has run; both routes beside one
	@tools/install-deps bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench --parallel $(JOBS) --target sample_bench
	@bench/peers/batches --gneiss $(BUILD)/bin/gneiss --graph $(BATCH_GRAPH) --json $(BUILD)/batches.json
	@bench/peers/batches --gneiss $(BUILD)/bin/gneiss --graph ogbn-arxiv --collective --json $(BUILD)/collective.json

format: ## format the C++ sources
	@tools/install-deps format
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

clean: ## remove what was built
	@rm -rf build build-*
