//! Slash paths as Go's `path` package cleans, joins and cuts them.

/// The shortest equivalent path: no `//`, no `.`, and `..` resolved where it can be.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(".."),
            },
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Joins two paths and cleans the result.
pub(crate) fn join(base: &str, name: &str) -> String {
    clean(&format!("{base}/{name}"))
}

/// The last element, `.` for nothing, `/` for slashes only.
pub(crate) fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The extension with its dot, empty if the last element has none.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').map_or("", |at| &name[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_in_go() {
        let cases = [
            ("", "."),
            ("a//b", "a/b"),
            ("a/./b/..", "a"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("a/..", "."),
            ("/", "/"),
        ];
        for (path, expected) in cases {
            assert_eq!(clean(path), expected, "{path}");
        }
        assert_eq!(base("a/b/"), "b");
        assert_eq!(base("///"), "/");
        assert_eq!(extension("charts/x-1.2.tgz"), ".tgz");
        assert_eq!(extension("a.b/c"), "");
    }
}
