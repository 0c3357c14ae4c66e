//! Random values for `toYaml`, `toJson` and `toYamlPretty`, and random texts for `fromYaml`. One chart has many cases,
//! since these functions cannot fail.

use std::path::Path;

use super::engines::PROFILES;
use super::{Run, json_values, write_chart, yaml_texts};

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

pub(super) fn batch(run: &mut Run<'_>, remaining: usize) -> anyhow::Result<()> {
    let count = remaining.min(BATCH);
    let values: Vec<String> = (0..count / 2)
        .map(|_| json_values::value(&mut run.random, 4))
        .collect();
    let texts: Vec<String> = (count / 2..count)
        .map(|_| yaml_texts::text(&mut run.random))
        .collect();
    let scratch = tempfile::tempdir()?;
    write(scratch.path(), &values, &texts)?;
    for profile in PROFILES {
        let pair = run.engines.render(profile, scratch.path(), &[])?;
        if pair.is_same() {
            continue;
        }
        let saved = run.engines.save(
            profile,
            &format!("yaml-{}", run.results.cases),
            scratch.path(),
        )?;
        run.results
            .differences
            .push(format!("{}: {}", saved.display(), pair.difference()));
    }
    run.results.cases += count;
    Ok(())
}

fn write(chart: &Path, values: &[String], texts: &[String]) -> anyhow::Result<()> {
    write_chart(chart, format!("{{\"cases\":[\n{}\n]}}", values.join(",\n")))?;
    fs_err::create_dir_all(chart.join("texts"))?;
    fs_err::write(chart.join("templates/all.yaml"), TEMPLATE)?;
    for (number, text) in texts.iter().enumerate() {
        fs_err::write(chart.join(format!("texts/{number:04}")), text)?;
    }
    Ok(())
}
