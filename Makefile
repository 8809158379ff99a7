# `make demo` shows Weir at work, `make test` tests it; both build what they need. Debug builds are always of the whole workspace: with
# one set of features nothing is compiled twice (DEP-CI-4).
.DEFAULT_GOAL := help
services := source kustomize image-reflector image-automation notification
target := $(or $(CARGO_TARGET_DIR),target)
# Optimised programs lie at a fixed address, and all their code is compiled for that (docs/adr/0005). Only where the target is named do the flags
# not hold for what the compiler loads itself. Names of functions have their types, so that cli/build-order.ld says exactly which lie together (docs/adr/0012).
host = $(shell rustc --print host-tuple)
optimised := release bench bench-build bench-cli bench-images bench-source images
$(optimised): export CARGO_BUILD_TARGET = $(host)
$(optimised): export RUSTFLAGS := $(RUSTFLAGS) -C symbol-mangling-version=v0 -C relocation-model=static
# How no sentence of a comment or document begins.
opening := (What|Whether|Why|That|Who)
.PHONY: help tools build release dist control-plane test test-flux demo bench bench-build bench-cli bench-images bench-source compare images cluster e2e e2e-long lint

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## Install the programs that builds and tests need, or say which.
	@e2e/tools

build: ## Build everything, unoptimised.
	cargo build --bins

release: ## Put the optimised programs into target/release/: weir, and links to it with the services' names (docs/adr/0021).
	cargo rustc --release -p weir-cli --bin weir -- -C target-feature=+crt-static
	@mkdir -p $(target)/release && ln -f $(target)/$(host)/release/weir $(target)/release/weir
	@for service in $(services); do ln -sf weir $(target)/release/$$service-controller; done

dist: images ## Write what a release publishes into target/dist (docs/release.md).
	rm -rf $(target)/dist
	WEIR_IMAGES=$(target)/images deploy/dist $(or $(WEIR_BIN),$(target)/release/weir) $(target)/dist

control-plane: ## Build or find the control-plane program; its path is the last line.
	@e2e/control-plane/build

test: ## Run all tests, the scenarios on a real control plane among them; says how long each part took.
	@e2e/test

test-flux: tools control-plane ## Run the tests against Flux's own programs, which the FLUX_* variables name.
	@e2e/test-flux

demo: control-plane ## Show the whole loop on a throw-away control plane; KEEP=1 leaves it running.
	@e2e/tools demo
	cargo build --bins
	cargo run -q --bin demo

bench: control-plane release ## Measure Kustomizations, beside Flux's where FLUX_SOURCE_CONTROLLER and FLUX_KUSTOMIZE_CONTROLLER name it; appends to docs/benchmarks-log.md.
	cargo run -q --release -p weir-e2e --bin bench -- --weir $(target)/release

bench-build: release ## Measure builds beside the reference implementation (needs Go); appends to docs/benchmarks-log.md.
	cargo run -q --release -p weir-kustomize --example bench-build -- $(target)/release/weir docs/benchmarks-log.md

bench-cli: control-plane release ## Measure the command beside the stock one, which FLUX_CLI names or the PATH has; appends to docs/benchmarks-log.md.
	cargo run -q --release -p weir-e2e --bin bench-cli -- --weir $(target)/release/weir

bench-images: control-plane release ## Measure image policies, updates and notifications, beside Flux's where FLUX_* name its programs; appends to docs/benchmarks-log.md.
	cargo run -q --release -p weir-e2e --bin bench-images -- --weir $(target)/release

bench-source: control-plane release ## Measure sources alone, beside Flux's where FLUX_SOURCE_CONTROLLER names it; appends to docs/benchmarks-log.md.
	cargo run -q --release -p weir-e2e --bin bench-source

compare: control-plane ## Compare all services with the transcripts of Flux's, where ../shared has them; MODULES="k_basic" for some.
	cargo build --bins
	@e2e/compare $(MODULES)

images: $(if $(WEIR_BIN),,release) ## Write an image for each service, and its SBOM, into target/images/; WEIR_BIN names another program.
	cargo run -q --release -p weir-image -- --program $(or $(WEIR_BIN),$(target)/release/weir) --output $(target)/images

cluster: control-plane ## Hold a throw-away cluster with a node until Ctrl-C (root); MODE=control-plane is one without (docs/cluster.md).
	@cargo build -q --bins
	@$(target)/debug/hold-$(or $(MODE),cluster)

e2e: images control-plane ## Play the scenarios with the services as Pods on a real node (root); KEEP=1 leaves it running.
	@e2e/tools node
	cargo build --bins
	cargo run -q --bin pods -- --images $(target)/images

e2e-long: tools control-plane ## Play what takes many minutes (root): 10,000 objects, 2,000 Kustomizations in 256 MiB, a manifest of 50 MB.
	cargo test --workspace --test it -- --ignored --nocapture --test-threads=1 long::

lint: ## Check format, comments, lints and licences.
	cargo fmt --all --check
	@! { grep -rnE --include='*.rs' --include='*.proto' '^\s*//([/!]?|.*[.:?!-]) +$(opening) ' cli crates e2e proto services; \
	grep -rnE --include='*.yaml' '#(.*[.:?-])? +$(opening) ' deploy; \
	grep -rnE --include='*.md' '(^|[.:?!*-] +|\*\*)$(opening) ' *.md docs; } | grep . || \
	{ echo "Sentences begin with a verb or a noun, not with What, Whether, Why, That or Who (CONTRIBUTING.md)."; exit 1; }
	cargo clippy --workspace --all-targets -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check licenses bans sources; \
	else echo "cargo-deny is not installed: licences and bans not checked (cargo install cargo-deny)"; fi
