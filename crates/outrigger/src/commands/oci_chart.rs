//! References to charts in registries: `oci://HOST/PATH/CHART[:TAG]`, whose tag is the version.

use outrigger_oci::version_of_tag;

use crate::report::UsageError;

/// The URL of a chart in a registry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OciChart {
    /// The URL without the tag.
    pub(crate) url: String,
    /// The last segment of the path.
    pub(crate) name: String,
    /// The version that the tag or the flag selects.
    pub(crate) version: Option<String>,
}

impl OciChart {
    /// Parses an `oci://` URL; `None` for other sources. `version` is that of `--version`, which must agree with the tag.
    pub(crate) fn parse(source: &str, version: Option<&str>) -> Result<Option<Self>, UsageError> {
        let Some((host, path)) = source
            .strip_prefix("oci://")
            .and_then(|rest| rest.split_once('/'))
        else {
            return Ok(None);
        };
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (path, format!("@{digest}")),
            None => (path, String::new()),
        };
        let (path, tag) = match path.rsplit_once(':') {
            Some((path, tag)) => (path, Some(version_of_tag(tag))),
            None => (path, None),
        };
        let path = path.trim_end_matches('/');
        let version = match (version, tag) {
            (Some(version), Some(tag)) if version != tag => {
                let text =
                    format!("--version {version} contradicts the tag of {source}; use one of them");
                return Err(UsageError(text));
            }
            (version, tag) => version.map(str::to_owned).or(tag),
        };
        Ok(Some(Self {
            url: format!("oci://{host}/{path}{digest}"),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            version,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_is_the_chart_and_its_tag_the_version() {
        let check = |source: &str, url: &str, name: &str, version: Option<&str>| {
            let chart = OciChart::parse(source, None).unwrap().unwrap();
            let parsed = (
                chart.url.as_str(),
                chart.name.as_str(),
                chart.version.as_deref(),
            );
            assert_eq!(parsed, (url, name, version), "{source}");
        };
        let url = "oci://r.local:5000/charts/web";
        check(url, url, "web", None);
        check("oci://r.local:5000/charts/web/", url, "web", None);
        check(
            "oci://r.local:5000/charts/web:1.2.3_b1",
            url,
            "web",
            Some("1.2.3+b1"),
        );
        let pinned = format!("{url}@sha256:abc");
        check(&pinned, &pinned, "web", None);
        check(
            "oci://r.local:5000/charts/web:1.0.0@sha256:abc",
            &pinned,
            "web",
            Some("1.0.0"),
        );
        for other in ["oci://r.local:5000", "https://r.local/web:1", "./web"] {
            assert_eq!(OciChart::parse(other, None).unwrap(), None, "{other}");
        }
    }

    #[test]
    fn a_version_that_contradicts_the_tag_is_an_error() {
        let parse = |version| OciChart::parse("oci://r.local/web:1.0.0", Some(version));
        assert!(parse("1.0.0").is_ok());
        let error = parse("^1").unwrap_err().to_string();
        assert_eq!(
            error,
            "--version ^1 contradicts the tag of oci://r.local/web:1.0.0; use one of them"
        );
    }
}
