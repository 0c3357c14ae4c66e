//! JSON syntax errors with the messages of Go's decoder.

/// The first syntax error, if there is one.
pub(super) fn syntax_error(bytes: &[u8]) -> Option<String> {
    let mut scanner = Scanner { bytes, offset: 0 };
    scanner.document().err().map(|error| match error {
        SyntaxError::UnexpectedEnd => "unexpected end of JSON input".to_owned(),
        SyntaxError::InvalidCharacter(byte, context) => {
            format!("invalid character {} {context}", quote(byte))
        }
    })
}

enum SyntaxError {
    UnexpectedEnd,
    InvalidCharacter(u8, &'static str),
}

fn quote(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        7 => r"'\a'".to_owned(),
        8 => r"'\b'".to_owned(),
        12 => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        11 => r"'\v'".to_owned(),
        0..32 | 127 => format!("'\\x{byte:02x}'"),
        128..160 | 173 => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

struct Scanner<'b> {
    bytes: &'b [u8],
    offset: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Result<u8, SyntaxError> {
        self.bytes
            .get(self.offset)
            .copied()
            .ok_or(SyntaxError::UnexpectedEnd)
    }

    fn next(&mut self) -> Result<u8, SyntaxError> {
        let byte = self.peek()?;
        self.offset += 1;
        Ok(byte)
    }

    fn skip_whitespace(&mut self) {
        while self
            .peek()
            .is_ok_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        {
            self.offset += 1;
        }
    }

    /// Does not recurse, since the nesting depth of the text is not limited.
    fn document(&mut self) -> Result<(), SyntaxError> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_whitespace();
            match self.next()? {
                b'{' => {
                    self.skip_whitespace();
                    match self.peek()? {
                        b'}' => self.offset += 1,
                        b'"' => {
                            self.key()?;
                            open.push(b'}');
                            continue;
                        }
                        byte => {
                            return Err(SyntaxError::InvalidCharacter(
                                byte,
                                "looking for beginning of object key string",
                            ));
                        }
                    }
                }
                b'[' => {
                    self.skip_whitespace();
                    if self.peek()? != b']' {
                        open.push(b']');
                        continue;
                    }
                    self.offset += 1;
                }
                byte => self.scalar(byte)?,
            }
            if !self.after_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Scans what follows a value. Returns whether another value must follow.
    fn after_value(&mut self, open: &mut Vec<u8>) -> Result<bool, SyntaxError> {
        loop {
            self.skip_whitespace();
            let Some(end) = open.last().copied() else {
                return match self.peek() {
                    Ok(byte) => Err(SyntaxError::InvalidCharacter(byte, "after top-level value")),
                    Err(_) => Ok(false),
                };
            };
            match self.next()? {
                b',' if end == b']' => return Ok(true),
                b',' => {
                    self.skip_whitespace();
                    match self.peek()? {
                        b'"' => self.key()?,
                        byte => {
                            return Err(SyntaxError::InvalidCharacter(
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
                byte if end == b']' => {
                    return Err(SyntaxError::InvalidCharacter(byte, "after array element"));
                }
                byte => {
                    return Err(SyntaxError::InvalidCharacter(
                        byte,
                        "after object key:value pair",
                    ));
                }
            }
        }
    }

    fn key(&mut self) -> Result<(), SyntaxError> {
        self.offset += 1;
        self.string()?;
        self.skip_whitespace();
        match self.next()? {
            b':' => Ok(()),
            byte => Err(SyntaxError::InvalidCharacter(byte, "after object key")),
        }
    }

    fn scalar(&mut self, first: u8) -> Result<(), SyntaxError> {
        match first {
            b'"' => self.string(),
            b't' => self.literal(
                b"rue",
                [
                    "in literal true (expecting 'r')",
                    "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')",
                ]
                .as_slice(),
            ),
            b'f' => self.literal(
                b"alse",
                [
                    "in literal false (expecting 'a')",
                    "in literal false (expecting 'l')",
                    "in literal false (expecting 's')",
                    "in literal false (expecting 'e')",
                ]
                .as_slice(),
            ),
            b'n' => self.literal(
                b"ull",
                [
                    "in literal null (expecting 'u')",
                    "in literal null (expecting 'l')",
                    "in literal null (expecting 'l')",
                ]
                .as_slice(),
            ),
            b'-' | b'0'..=b'9' => self.number(first),
            byte => Err(SyntaxError::InvalidCharacter(
                byte,
                "looking for beginning of value",
            )),
        }
    }

    fn literal(&mut self, rest: &[u8], contexts: &[&'static str]) -> Result<(), SyntaxError> {
        for (expected, context) in rest.iter().zip(contexts) {
            let byte = self.next()?;
            if byte != *expected {
                return Err(SyntaxError::InvalidCharacter(byte, context));
            }
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_ok_and(|byte| byte.is_ascii_digit()) {
            self.offset += 1;
        }
    }

    fn digit(&mut self, context: &'static str) -> Result<u8, SyntaxError> {
        match self.next()? {
            byte if byte.is_ascii_digit() => Ok(byte),
            byte => Err(SyntaxError::InvalidCharacter(byte, context)),
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
            self.offset += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if self.peek().is_ok_and(|byte| matches!(byte, b'e' | b'E')) {
            self.offset += 1;
            if self.peek().is_ok_and(|byte| matches!(byte, b'+' | b'-')) {
                self.offset += 1;
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
                byte if byte < b' ' => {
                    return Err(SyntaxError::InvalidCharacter(byte, "in string literal"));
                }
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.next()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let byte = self.next()?;
                    if !byte.is_ascii_hexdigit() {
                        return Err(SyntaxError::InvalidCharacter(
                            byte,
                            "in \\u hexadecimal character escape",
                        ));
                    }
                }
                Ok(())
            }
            byte => Err(SyntaxError::InvalidCharacter(byte, "in string escape code")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_gos_decoder() {
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
            ("1 2", Some("invalid character '2' after top-level value")),
            ("-x", Some("invalid character 'x' in numeric literal")),
            (
                "\"\u{1}\"",
                Some(r"invalid character '\x01' in string literal"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(
                syntax_error(text.as_bytes()).as_deref(),
                *expected,
                "{text}"
            );
        }
    }
}
