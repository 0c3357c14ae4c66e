//! Any text as an expression over untyped and typed data: it is rejected, or its evaluation ends within its limits.
#![no_main]

use std::sync::LazyLock;

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
    let Ok(compiled) = env.compile(text) else { return };
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
