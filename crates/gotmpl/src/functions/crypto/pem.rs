//! `encoding/pem`

use outrigger_gostd::base64;

const LINE: usize = 64;

pub(super) struct Block {
    pub(super) label: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn encode(label: &str, bytes: &[u8]) -> String {
    let encoded = base64::encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(LINE) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

/// The first block; text around it is skipped.
pub(super) fn decode(text: &str) -> Option<Block> {
    let mut rest = text;
    loop {
        let start = find_line_start(rest, "-----BEGIN ")?;
        let after = &rest[start + "-----BEGIN ".len()..];
        let (first_line, body) = after.split_once('\n')?;
        rest = body;
        let Some(label) = first_line.trim_end().strip_suffix("-----") else {
            continue;
        };
        let Some(block) = decode_body(label, body) else {
            continue;
        };
        return Some(block);
    }
}

fn find_line_start(text: &str, marker: &str) -> Option<usize> {
    if text.starts_with(marker) {
        return Some(0);
    }
    text.find(&format!("\n{marker}")).map(|at| at + 1)
}

fn decode_body(label: &str, body: &str) -> Option<Block> {
    let end_marker = format!("-----END {label}-----");
    let end = find_line_start(body, &end_marker)?;
    // Skip headers such as `Proc-Type: 4,ENCRYPTED`.
    let data: String = body[..end]
        .lines()
        .filter(|line| !line.contains(':'))
        .flat_map(str::chars)
        .filter(|c| !c.is_ascii_whitespace())
        .collect();
    let bytes = base64::decode(data.as_bytes()).ok()?;
    Some(Block {
        label: label.to_owned(),
        bytes,
    })
}
