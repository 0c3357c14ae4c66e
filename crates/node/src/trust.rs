//! Whether other users of a machine could replace a file: whoever can write to a folder on its path can.
//!
//! Files are copied only to where nobody can, and checked again before they are executed: what is in `/tmp` may have been
//! cleaned up since, and made anew by anybody.

use std::collections::BTreeSet;

use crate::shell::quote_all;

/// Defines the functions `foreign` and `users`.
pub(crate) const TRUST: &str = include_str!("trust.sh");

/// All folders that lead to a path, `/` first.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at.max(1));
    ends.filter_map(|end| path.get(..end))
}

/// Shell text that ends with exit code 126 if somebody else could replace or change the program. It starts one program:
/// shells do not know the modes of files.
pub fn require_trusted(program: &str) -> String {
    let paths: BTreeSet<&str> = ancestors(program).chain([program]).collect();
    let paths = quote_all(paths);
    format!(
        "{TRUST}found=$(foreign {paths}); [ -z \"$found\" ] || {{\n\
         printf 'not run: %s\\n' \"${{found#untrusted }}\" >&2; exit 126; }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_folder_leads_to_every_path() {
        let found: Vec<&str> = ancestors("/tmp/a b/c").collect();
        assert_eq!(found, ["/", "/tmp", "/tmp/a b"]);
        assert_eq!(ancestors("/c").collect::<Vec<_>>(), ["/"]);
    }
}
