# Entry points. The logic is in `cargo xtask`; `cargo xtask --help` lists all tasks.

.PHONY: run test lint peers e2e bench

run:
	cargo run --quiet --bin outrigger -- up --plugins examples/plugins

test:
	cargo test --workspace --exclude outrigger-e2e

lint:
	cargo xtask lint

peers:
	cargo xtask peers

e2e:
	cargo xtask e2e

bench:
	cargo xtask bench chart
	cargo xtask bench apiserver
	cargo xtask bench plugins
