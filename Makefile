# The commands of this project. What they do stands in tests/make/; every one of them may be run again at any time.
.DEFAULT_GOAL := help
.PHONY: help demo demo-down test test-all test-unit test-faults bench bench-peers bench-create bench-upgrade bench-grow dist build bundle tables crds docs fmt lint advisories

export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kok/target

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' Makefile | awk -F@ '{ printf "%-18s %s\n", $$1, $$2 }'

demo: ## boot five bare hosts on this machine and make a highly available cluster of them (root)
	@sh tests/make/demo.sh

demo-down: ## take the demo down (root)
	@sh tests/make/demo-down.sh

test: ## what every change has to pass: tests, with clusters on hosts of the lab, of the long ones some (root)
	@sh tests/make/test.sh test

test-all: ## everything, or some of its parts: make test-all PART="code kinds" (root)
	@sh tests/make/test.sh all $(PART)

test-unit: ## formatting, clippy and the tests that need no hosts
	@sh tests/make/test.sh unit

test-faults: ## every fault that can be made on hosts of the lab (root)
	@sh tests/make/test.sh all faults faults-clusters faults-founding

bench: ## what kokctl costs, compared with the least that can be done, on 50 light hosts (root)
	@sh tests/make/bench.sh

bench-peers: ## kokctl beside Ansible and others on the same 30 steps, with their benchmark in BENCH=DIR (root)
	cargo build --locked --release --bin kokctl
	python3 tests/peers/run.py $(BENCH) $${CARGO_TARGET_DIR:-target}/release/kokctl

bench-create: ## how long a cluster of three control planes takes, compared with kubeadm's own order (root)
	@sh tests/make/bench-clusters.sh create

bench-upgrade: ## how long a cluster takes to the next minor version, compared with kubeadm by hand (root)
	@sh tests/make/bench-clusters.sh upgrade

bench-grow: ## how long hosts take that join a cluster, compared with `kubeadm join` by hand (root)
	@sh tests/make/bench-clusters.sh grow

dist: ## make what a release has: archive, Debian package, SBOM, sums
	@sh tests/make/dist.sh

build: ## compile kokctl, lab and release
	cargo build --locked --workspace --bins

bundle: ## build the bundle that kokctl installs from, and print its folder
	@sh tests/make/setup.sh bundle
	@cargo build --locked -p kok-tests --bin release
	@$(CARGO_TARGET_DIR)/debug/release build --with older-release

tables: ## write what each version of Kubernetes knows: options, feature gates, fields
	@sh tests/make/tables.sh

docs: ## write the pages that are made from tables in the code
	KOK_WRITE_DOCS=1 cargo test --locked -p kok-crds --test variables

crds: ## write deploy/crds from the code
	@cargo run --locked --quiet -p kok-crds --example crds -- deploy/crds

fmt: ## format the Rust code
	cargo fmt --all

lint: ## clippy, and shellcheck where it is installed
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@if command -v shellcheck >/dev/null; then shellcheck -x tests/make/*.sh tests/lab/host/*.sh tests/lab/root/build.sh tests/online/*.sh tests/src/bench/*/*.sh; fi

advisories: ## ask for known vulnerabilities of what the program is made of (needs a network)
	@sh tests/make/advisories.sh
