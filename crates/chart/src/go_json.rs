//! JSON text exactly as Go's encoder writes it.

use std::fmt::Write;

use crate::yaml_value::YamlValue;

/// A string in quotes, with the characters escaped that could close a script.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub(crate) fn plain(node: &YamlValue) -> String {
    match node {
        YamlValue::Null => "null".to_owned(),
        YamlValue::Bool(value) => value.to_string(),
        YamlValue::Int(n) => n.to_string(),
        YamlValue::Uint(n) => n.to_string(),
        YamlValue::Float(x) => outrigger_goyaml::format_json(*x).unwrap_or_default(),
        YamlValue::Str(text) => string(text),
        YamlValue::List(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(","))
        }
        YamlValue::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", string(key), plain(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}
