//! `conformance images`: `image list` finds every image that `helm template` shows in chart archives, and more.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use outrigger_oci::Reference;
use outrigger_testing::peers::HELM4;
use serde_json::Value;

use crate::process::command;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder with chart archives
    charts: PathBuf,
}

/// What was found in all charts.
#[derive(Debug, Default)]
struct Totals {
    charts: usize,
    /// Charts that Helm does not render with their default values
    rejected: usize,
    shown: usize,
    missing: usize,
    /// Images that are not in a field named `image`, by confidence
    more: BTreeMap<String, usize>,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let mut archives = Vec::new();
    for entry in fs_err::read_dir(&args.charts)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            archives.push(path);
        }
    }
    ensure!(!archives.is_empty(), "there are no chart archives");
    archives.sort();
    let mut totals = Totals::default();
    for archive in &archives {
        let compared = compare(binary, archive, &mut totals).await;
        compared.with_context(|| archive.display().to_string())?;
    }
    println!(
        "{} charts, {} more that Helm rejects: {} images shown by Helm, {} of them not found; found besides: {:?}",
        totals.charts, totals.rejected, totals.shown, totals.missing, totals.more
    );
    ensure!(
        totals.missing == 0,
        "{} images were not found",
        totals.missing
    );
    Ok(())
}

async fn compare(binary: &Path, archive: &Path, totals: &mut Totals) -> anyhow::Result<()> {
    let helm = command(HELM4.installed()?)
        .args(["template", "release"])
        .arg(archive)
        .output()
        .await?;
    if !helm.status.success() {
        totals.rejected += 1;
        return Ok(());
    }
    let ours = command(binary)
        .args(["image", "list", "--output", "json", "--chart"])
        .arg(archive)
        .output()
        .await?;
    let shown = images_in(&String::from_utf8_lossy(&helm.stdout));
    let stderr = String::from_utf8_lossy(&ours.stderr);
    ensure!(ours.status.success(), "{stderr}");
    let listed: Vec<Value> = serde_json::from_slice(&ours.stdout)?;
    let found: BTreeMap<&str, &str> = listed
        .iter()
        .filter_map(|image| Some((image["image"].as_str()?, image["confidence"].as_str()?)))
        .collect();
    totals.charts += 1;
    totals.shown += shown.len();
    for image in shown
        .iter()
        .filter(|image| !found.contains_key(image.as_str()))
    {
        totals.missing += 1;
        println!("{}: not found: {image}", archive.display());
    }
    for (_, confidence) in found.iter().filter(|(image, _)| !shown.contains(**image)) {
        *totals.more.entry((*confidence).to_owned()).or_default() += 1;
    }
    Ok(())
}

/// The values of all `image:` in a text that are references, whatever the structure of the text is.
pub(crate) fn images_in(text: &str) -> BTreeSet<String> {
    let mut images = BTreeSet::new();
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    for line in text.lines().filter(|line| !is_comment(line)) {
        for (at, key) in line.match_indices("image") {
            let is_word = line[..at]
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '-');
            let rest = line[at + key.len()..].trim_start_matches(['"', '\'']);
            let Some(rest) = rest.strip_prefix(':').filter(|_| is_word) else {
                continue;
            };
            let value = rest.trim_start().trim_start_matches(['"', '\'']);
            let end = value.find(|c: char| c.is_whitespace() || "\"',}".contains(c));
            let value = &value[..end.unwrap_or(value.len())];
            if let Ok(reference) = value.parse::<Reference>()
                && value.parse::<f64>().is_err()
                && !["true", "false", "null"].contains(&value)
            {
                images.insert(reference.to_string());
            }
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_by_plain_text() {
        let text = "image: nginx:1\n  - image: \"quay.io/a/b:2\"\n  {\"image\": 'c', x: 1}\nmyimage: d\nimage:\nimage: {{ x }}\nimage: true\n# image: e\n";
        let found: Vec<String> = images_in(text).into_iter().collect();
        assert_eq!(
            found,
            [
                "docker.io/library/c:latest",
                "docker.io/library/nginx:1",
                "quay.io/a/b:2"
            ]
        );
    }
}
