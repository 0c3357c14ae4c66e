# The front door. The logic is in `cargo xtask`; `cargo xtask --help` lists it all.

.PHONY: run test lint e2e bench

run:
	cargo run --quiet --bin outrigger -- chart template demo examples/charts/lighthouse

test:
	cargo test

lint:
	cargo xtask lint

e2e:
	cargo xtask e2e

bench:
	cargo xtask bench chart
	cargo xtask bench apiserver
