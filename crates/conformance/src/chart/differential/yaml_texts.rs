//! Random YAML: most of it well-formed or nearly so, with unusual syntax.

use fastrand::Rng;

use super::json_values::{self, pick};

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b: 1", "- x", ": ", " - ", "\n", "\n  ", "\n    ", "? ", "|", "|-", "|+2", ">", ">-", "'", "\"",
    "# c", " # c", "{", "}", "[", "]", ",", "&a ", "*a", "<<: *a", "!!str ", "!!int ", "!!binary ", "!x ",
    "---\n", "...\n", "%YAML 1.1\n", "\t", "\r\n", "~", "yes", "0x1F", "1_0", "0644", "1:30", ".inf",
    "2001-12-14", "é", "\u{85}", "\u{2028}", "key", "key:", "key: value", "\"\\x41\"", "\"\\u00e9\"",
    "\"a\\\n  b\"", "'it''s'", "- - a", "a: {b: c}", "[a, b]", "a:\n- 1\n- 2", "a: |\n  t\n  u",
    "a: >\n  t\n\n  u", "? a\n: b", "k: &x [1]\nl: *x", "&x {a: 1}", "<<: {z: 1}", "<<: [{z: 1}, {y: 2}]",
];

#[rustfmt::skip]
const CHARACTERS: &[&str] = &[
    ":", "-", "#", "'", "\"", "{", "}", "[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "?", "~", " ", "\n", "\t", "0", "a",
];

/// A random text that may be invalid YAML.
pub(super) fn text(random: &mut Rng) -> String {
    match random.u32(..4) {
        0 => (0..random.usize(1..8))
            .map(|_| pick(random, PIECES))
            .collect(),
        1 => lines(random),
        2 => json_values::value(random, 3),
        _ => mutated(random),
    }
}

/// One entry per line, most of them with correct indentation.
fn lines(random: &mut Rng) -> String {
    let mut text = String::new();
    let mut indent = 0;
    for _ in 0..random.usize(1..8) {
        text.push_str(&" ".repeat(indent));
        text.push_str(pick(
            random,
            &["a", "b", "c", "y", "1", "~", "\"q\"", "'s'", "? k", "-"],
        ));
        text.push_str(pick(
            random,
            &[":", ": ", " ", ":\n", ": x\n", ": |\n", ": >-\n"],
        ));
        text.push_str(pick(random, PIECES));
        text.push('\n');
        indent = match random.u32(..6) {
            0 => indent + 2,
            1 => indent.saturating_sub(2),
            2 => 0,
            _ => indent,
        };
    }
    text
}

/// Two joined texts with a few characters replaced, inserted or removed.
fn mutated(random: &mut Rng) -> String {
    let text = format!("{}\n{}", lines(random), json_values::value(random, 2));
    let mut characters: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..characters.len());
        let new = pick(random, CHARACTERS).to_owned();
        match random.u32(..3) {
            0 => characters[at].clear(),
            1 => characters.insert(at, new),
            _ => characters[at] = new,
        }
    }
    characters.concat()
}
