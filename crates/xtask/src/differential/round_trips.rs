//! Values through `toYaml`, `toJson` and `toYamlPretty`; texts through `fromYaml`. Many cases in one chart, since
//! none of these functions can fail.

use std::path::Path;

use fastrand::Rng;

use super::engines::{Engines, PROFILES, Rendered, first_difference};
use super::{Tally, json_values, yaml_texts};

const BATCH: usize = 200;

const TEMPLATE: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: round-trips
data:
{{- range $i, $v := .Values.cases }}
  y{{ $i }}: {{ toYaml $v | b64enc | quote }}
  j{{ $i }}: {{ toJson $v | b64enc | quote }}
  p{{ $i }}: {{ toYamlPretty $v | b64enc | quote }}
  b{{ $i }}: {{ dict "v" $v | toYaml | fromYaml | toJson | b64enc | quote }}
  n{{ $i }}: {{ toYaml (dict "a" (list $v)) | nindent 4 | b64enc | quote }}
{{- end }}
{{- range $path, $_ := .Files.Glob "texts/*" }}
  m{{ base $path }}: {{ $.Files.Get $path | fromYaml | toJson | b64enc | quote }}
  l{{ base $path }}: {{ $.Files.Get $path | fromYamlArray | toJson | b64enc | quote }}
{{- end }}
"#;

pub(super) fn batch(
    engines: &Engines,
    wanted: usize,
    random: &mut Rng,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let count = wanted.min(BATCH);
    let values: Vec<String> = (0..count / 2)
        .map(|_| json_values::value(random, 4))
        .collect();
    let texts: Vec<String> = (count / 2..count)
        .map(|_| yaml_texts::text(random))
        .collect();
    let scratch = tempfile::tempdir()?;
    write(scratch.path(), &values, &texts)?;
    for profile in PROFILES {
        let pair = engines.render(profile, scratch.path(), &[])?;
        if pair.is_same() {
            continue;
        }
        let kept = engines.keep(profile, &format!("yaml-{}", tally.cases), scratch.path())?;
        let what = match (&pair.theirs, &pair.ours) {
            (Rendered::Output(theirs), Rendered::Output(ours)) => first_difference(theirs, ours),
            (theirs, ours) => format!("\n    helm: {theirs:.300?}\n    ours: {ours:.300?}"),
        };
        tally
            .differences
            .push(format!("{}: {what}", kept.display()));
    }
    tally.cases += count;
    Ok(())
}

fn write(chart: &Path, values: &[String], texts: &[String]) -> anyhow::Result<()> {
    fs_err::create_dir_all(chart.join("templates"))?;
    fs_err::create_dir_all(chart.join("texts"))?;
    fs_err::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: differential\nversion: 0.1.0\n",
    )?;
    fs_err::write(chart.join("templates/all.yaml"), TEMPLATE)?;
    fs_err::write(
        chart.join("values.yaml"),
        format!("{{\"cases\":[\n{}\n]}}", values.join(",\n")),
    )?;
    for (number, text) in texts.iter().enumerate() {
        fs_err::write(chart.join(format!("texts/{number:04}")), text)?;
    }
    Ok(())
}
