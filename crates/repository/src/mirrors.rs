//! Mirrors of chart repositories: URLs that are replaced, so that manifests written for the internet work without it.

/// Rules that replace the beginning of a URL. The longest one applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartMirrors {
    rules: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a mirror of a chart repository; use https://URL=https://URL, or oci:// on either side"
)]
pub struct InvalidChartMirror(String);

impl ChartMirrors {
    /// Adds `URL=URL`.
    pub fn add(&mut self, rule: &str) -> Result<(), InvalidChartMirror> {
        let is_url = |text: &str| {
            ["http://", "https://", "oci://", "file://", "/"]
                .iter()
                .any(|start| text.starts_with(start) && text.len() > start.len())
        };
        let (from, to) = rule
            .split_once('=')
            .ok_or_else(|| InvalidChartMirror(rule.to_owned()))?;
        if !is_url(from) || !is_url(to) {
            return Err(InvalidChartMirror(rule.to_owned()));
        }
        let clean = |text: &str| text.trim_end_matches('/').to_owned();
        self.rules.push((clean(from), clean(to)));
        self.rules
            .sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Ok(())
    }

    /// The URL of the mirror; none if there is no rule.
    pub(crate) fn apply(&self, url: &str) -> Option<String> {
        self.rules.iter().find_map(|(from, to)| {
            let rest = url.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        })
    }
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
}
