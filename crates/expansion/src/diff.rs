//! What changed between two built packages. Pure: their locks are enough.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use outrigger_oci::Digest;
use serde::Serialize;

use crate::lock::{EntryKind, Lock};
use crate::root::Root;

/// A difference between two packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    pub change: Change,
    pub kind: Kind,
    pub name: String,
    /// The size in the first package, or its value of a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Amount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    Added,
    Changed,
    Removed,
}

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// Name, version or platforms.
    Field,
    Chart,
    File,
    Image,
    Blob,
}

/// A number of bytes, or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    Bytes(u64),
    Text(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Field => "field",
            Self::Chart => "chart",
            Self::File => "file",
            Self::Image => "image",
            Self::Blob => "blob",
        })
    }
}

/// What an item is compared by, and what is shown of it.
type Items = BTreeMap<String, (String, Option<Amount>)>;

/// The items of one kind.
type ItemsOf = fn(&Root, &Lock) -> Items;

/// All differences: fields, charts, other files, images, blobs, each sorted by name.
pub fn diff(before: (&Root, &Lock), after: (&Root, &Lock)) -> Vec<Difference> {
    let both = |items: ItemsOf| (items(before.0, before.1), items(after.0, after.1));
    let kinds: [(Kind, ItemsOf); 5] = [
        (Kind::Field, |root, _| fields(root)),
        (Kind::Chart, |_, lock| charts(lock)),
        (Kind::File, |_, lock| files(lock)),
        (Kind::Image, |_, lock| images(lock)),
        (Kind::Blob, |_, lock| blobs(lock)),
    ];
    let kinds = kinds.into_iter().map(|(kind, items)| (kind, both(items)));
    kinds
        .flat_map(|(kind, (before, after))| compare(kind, &before, &after))
        .collect()
}

/// What a delta would carry: the number of files and blobs that the first package lacks, and their bytes.
pub fn carried(before: &Lock, after: &Lock) -> (usize, u64) {
    let has: BTreeSet<(Digest, u64)> = before
        .entries()
        .map(|entry| (entry.digest, entry.size))
        .collect();
    let new = after.entries();
    let new = new.filter(|entry| !has.contains(&(entry.digest.clone(), entry.size)));
    new.fold((0, 0), |(count, bytes), entry| {
        (count + 1, bytes.saturating_add(entry.size))
    })
}

fn compare(kind: Kind, before: &Items, after: &Items) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differences = names.into_iter().filter_map(|name| {
        let (old, new) = (before.get(name), after.get(name));
        let change = match (old, new) {
            (Some((old, _)), Some((new, _))) if old == new => return None,
            (Some(_), Some(_)) => Change::Changed,
            (Some(_), None) => Change::Removed,
            (None, _) => Change::Added,
        };
        Some(Difference {
            change,
            kind,
            name: name.clone(),
            before: old.and_then(|(_, amount)| amount.clone()),
            after: new.and_then(|(_, amount)| amount.clone()),
        })
    });
    differences.collect()
}

fn fields(root: &Root) -> Items {
    let platforms = root.platforms.join(", ");
    let fields = [
        ("name", root.name.clone()),
        ("version", root.version.clone().unwrap_or_default()),
        ("platforms", platforms),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    fields
        .map(|(name, value)| (name.to_owned(), (value.clone(), Some(Amount::Text(value)))))
        .collect()
}

/// The files of the package without charts and images.
fn files(lock: &Lock) -> Items {
    let files = lock.files.iter();
    let files =
        files.filter(|file| !file.path.starts_with("charts/") && !file.path.starts_with("images/"));
    files
        .map(|file| {
            let compared = format!("{} {:o}", file.digest, file.mode);
            (
                file.path.clone(),
                (compared, Some(Amount::Bytes(file.size))),
            )
        })
        .collect()
}

/// Charts, each with all its files.
fn charts(lock: &Lock) -> Items {
    let paths: BTreeSet<&str> = lock.files.iter().map(|file| file.path.as_str()).collect();
    let mut charts: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for file in lock
        .files
        .iter()
        .filter(|file| file.path.starts_with("charts/"))
    {
        let slashes = file.path.match_indices('/').skip(1);
        let mut folders = slashes.map(|(at, _)| &file.path[..at]);
        let is_chart = |folder: &&str| paths.contains(format!("{folder}/Chart.yaml").as_str());
        let chart = folders.find(is_chart).unwrap_or(&file.path);
        let (compared, size) = charts.entry(chart.to_owned()).or_default();
        compared.push_str(&format!("{} {} {:o}\n", file.path, file.digest, file.mode));
        *size = size.saturating_add(file.size);
    }
    let charts = charts.into_iter();
    charts
        .map(|(name, (compared, size))| (name, (compared, Some(Amount::Bytes(size)))))
        .collect()
}

fn images(lock: &Lock) -> Items {
    let shown = |digest: &Digest| Some(Amount::Text(digest.to_string()));
    let images = lock.images.iter();
    images
        .map(|(name, digest)| (name.clone(), (digest.to_string(), shown(digest))))
        .collect()
}

fn blobs(lock: &Lock) -> Items {
    let blobs = lock.entries().filter(|entry| entry.kind != EntryKind::File);
    blobs
        .map(|entry| {
            let digest = entry.digest.to_string();
            (digest.clone(), (digest, Some(Amount::Bytes(entry.size))))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{LockedBlob, LockedFile};
    use crate::root::{FORMAT, Locked};

    fn root(version: &str) -> Root {
        Root {
            format_version: FORMAT,
            name: "demo".to_owned(),
            version: Some(version.to_owned()),
            platforms: Vec::new(),
            lock: Locked {
                digest: Digest::of(b""),
                size: 0,
            },
            base: None,
        }
    }

    fn lock(files: &[(&str, &str)], blobs: &[&str]) -> Lock {
        let files = files.iter().map(|(path, content)| LockedFile {
            path: (*path).to_owned(),
            mode: 0o644,
            size: content.len() as u64,
            digest: Digest::of(content.as_bytes()),
            in_base: false,
        });
        let blobs = blobs.iter().map(|content| LockedBlob {
            digest: Digest::of(content.as_bytes()),
            size: content.len() as u64,
            in_base: false,
        });
        Lock {
            format_version: FORMAT,
            files: files.collect(),
            blobs: blobs.collect(),
            ..Lock::default()
        }
    }

    #[test]
    fn charts_are_compared_as_a_whole_and_files_one_by_one() {
        let before = lock(
            &[
                ("charts/a/Chart.yaml", "a"),
                ("charts/a/charts/b/Chart.yaml", "b"),
                ("charts/c.tgz", "c"),
                ("files/gone", "123"),
                ("files/same", "1"),
            ],
            &["old", "same"],
        );
        let mut after = lock(
            &[
                ("charts/a/Chart.yaml", "a"),
                ("charts/a/charts/b/Chart.yaml", "bb"),
                ("charts/c.tgz", "c"),
                ("files/new", "1234"),
                ("files/same", "1"),
            ],
            &["newer", "same"],
        );
        after.images.insert("web:1".to_owned(), Digest::of(b"web"));
        let found = diff((&root("1.0.0"), &before), (&root("1.1.0"), &after));
        let found: Vec<String> = found
            .iter()
            .map(|difference| {
                let Difference {
                    change,
                    kind,
                    name,
                    before,
                    after,
                } = difference;
                let name: String = name.chars().take(20).collect();
                let shown = |amount: &Option<Amount>| match amount {
                    None => "-".to_owned(),
                    Some(Amount::Bytes(bytes)) => bytes.to_string(),
                    Some(Amount::Text(text)) => text.chars().take(8).collect(),
                };
                format!("{change} {kind} {name} {} {}", shown(before), shown(after))
            })
            .collect();
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string()[..20].to_owned();
        let mut expected = vec![
            "changed field version 1.0.0 1.1.0".to_owned(),
            "changed chart charts/a 2 3".to_owned(),
            "removed file files/gone 3 -".to_owned(),
            "added file files/new - 4".to_owned(),
            "added image web:1 - sha256:b".to_owned(),
            format!("removed blob {} 3 -", digest("old")),
            format!("added blob {} - 5", digest("newer")),
        ];
        expected[4] = format!(
            "added image web:1 - {}",
            &Digest::of(b"web").to_string()[..8]
        );
        expected[5..].sort_by_key(|line| line.split(' ').nth(2).map(str::to_owned));
        assert_eq!(found, expected);
        assert_eq!(diff((&root("1"), &before), (&root("1"), &before)), []);
        assert_eq!(carried(&before, &before), (0, 0));
        // One file of the chart, one other file, one blob.
        assert_eq!(carried(&before, &after), (3, 2 + 4 + 5));
    }
}
