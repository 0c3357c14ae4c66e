//! `tests/broken/CASE`: a package, and everything that is found in it. `tests/good/CASE`: a package without findings.
//!
//! `UPDATE=1 cargo test -p outrigger-expansion` writes what is found to `expected.txt`. Review it like code.

use std::path::{Path, PathBuf};

use outrigger_expansion::scan::{Content, Entry};
use outrigger_expansion::{Finding, scan, verify};

/// Findings with their hints, a line each.
pub(crate) fn listing(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| match &finding.hint {
        Some(hint) => format!("{finding}\n  hint: {hint}\n"),
        None => format!("{finding}\n"),
    });
    lines.collect()
}

fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(kind);
    let entries = fs_err::read_dir(folder).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

#[test]
fn broken_packages_have_exactly_the_expected_findings() {
    let cases = cases("broken");
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut differences = String::new();
    for case in cases {
        let found = listing(&verify(&scan(&case.join("package")).unwrap()));
        assert_ne!(found, "", "{} has no findings", case.display());
        let path = case.join("expected.txt");
        if std::env::var_os("UPDATE").is_some() {
            fs_err::write(&path, &found).unwrap();
        }
        let expected = fs_err::read_to_string(&path).unwrap_or_default();
        if found != expected {
            let case = case.display();
            differences.push_str(&format!(
                "{case}\n--- expected\n{expected}--- found\n{found}\n"
            ));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn good_packages_have_no_findings() {
    let mut cases: Vec<PathBuf> = cases("good");
    assert!(cases.len() >= 3, "{cases:?}");
    for case in &mut cases {
        case.push("package");
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    cases.push(examples.join("expansion"));
    for case in cases {
        let found = listing(&verify(&scan(&case).unwrap()));
        assert_eq!(found, "", "{}", case.display());
    }
}

/// Whatever bytes a package consists of, its findings are a list, and the same each time.
#[test]
fn damaged_packages_have_findings_and_no_panics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/every-key/package");
    let good = scan(&folder).unwrap();
    let mut random = 7_u64;
    let mut next = |limit: usize| {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % (limit as u64)).unwrap()
    };
    for _ in 0..300 {
        let mut damaged = good.clone();
        let index = next(damaged.entries.len());
        let Some(Entry::File(file)) = damaged.entries.values_mut().nth(index) else {
            continue;
        };
        let Content::Bytes(bytes) = &mut file.content else {
            continue;
        };
        for _ in 0..=next(4) {
            let at = next(bytes.len().max(1)).min(bytes.len());
            match next(3) {
                0 if at < bytes.len() => bytes[at] ^= 1 << next(8),
                1 => bytes.truncate(at),
                _ => bytes.insert(at, b"\0\n{}[]:-&*!"[next(11)]),
            }
        }
        assert_eq!(verify(&damaged), verify(&damaged));
    }
}
