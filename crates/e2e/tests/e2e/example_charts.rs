//! The example charts pass `helm lint`, and Helm renders them as we do.

use std::path::{Path, PathBuf};

use outrigger_chart::{PrintOptions, Profile, RenderOptions, load_path, print_template, render};
use outrigger_gotmpl::function::NullHost;
use outrigger_gotmpl::value::Map;
use outrigger_testing::{TestContext, peers};

fn charts() -> anyhow::Result<Vec<PathBuf>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/charts");
    let mut charts = Vec::new();
    for entry in fs_err::read_dir(directory.canonicalize()?)? {
        charts.push(entry?.path());
    }
    charts.sort();
    Ok(charts)
}

fn render_chart(chart: &Path) -> anyhow::Result<String> {
    let profile = Profile::Helm4;
    let chart = load_path(chart, profile, &mut |_| {})?;
    let options = RenderOptions::new(profile, "demo", "shop");
    let rendered = render(&chart, &Map::default(), &options, &NullHost, &mut |_| {})?;
    let print = PrintOptions {
        include_crds: true,
        ..PrintOptions::default()
    };
    Ok(String::from_utf8(print_template(
        &rendered, &print, profile,
    )?)?)
}

#[test]
fn example_charts_pass_helm_lint_and_render_like_helm() -> anyhow::Result<()> {
    let helm = TestContext::new(peers::HELM4.installed()?)?;
    let charts = charts()?;
    assert!(charts.len() >= 14);
    for chart in charts {
        let path = chart.display().to_string();
        let lint = helm.run(["lint", "--strict", &path])?;
        assert!(lint.starts_with("exit code: 0"), "{lint}");
        let arguments = [
            "template",
            "demo",
            &path,
            "--namespace",
            "shop",
            "--include-crds",
        ];
        let theirs = helm.command(arguments).output()?;
        assert_eq!(
            String::from_utf8(theirs.stdout)?,
            render_chart(&chart)?,
            "{path}"
        );
    }
    Ok(())
}
