//! `checkValid`: checks the syntax of JSON, with the errors of Go's scanner.

use super::quote_char;

/// `json.SyntaxError`
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    #[error("invalid character {} {context}", quote_char(*.byte))]
    InvalidCharacter { byte: u8, context: &'static str },
}

impl SyntaxError {
    fn at(byte: u8, context: &'static str) -> Self {
        Self::InvalidCharacter { byte, context }
    }
}

/// The contexts of errors in a literal, one for each letter after the first.
pub fn literal_contexts(literal: &str) -> &'static [&'static str] {
    match literal {
        "true" => &[
            "in literal true (expecting 'r')",
            "in literal true (expecting 'u')",
            "in literal true (expecting 'e')",
        ],
        "false" => &[
            "in literal false (expecting 'a')",
            "in literal false (expecting 'l')",
            "in literal false (expecting 's')",
            "in literal false (expecting 'e')",
        ],
        _ => &[
            "in literal null (expecting 'u')",
            "in literal null (expecting 'l')",
            "in literal null (expecting 'l')",
        ],
    }
}

/// Whether `bytes` are one JSON value. Does not recurse, since hostile input nests without limit.
pub fn check_valid(bytes: &[u8]) -> Result<(), SyntaxError> {
    Scanner { bytes, at: 0 }.document()
}

struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Result<u8, SyntaxError> {
        self.bytes
            .get(self.at)
            .copied()
            .ok_or(SyntaxError::UnexpectedEnd)
    }

    fn next(&mut self) -> Result<u8, SyntaxError> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while self
            .peek()
            .is_ok_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        {
            self.at += 1;
        }
    }

    fn document(&mut self) -> Result<(), SyntaxError> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_space();
            match self.next()? {
                b'{' => {
                    self.skip_space();
                    match self.peek()? {
                        b'}' => self.at += 1,
                        b'"' => {
                            self.key()?;
                            open.push(b'}');
                            continue;
                        }
                        byte => {
                            return Err(SyntaxError::at(
                                byte,
                                "looking for beginning of object key string",
                            ));
                        }
                    }
                }
                b'[' => {
                    self.skip_space();
                    if self.peek()? != b']' {
                        open.push(b']');
                        continue;
                    }
                    self.at += 1;
                }
                byte => self.scalar(byte)?,
            }
            if !self.after_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Scans what follows a value; returns whether another value must follow.
    fn after_value(&mut self, open: &mut Vec<u8>) -> Result<bool, SyntaxError> {
        loop {
            self.skip_space();
            let Some(end) = open.last().copied() else {
                return match self.peek() {
                    Ok(byte) => Err(SyntaxError::at(byte, "after top-level value")),
                    Err(_) => Ok(false),
                };
            };
            match self.next()? {
                b',' if end == b']' => return Ok(true),
                b',' => {
                    self.skip_space();
                    match self.peek()? {
                        b'"' => self.key()?,
                        byte => {
                            return Err(SyntaxError::at(
                                byte,
                                "looking for beginning of object key string",
                            ));
                        }
                    }
                    return Ok(true);
                }
                byte if byte == end => {
                    open.pop();
                }
                byte if end == b']' => return Err(SyntaxError::at(byte, "after array element")),
                byte => return Err(SyntaxError::at(byte, "after object key:value pair")),
            }
        }
    }

    fn key(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        self.string()?;
        self.skip_space();
        match self.next()? {
            b':' => Ok(()),
            byte => Err(SyntaxError::at(byte, "after object key")),
        }
    }

    fn scalar(&mut self, first: u8) -> Result<(), SyntaxError> {
        match first {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number(first),
            byte => Err(SyntaxError::at(byte, "looking for beginning of value")),
        }
    }

    fn literal(&mut self, literal: &str) -> Result<(), SyntaxError> {
        for (expected, context) in literal.bytes().skip(1).zip(literal_contexts(literal)) {
            let byte = self.next_in_token();
            if byte != expected {
                return Err(SyntaxError::at(byte, context));
            }
        }
        Ok(())
    }

    /// The next byte of a literal, number or escape, where Go's scanner sees the end of the input as a space.
    fn next_in_token(&mut self) -> u8 {
        self.next().unwrap_or(b' ')
    }

    fn digits(&mut self) {
        while self.peek().is_ok_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn digit(&mut self, context: &'static str) -> Result<u8, SyntaxError> {
        match self.next_in_token() {
            byte if byte.is_ascii_digit() => Ok(byte),
            byte => Err(SyntaxError::at(byte, context)),
        }
    }

    fn number(&mut self, first: u8) -> Result<(), SyntaxError> {
        let first = if first == b'-' {
            self.digit("in numeric literal")?
        } else {
            first
        };
        if first != b'0' {
            self.digits();
        }
        if self.peek().is_ok_and(|byte| byte == b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if self.peek().is_ok_and(|byte| matches!(byte, b'e' | b'E')) {
            self.at += 1;
            if self.peek().is_ok_and(|byte| matches!(byte, b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                byte if byte < b' ' => return Err(SyntaxError::at(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.next_in_token() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let byte = self.next_in_token();
                    if !byte.is_ascii_hexdigit() {
                        return Err(SyntaxError::at(byte, "in \\u hexadecimal character escape"));
                    }
                }
                Ok(())
            }
            byte => Err(SyntaxError::at(byte, "in string escape code")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_errors_of_go() {
        let cases: &[(&str, Option<&str>)] = &[
            (r#"{"a":[1,2.5e3,true,null,"x"]} "#, None),
            ("", Some("unexpected end of JSON input")),
            ("{", Some("unexpected end of JSON input")),
            (
                "{a:1}",
                Some("invalid character 'a' looking for beginning of object key string"),
            ),
            (r#"{"a" 1}"#, Some("invalid character '1' after object key")),
            (
                r#"{"a":1 "b"}"#,
                Some("invalid character '\"' after object key:value pair"),
            ),
            ("[1 2]", Some("invalid character '2' after array element")),
            (
                "[1,]",
                Some("invalid character ']' looking for beginning of value"),
            ),
            (
                "nul!",
                Some("invalid character '!' in literal null (expecting 'l')"),
            ),
            (
                "tru",
                Some("invalid character ' ' in literal true (expecting 'e')"),
            ),
            ("\"a", Some("unexpected end of JSON input")),
            ("1 2", Some("invalid character '2' after top-level value")),
            ("-x", Some("invalid character 'x' in numeric literal")),
            (
                "\"\u{1}\"",
                Some(r"invalid character '\x01' in string literal"),
            ),
        ];
        for (text, expected) in cases {
            let error = check_valid(text.as_bytes()).err();
            let message = error.map(|error| error.to_string());
            assert_eq!(message.as_deref(), *expected, "{text}");
        }
    }
}
