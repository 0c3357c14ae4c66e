//! The output of `helm show`.

use std::fmt::Write;

use crate::chart::{Chart, File};
use crate::profile::Profile;
use crate::{metadata_yaml, yaml};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    Chart,
    Values,
    Readme,
    Crds,
}

const READMES: [&str; 3] = ["readme.md", "readme.txt", "readme"];

/// The output of `helm show PART`.
pub fn show(chart: &Chart, part: Part, profile: Profile) -> String {
    let mut out = String::new();
    let shows = |other| part == other || part == Part::All;
    if shows(Part::Chart) {
        let metadata = metadata_yaml::of_metadata(&chart.metadata, true);
        let _ = writeln!(
            out,
            "{}\n",
            String::from_utf8_lossy(&yaml::to_yaml(&metadata))
        );
    }
    if shows(Part::Values)
        && chart.values.is_some()
        && let Some(text) = &chart.values_text
    {
        separate(&mut out, part);
        let _ = writeln!(out, "{}", String::from_utf8_lossy(text));
    }
    if shows(Part::Readme)
        && let Some(readme) = chart.files.iter().find(|file| is_readme(file))
    {
        separate(&mut out, part);
        let _ = writeln!(out, "{}", String::from_utf8_lossy(&readme.data));
    }
    if shows(Part::Crds) {
        show_crds(&mut out, chart, part, profile);
    }
    out
}

fn show_crds(out: &mut String, chart: &Chart, part: Part, profile: Profile) {
    for (index, crd) in chart.crds().iter().enumerate() {
        let has_separator =
            profile.rules().separates_shown_crds || (part == Part::All && index == 0);
        if has_separator && !crd.data.starts_with(b"---") {
            out.push_str("---\n");
        }
        let _ = writeln!(out, "{}", String::from_utf8_lossy(&crd.data));
    }
}

fn separate(out: &mut String, part: Part) {
    if part == Part::All {
        out.push_str("---\n");
    }
}

fn is_readme(file: &File) -> bool {
    READMES
        .iter()
        .any(|name| file.name.eq_ignore_ascii_case(name))
}
