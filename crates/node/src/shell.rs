//! Shell text: quoting, and how a program is sent to a machine.
//!
//! A program is POSIX shell text. It is not an argument of any process: the command line of the remote shell is constant,
//! and the shell reads the program from its input, as one line. So its length is not limited, other users do not
//! see it, and a connection that breaks in the middle runs nothing. What follows on the input is data for the program.

/// Runs the program that the first line of the input encodes. Valid in all login shells, csh and fish included.
pub(crate) const LOADER: &str = r#"/bin/sh -c 'IFS= read -r p && eval "$(printf %b "$p")"'"#;

/// Printed by [`ANNOUNCING_LOADER`] when it reads the program.
pub(crate) const READY: &str = "outrigger-ready";

/// Like [`LOADER`], but prints a line before it reads the program. What is sent earlier may be read by sudo.
pub(crate) const ANNOUNCING_LOADER: &str =
    r#"/bin/sh -c 'echo outrigger-ready; IFS= read -r p && eval "$(printf %b "$p")"'"#;

/// A text cannot be passed to a shell because it contains a NUL byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a command or one of its arguments contains a NUL byte")]
pub struct NulByte;

/// The line that the loader decodes to `program`.
pub(crate) fn encode(program: &str) -> Result<String, NulByte> {
    if program.contains('\0') {
        return Err(NulByte);
    }
    // The command substitution removes trailing newlines, which end no statement.
    let mut line = String::with_capacity(program.len() + program.len() / 16 + 1);
    for c in program.chars() {
        match c {
            '\\' => line.push_str(r"\\"),
            '\n' => line.push_str(r"\n"),
            c => line.push(c),
        }
    }
    line.push('\n');
    Ok(line)
}

/// One word of the shell that evaluates to `text`, whatever it contains except NUL bytes.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Several words.
pub fn quote_all<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(quote).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_programs_as_one_line() {
        assert_eq!(encode("a\\n\nb").as_deref(), Ok("a\\\\n\\nb\n"));
        assert_eq!(encode("a\0"), Err(NulByte));
    }

    #[test]
    fn quotes_only_what_needs_it() {
        assert_eq!(quote("/etc/hosts"), "/etc/hosts");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's $(x)\n"), "'it'\\''s $(x)\n'");
        assert_eq!(quote("~"), "'~'");
        assert_eq!(quote_all(["a", "b c"]), "a 'b c'");
    }
}
