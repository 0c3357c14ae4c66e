//! Messages of operating system errors, as in Go.

use std::io::{Error, ErrorKind};

/// The message in lower case, without the error number.
pub(crate) fn describe(error: &Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error ").next().unwrap_or_default();
            let mut chars = text.chars();
            chars.next().map_or_else(String::new, |first| {
                first.to_lowercase().chain(chars).collect()
            })
        }
    }
}
