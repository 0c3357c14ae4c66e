//! The output of `helm show`.

use std::fmt::Write;

use outrigger_gotmpl::value::Value;
use serde_json::{Number, Value as Json};

use crate::chart::{Chart, File};
use crate::profile::Profile;
use crate::schema::json_of;
use crate::yaml_value::YamlValue;
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

/// The default values as Helm passes them to `JSONPath`: all numbers are floats.
pub fn default_values(chart: &Chart) -> Json {
    let values = chart
        .values
        .as_ref()
        .map_or(Value::Nil, YamlValue::to_value);
    let mut json = json_of(&values);
    convert_to_floats(&mut json);
    json
}

fn convert_to_floats(json: &mut Json) {
    match json {
        Json::Number(number) => {
            let float = number.as_f64().and_then(Number::from_f64);
            *number = float.unwrap_or_else(|| number.clone());
        }
        Json::Array(items) => items.iter_mut().for_each(convert_to_floats),
        Json::Object(entries) => entries.values_mut().for_each(convert_to_floats),
        _ => {}
    }
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
