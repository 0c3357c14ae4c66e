//! Mirrors of chart repositories: URLs that are replaced, so that manifests written for the internet work without it.

use outrigger_oci::Repository;

use crate::oci::OciSource;
use crate::request::Request;

/// Rules that replace the beginning of a URL. The longest one applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartMirrors {
    rules: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a mirror of a chart repository; use https://URL=https://URL, oci:// on either side, or *=URL for all"
)]
pub struct InvalidChartMirror(String);

impl ChartMirrors {
    /// Adds `URL=URL`. `*` on the left stands for all repositories, whose URLs become part of the path.
    pub fn add(&mut self, rule: &str) -> Result<(), InvalidChartMirror> {
        let is_url = |text: &str| {
            ["http://", "https://", "oci://", "file://", "/"]
                .iter()
                .any(|start| text.starts_with(start) && text.len() > start.len())
        };
        let (from, to) = rule
            .split_once('=')
            .ok_or_else(|| InvalidChartMirror(rule.to_owned()))?;
        if !(is_url(from) || from == ALL) || !is_url(to) {
            return Err(InvalidChartMirror(rule.to_owned()));
        }
        let clean = |text: &str| text.trim_end_matches('/').to_owned();
        self.rules.push((clean(from), clean(to)));
        self.rules
            .sort_by_key(|(from, _)| std::cmp::Reverse((from != ALL, from.len())));
        Ok(())
    }

    /// The URL of the mirror; none if there is no rule.
    pub(crate) fn apply(&self, url: &str) -> Option<String> {
        self.rules.iter().find_map(|(from, to)| {
            if from == ALL {
                return path_of_url(url, to).map(|path| format!("{to}/{path}"));
            }
            let rest = url.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        })
    }

    /// The repository of a registry that a chart is fetched from; none if its mirror is not a registry.
    pub fn repository(&self, request: &Request) -> Option<Repository> {
        let mirrored = self.apply(&request.repo)?;
        let source = OciSource::parse(mirrored.strip_prefix("oci://")?).ok()?;
        source.repository(&request.chart).ok()
    }
}

/// All repositories.
const ALL: &str = "*";

/// The path of a URL below the mirror of all repositories: `HOST/PATH`. In registries, names are more restricted. None
/// for directories, and for what is in the mirror already.
fn path_of_url(url: &str, mirror: &str) -> Option<String> {
    let (scheme, path) = url.split_once("://")?;
    if scheme == "file" || url == mirror || url.starts_with(&format!("{mirror}/")) {
        return None;
    }
    let path = path.trim_end_matches('/');
    if !mirror.starts_with("oci://") {
        return Some(path.to_owned());
    }
    let parts = path.split('/').map(name_of).filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// A part of a URL as a component of a repository name.
fn name_of(part: &str) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut name = String::new();
    for c in part.chars().map(|c| c.to_ascii_lowercase()) {
        let is_separated = name.ends_with(|c| !is_word(c));
        match c {
            c if is_word(c) => name.push(c),
            _ if is_separated || name.is_empty() => {}
            '.' | '_' => name.push(c),
            _ => name.push('-'),
        }
    }
    name.trim_end_matches(|c| !is_word(c)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_applies_to_whole_components() {
        let mut mirrors = ChartMirrors::default();
        mirrors
            .add("https://charts.example.com/=oci://r.local/charts")
            .unwrap();
        mirrors
            .add("https://charts.example.com/stable=https://r.local/stable")
            .unwrap();
        let apply = |url: &str| mirrors.apply(url);
        assert_eq!(
            apply("https://charts.example.com").as_deref(),
            Some("oci://r.local/charts")
        );
        assert_eq!(
            apply("https://charts.example.com/stable/x").as_deref(),
            Some("https://r.local/stable/x")
        );
        assert_eq!(apply("https://charts.example.community"), None);
        for rule in ["", "a=b", "https://a", "=https://b", "https://=https://b"] {
            assert!(ChartMirrors::default().add(rule).is_err(), "{rule}");
        }
    }

    #[test]
    fn a_rule_for_all_repositories_keeps_their_urls_as_paths() {
        let mut mirrors = ChartMirrors::default();
        mirrors.add("*=oci://r.local:5000/charts").unwrap();
        mirrors
            .add("https://own.example.com=file:///charts")
            .unwrap();
        let apply = |url: &str| mirrors.apply(url);
        let rows = [
            ("https://charts.example.com", "charts.example.com"),
            ("https://x.io:8443/A/b_c/", "x.io-8443/a/b_c"),
            ("https://x.io/~me/v1.0+b.tgz", "x.io/me/v1.0-b.tgz"),
            ("oci://ghcr.io/org/web", "ghcr.io/org/web"),
        ];
        for (url, path) in rows {
            assert_eq!(
                apply(url),
                Some(format!("oci://r.local:5000/charts/{path}"))
            );
        }
        assert_eq!(
            apply("https://own.example.com/x").as_deref(),
            Some("file:///charts/x")
        );
        assert_eq!(apply("oci://r.local:5000/charts/x.io"), None);
        assert_eq!(apply("file:///charts"), None);
        let request = Request {
            repo: "https://x.io/stable".to_owned(),
            chart: "web".to_owned(),
            ..Request::default()
        };
        let repository = mirrors.repository(&request).unwrap().to_string();
        assert_eq!(repository, "r.local:5000/charts/x.io/stable/web");
    }
}
