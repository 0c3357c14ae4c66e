//! Results as YAML, in the form that Kubernetes tools print.

use outrigger_goyaml::{Emitter, Style, natural_order, sort_natural};
use serde_json::Value;

pub(super) fn text(value: &Value) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut emitter = Emitter::new(&mut text, Style::Normal, 0);
    emit(&mut emitter, value);
    emitter.finish()?;
    text.push(b'\n');
    Ok(text)
}

fn emit(emitter: &mut Emitter<'_>, value: &Value) {
    match value {
        Value::Null => emitter.null(),
        Value::Bool(value) => emitter.bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => emitter.int(number),
            (None, Some(number)) => emitter.uint(number),
            (None, None) => emitter.float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => emitter.string(text),
        Value::Array(items) => {
            emitter.begin_list(items.len());
            for item in items {
                emit(emitter, item);
            }
            emitter.end_list();
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            sort_natural(&mut entries, natural_order, |entry| entry.0);
            emitter.begin_map(entries.len());
            for (key, value) in entries {
                emitter.key(key);
                emit(emitter, value);
            }
            emitter.end_map();
        }
    }
}
