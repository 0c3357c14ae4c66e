//! Shell text: quoting, and how a program is sent to a machine.
//!
//! A program is POSIX shell text. It is not an argument of any process: the command line of the remote shell is constant,
//! and the shell reads the program from its input. So its length is not limited, other users do not see it, and a
//! connection that breaks in the middle runs nothing.

/// How a machine gets a program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program<'a> {
    /// As one line. What follows on the input is data for the program.
    WithInput(&'a str),
    /// As the input of a shell, which reads it in blocks: that is faster. Data for the program may follow when the program
    /// has printed something.
    BeforeInput(&'a str),
    /// Like [`Self::BeforeInput`], in a shell that then waits for more programs, until its input ends.
    KeptOpen(&'a str),
}

impl Program<'_> {
    /// The text of the shell that reads the program. Valid between single quotes in all login shells, csh and fish
    /// included.
    pub(crate) const fn loader(self) -> &'static str {
        match self {
            Self::WithInput(_) => r#"IFS= read -r p && eval "$(printf %b "$p")""#,
            Self::BeforeInput(_) | Self::KeptOpen(_) => "exec /bin/sh",
        }
    }

    /// What the loader reads.
    pub(crate) fn encode(self) -> Result<String, NulByte> {
        let (Self::WithInput(text) | Self::BeforeInput(text) | Self::KeptOpen(text)) = self;
        if text.contains('\0') {
            return Err(NulByte);
        }
        Ok(match self {
            Self::WithInput(text) => line(text),
            Self::BeforeInput(text) => compound(&format!("{text}\nexit")),
            Self::KeptOpen(text) => compound(text),
        })
    }
}

/// A shell runs a compound command only when it has read all of it.
fn compound(text: &str) -> String {
    format!("{{\n{text}\n}}\n")
}

/// Printed by the shell behind sudo when it reads the program. What is sent earlier may be read by sudo.
pub(crate) const READY: &str = "outrigger-ready";

/// A text cannot be passed to a shell because it contains a NUL byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a command or one of its arguments contains a NUL byte")]
pub struct NulByte;

/// The line that the loader decodes to `program`.
fn line(program: &str) -> String {
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
    line
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
    fn encodes_programs_as_a_line_or_a_compound_command() {
        let text = "a\\n\nb";
        let line = Program::WithInput(text).encode();
        assert_eq!(line.as_deref(), Ok("a\\\\n\\nb\n"));
        let command = Program::BeforeInput(text).encode();
        assert_eq!(command.as_deref(), Ok("{\na\\n\nb\nexit\n}\n"));
        let open = Program::KeptOpen(text).encode();
        assert_eq!(open.as_deref(), Ok("{\na\\n\nb\n}\n"));
        assert_eq!(Program::KeptOpen("a\0").encode(), Err(NulByte));
    }

    #[test]
    fn loaders_need_no_quoting() {
        for program in [
            Program::WithInput(""),
            Program::BeforeInput(""),
            Program::KeptOpen(""),
        ] {
            assert!(!program.loader().contains(['\'', '!', '\n', '\\']));
        }
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
