//! Removes comments from JSON, as the first example of TKEStack's documentation of hooks has them.

/// The text without comments, if it is a JSON object. Lines and columns of everything else remain.
pub fn strip_comments(text: &str) -> String {
    let mut stripped = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_string = false;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            _ if !is_string && rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            _ if !is_string && rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
                let (comment, after) = rest.split_at(end);
                stripped.extend(comment.chars().map(|c| if c == '\n' { c } else { ' ' }));
                rest = after;
                continue;
            }
            '\\' if is_string => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '"' => {
                is_string = !is_string;
                1
            }
            c => c.len_utf8(),
        };
        let (kept, after) = rest.split_at(length);
        stripped.push_str(kept);
        rest = after;
    }
    if stripped.trim_start().starts_with('{') {
        stripped
    } else {
        text.to_owned()
    }
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
        for yaml in ["url: https://example.com\n", "# c\nglob: /*\n", "", "/"] {
            assert_eq!(strip_comments(yaml), yaml);
        }
        assert_eq!(strip_comments("{\"a\": 1} //"), "{\"a\": 1} ");
        assert_eq!(strip_comments("{\"a"), "{\"a");
        assert_eq!(strip_comments("{\"é\\"), "{\"é\\");
    }

    #[test]
    fn comments_may_be_in_front_of_the_object_and_have_several_lines() {
        assert_eq!(strip_comments("// c\n{\"a\": 1}"), "\n{\"a\": 1}");
        let text = "/* \"a\n*/ {\"a\": /* b */ \"/* c */\"} /* d";
        let expected = "     \n   {\"a\":         \"/* c */\"}     ";
        assert_eq!(strip_comments(text), expected);
    }
}
