//! Functions on slash-separated paths. The `os` variants are those of Unix, where Helm's results are the same.

use super::args::bytes;
use super::{Outcome, fixed};
use crate::function::{Call, Function, Ty};
use crate::value::Value;

const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("base", &[STR], STR, base),
    fixed("dir", &[STR], STR, dir),
    fixed("clean", &[STR], STR, |_, args| {
        Ok(Value::str(cleaned(bytes(args, 0))))
    }),
    fixed("ext", &[STR], STR, ext),
    fixed("isAbs", &[STR], Ty::Bool, is_abs),
    fixed("osBase", &[STR], STR, base),
    fixed("osDir", &[STR], STR, dir),
    fixed("osClean", &[STR], STR, |_, args| {
        Ok(Value::str(cleaned(bytes(args, 0))))
    }),
    fixed("osExt", &[STR], STR, ext),
    fixed("osIsAbs", &[STR], Ty::Bool, is_abs),
];

fn base(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let path = bytes(args, 0);
    if path.is_empty() {
        return Ok(Value::str("."));
    }
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    if end == 0 {
        return Ok(Value::str("/"));
    }
    let start = path[..end]
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(0, |at| at + 1);
    Ok(Value::str(&path[start..end]))
}

fn dir(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let path = bytes(args, 0);
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    Ok(Value::str(cleaned(&path[..end])))
}

fn ext(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let path = bytes(args, 0);
    let name_start = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    let name = &path[name_start..];
    let dot = name.iter().rposition(|b| *b == b'.').unwrap_or(name.len());
    Ok(Value::str(&name[dot..]))
}

fn is_abs(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(Value::Bool(bytes(args, 0).starts_with(b"/")))
}

/// The shortest path that means the same, by the text alone.
fn cleaned(path: &[u8]) -> Vec<u8> {
    let is_rooted = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match parts.last() {
                Some(last) if *last != b".." => {
                    parts.pop();
                }
                None if is_rooted => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let mut out = Vec::with_capacity(path.len());
    if is_rooted {
        out.push(b'/');
    }
    out.extend_from_slice(&parts.join(&b'/'));
    if out.is_empty() {
        out.push(b'.');
    }
    out
}
