//! Splits a rendered file into documents, by the rules of each Helm version.

use crate::profile::Profile;

/// The documents of a file, without blank ones.
pub fn documents(text: &str, profile: Profile) -> Vec<&str> {
    if profile.rules().splits_at_line_start_only {
        split_at_line_starts(text)
    } else {
        split_anywhere(text)
    }
}

/// Helm 4: a document starts at `---` at the start of a line and keeps trailing blank lines.
fn split_at_line_starts(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let mut documents = Vec::new();
    let mut start = 0;
    let mut from = 0;
    loop {
        let at = if from == 0 && text.starts_with("---") {
            Some(0)
        } else {
            find_separator(text, from).map(|at| at + 1)
        };
        let end = at.unwrap_or(text.len());
        let document = &text[start..end];
        if !document.trim().is_empty() {
            documents.push(document.trim_start());
        }
        let Some(at) = at else {
            return documents;
        };
        let rest = text[at + 3..].trim_start_matches([' ', '\t']);
        start = text.len() - rest.len();
        from = start;
    }
}

/// Helm 3: white space around the separator is part of it, so that documents are trimmed.
fn split_anywhere(text: &str) -> Vec<&str> {
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    let text = text.trim();
    let after = |at: usize| {
        let rest = text[at..].trim_start_matches(is_blank);
        text.len() - rest.len()
    };
    let mut documents = Vec::new();
    let mut start = if text.starts_with("---") { after(3) } else { 0 };
    while let Some(at) = find_separator(text, start) {
        documents.push(text[start..at].trim_end_matches(is_blank));
        start = after(at + 4);
    }
    documents.push(&text[start..]);
    documents.retain(|document| !document.is_empty());
    documents.iter().map(|document| document.trim()).collect()
}

/// The next newline that is followed by three dashes.
fn find_separator(text: &str, from: usize) -> Option<usize> {
    memchr::memmem::find(&text.as_bytes()[from..], b"\n---").map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, helm3: &[&str], helm4: &[&str]) {
        assert_eq!(documents(text, Profile::Helm3), helm3, "helm 3");
        assert_eq!(documents(text, Profile::Helm4), helm4, "helm 4");
    }

    #[test]
    fn files_split_as_in_each_helm() {
        check("a: 1\n", &["a: 1"], &["a: 1\n"]);
        check(
            "\n\n---\na: 1\n---\nb: 2\n\n",
            &["a: 1", "b: 2"],
            &["a: 1\n", "b: 2\n\n"],
        );
        check(
            "a: 1\n---\n---\nb: 2\n",
            &["a: 1", "---\nb: 2"],
            &["a: 1\n", "b: 2\n"],
        );
        check("---foo\na: 1", &["foo\na: 1"], &["foo\na: 1"]);
        check(
            "a: 1\n  \n--- # x\nb: 2\n",
            &["a: 1", "# x\nb: 2"],
            &["a: 1\n  \n", "# x\nb: 2\n"],
        );
        check(
            "a: |\n  ---\n  b\n",
            &["a: |\n  ---\n  b"],
            &["a: |\n  ---\n  b\n"],
        );
        check("---\n---\n", &["---"], &[]);
        check("----\na: 1", &["-\na: 1"], &["-\na: 1"]);
        check("  \n", &[], &[]);
    }
}
