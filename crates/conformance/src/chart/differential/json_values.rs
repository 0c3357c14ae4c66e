//! Random values as JSON, with a preference for strings and numbers that are hard to represent in YAML.

use fastrand::Rng;

/// Strings that look like other types, need quotes, are folded or have special characters.
#[rustfmt::skip]
const HARD: &[&str] = &[
    "", " ", "~", "null", "Null", "true", "yes", "No", "on", "off", "y", "n", "0", "-0", "1", "-1", "+1", "01",
    "0o17", "017", "08", "0x1F", "0b11", "1_000", "1.", ".5", "1.5", "1e3", "1E+3", "1e", ".inf", "-.Inf",
    ".nan", "NaN", "<<", "=", "1:30", "12:30:45", "190:20:30.15", "2001-12-14", "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43", "20011214", "a: b", "a:b", ":a", "a:", "- a", "-a", "-", "--", "---", "...", "? a",
    "?a", "#a", "a #b", "a#b", "@a", "`a", "%a", "!a", "&a", "*a", "|", ">", "{a", "}", "[a", "]", ",", "a,b",
    "'", "\"", "it's", "say \"hi\"", "a\nb", "a\n", "\na", "a\n\n", " a", "a ", "a\n b", " a\nb", "a \nb", "\t",
    "a\tb", "a\t\nb", "\r", "a\r\nb", "\u{0}", "\u{7}", "\u{1b}", "\u{7f}", "\u{80}", "\u{85}", "\u{a0}",
    "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffd}", "é", "日本語", "😀", "a😀b", "\\", "a\\nb", "<a>&",
    "{{ .Values }}", "0.0.0.0", "1.2.3", "10.0.0.0/8", "v1", "http://example.com/?a=b&c=d", "a\n\n\nb\n", "\n",
    "\n\n",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "alpha", "beta", "gamma", "x", "io", "app.kubernetes.io/name", "a1", "a01", "a10", "a2", "B", "_", "Zeta",
    "9lives", "1.5", "10", "2",
];

/// A random value, as JSON.
pub(super) fn value(random: &mut Rng, depth: u32) -> String {
    match random.u32(..if depth == 0 { 8 } else { 12 }) {
        0 => "null".to_owned(),
        1 => random.bool().to_string(),
        2 | 3 => number(random),
        4..=7 => quoted(&text(random)),
        8 | 9 => {
            let items: Vec<_> = (0..random.usize(..5))
                .map(|_| value(random, depth - 1))
                .collect();
            format!("[{}]", items.join(","))
        }
        _ => map(random, depth - 1),
    }
}

/// A random map, as JSON.
pub(super) fn map(random: &mut Rng, depth: u32) -> String {
    let entries: Vec<_> = (0..random.usize(..6))
        .map(|_| format!("{}:{}", quoted(&key(random)), value(random, depth)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn key(random: &mut Rng) -> String {
    match random.u32(..10) {
        0 => text(random),
        1 => format!("{}{}", pick(random, WORDS), random.u32(..200)),
        2 => "k".repeat(random.usize(120..140)),
        _ => pick(random, WORDS).to_owned(),
    }
}

/// A random string: a hard one, two hard ones, a word, or one that is long enough to be folded.
pub(super) fn text(random: &mut Rng) -> String {
    match random.u32(..8) {
        0..=3 => pick(random, HARD).to_owned(),
        4 => format!("{}{}", pick(random, HARD), pick(random, HARD)),
        5 => pick(random, WORDS).to_owned(),
        _ => sentence(random),
    }
}

fn sentence(random: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(1..40) {
        text.push_str(if random.u32(..12) == 0 {
            pick(random, HARD)
        } else {
            pick(random, WORDS)
        });
        text.push_str(match random.u32(..20) {
            0 => "  ",
            1 => "\n",
            2 => ": ",
            3 => " #",
            _ => " ",
        });
    }
    if random.bool() {
        text.trim_end().to_owned()
    } else {
        text
    }
}

fn number(random: &mut Rng) -> String {
    #[rustfmt::skip]
    const EDGES: &[&str] = &[
        "0", "-0.0", "1", "-1", "100000", "1000000", "123456789", "2147483648", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e20",
        "1e21", "1e22", "0.1", "0.00001", "0.000001", "1e-7", "123456789.125", "1.0", "1.5e300", "5e-324",
        "-1e-5", "1e5", "1E6", "0.30000000000000004",
    ];
    match random.u32(..3) {
        0 => random.i32(..).to_string(),
        1 => format!("{}.{}", random.i16(..), random.u16(..)),
        _ => pick(random, EDGES).to_owned(),
    }
}

pub(super) fn pick<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 || c == '\u{7f}' || c == '\u{feff}' => {
                quoted.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
