//! Splits a values file into documents as Helm 4 does.

use std::borrow::Cow;

/// A separator line with other content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid Yaml document separator: {rest}")]
pub struct SeparatorError {
    pub rest: String,
}

/// Iterates over the documents of a stream: the texts between lines that start with `---`.
#[derive(Debug, Clone)]
pub struct Documents<'a> {
    rest: &'a [u8],
}

/// Splits a stream into documents. Nothing else is checked.
pub fn documents(bytes: &[u8]) -> Documents<'_> {
    Documents { rest: bytes }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Cow<'a, [u8]>, SeparatorError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest;
        let mut length = 0;
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            if let Some(after) = line.strip_prefix(b"---") {
                if let Err(error) = check_separator(after) {
                    self.rest = &[];
                    return Some(Err(error));
                }
                if length != 0 {
                    break;
                }
            }
            length += end;
        }
        (length != 0).then(|| Ok(with_line_ends(&start[..length])))
    }
}

/// Only space and a comment may follow the dashes.
fn check_separator(after: &[u8]) -> Result<(), SeparatorError> {
    let text = String::from_utf8_lossy(after);
    let rest = text.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(SeparatorError {
        rest: rest.to_owned(),
    })
}

/// Every line ends with a plain `\n`.
fn with_line_ends(text: &[u8]) -> Cow<'_, [u8]> {
    let has_returns = memchr::memmem::find(text, b"\r\n").is_some();
    if !has_returns && text.ends_with(b"\n") {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 1);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    Cow::Owned(out)
}
