//! Removes comments from JSON, as the first example of TKEStack's documentation of hooks has them.

/// The text without `//` comments, if it is a JSON object. Lines and columns of everything else remain.
pub fn strip_comments(text: &str) -> String {
    if !text.trim_start().starts_with('{') {
        return text.to_owned();
    }
    let mut stripped = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut is_string = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_string => {
                stripped.push(c);
                stripped.extend(chars.next());
                continue;
            }
            '"' => is_string = !is_string,
            '/' if !is_string && chars.peek() == Some(&'/') => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            _ => {}
        }
        stripped.push(c);
    }
    stripped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_with_their_line_and_strings_are_kept() {
        let text =
            "{\n  \"a\": \"x // y\", // echo -n \"1\" | base64\n  \"b\": \"\\\"//\" // end\n}\n";
        let expected = "{\n  \"a\": \"x // y\", \n  \"b\": \"\\\"//\" \n}\n";
        assert_eq!(strip_comments(text), expected);
        let yaml = "url: https://example.com\n";
        assert_eq!(strip_comments(yaml), yaml);
        assert_eq!(strip_comments("{\"a\": 1} //"), "{\"a\": 1} ");
        assert_eq!(strip_comments("{\"a"), "{\"a");
    }
}
