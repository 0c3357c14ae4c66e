//! Any text as an expression over untyped and typed data: it is rejected, or its evaluation ends within its limits.
#![no_main]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libfuzzer_sys::fuzz_target;
use outrigger_cel::{Activation, Env, Limits, Type, Value};
use serde_json::{Value as Json, json};

static DATA: LazyLock<Json> = LazyLock::new(|| {
    json!({
        "n": 5, "d": 1.5, "b": true, "s": "text", "t": "2020-01-02T03:04:05Z", "none": null,
        "l": [1, 2, 3], "ss": ["a", "b"], "m": {"k": "v"}, "o": {"x": {"y": [{"z": 1}]}},
    })
});

fuzz_target!(|text: &str| {
    let env = Env::new().variable("self", Type::Dyn).variable("oldSelf", Type::Dyn);
    let compiled = env.compile(text);
    count(compiled.is_ok());
    let Ok(compiled) = compiled else { return };
    let estimate = compiled.estimate_cost();
    assert!(estimate.min <= estimate.max, "{estimate:?}");
    let Ok(program) = compiled.program() else { return };
    let activation = Activation::new()
        .variable("self", Value::from_json(&DATA))
        .variable("oldSelf", Value::from_json(&DATA));
    let evaluation = program.evaluate(&activation, Limits::PER_CALL);
    if let Ok(value) = evaluation.result {
        assert!(evaluation.cost <= Limits::PER_CALL.cost);
        let _ = value.to_string();
    }
});

/// Prints regularly how many expressions compile.
fn count(compiles: bool) {
    static ALL: AtomicUsize = AtomicUsize::new(0);
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let compiled = COMPILED.fetch_add(usize::from(compiles), Ordering::Relaxed);
    let all = ALL.fetch_add(1, Ordering::Relaxed);
    if all % 1_000_000 == 999_999 {
        eprintln!("{compiled} of {all} expressions compile");
    }
}
