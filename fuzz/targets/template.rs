//! Any text as a template: it parses or not, runs or not, always ends, and frees all values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outrigger_gotmpl::function::{Dialect, NullHost};
use outrigger_gotmpl::value::{Value, free_cycles, memory};
use outrigger_gotmpl::{Engine, Limits, parse};

fn data() -> Value {
    let list = Value::list(vec![Value::str("a"), Value::Float(1.5), Value::Nil, Value::Bool(true)]);
    let map = Value::map(vec![("k".into(), Value::str("v")), ("l".into(), list.clone())]);
    Value::map(vec![("Values".into(), map), ("l".into(), list), ("n".into(), Value::Int(3)), ("s".into(), Value::str("text"))])
}

fuzz_target!(|source: &str| {
    // Deriving a password is slow by design.
    if source.contains("derivePassword") || source.contains("bcrypt") || source.contains("htpasswd") || source.contains("gen") {
        return;
    }
    for dialect in [Dialect::HELM_3, Dialect::HELM_4] {
        let Ok(parsed) = parse("fuzz", source, &dialect) else { continue };
        let limits = Limits { output_bytes: 1 << 20, memory_bytes: 64 << 20, steps: 100_000, ..Limits::default() };
        let before = memory::live();
        let mut engine = Engine::new(dialect, limits);
        engine.add(parsed);
        let mut out = Vec::new();
        if let Err(error) = engine.render("fuzz", &data(), &NullHost, &mut out) {
            let _ = (error.helm3_text(), error.helm4_text());
        }
        drop(engine);
        free_cycles();
        assert_eq!(memory::live(), before, "all values are freed");
    }
});
