//! Parses the templates of a chart before it is rendered, in shares, so that the caller can parse on several threads.

use std::num::NonZeroUsize;

use outrigger_gotmpl::ParseCache;
use outrigger_gotmpl::function::Dialect;

use crate::chart::Chart;
use crate::profile::Profile;

/// The total size of the templates of a chart and its subcharts.
pub fn template_bytes(chart: &Chart) -> usize {
    let own: usize = chart.templates.iter().map(|file| file.data.len()).sum();
    own + chart.subcharts.iter().map(template_bytes).sum::<usize>()
}

/// Parses one of `shares` equal shares of the templates. Parse errors are reported when the chart is rendered.
pub fn preparse(chart: &Chart, profile: Profile, share: usize, shares: NonZeroUsize) -> ParseCache {
    let mut parser = Preparser {
        cache: ParseCache::default(),
        dialect: profile.dialect(),
        index: 0,
        share,
        shares,
    };
    parser.parse(chart, chart.name());
    parser.cache
}

struct Preparser {
    cache: ParseCache,
    dialect: Dialect,
    /// The index of the next template in the tree.
    index: usize,
    share: usize,
    shares: NonZeroUsize,
}

impl Preparser {
    fn parse(&mut self, chart: &Chart, path: &str) {
        for file in &chart.templates {
            if self.index % self.shares == self.share {
                let name = format!("{path}/{}", file.name);
                let _ = self.cache.parse(&name, &file.data, &self.dialect);
            }
            self.index += 1;
        }
        for chart in &chart.subcharts {
            self.parse(chart, &format!("{path}/charts/{}", chart.name()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::File;

    #[test]
    fn the_shares_contain_all_templates_of_the_tree() {
        let file = |name: &str| File::new(name, format!("{{{{ {name:?} }}}}"));
        let chart = Chart {
            templates: vec![file("a"), file("b")],
            subcharts: vec![Chart {
                templates: vec![file("c")],
                ..Chart::default()
            }],
            ..Chart::default()
        };
        let two = NonZeroUsize::new(2).unwrap();
        let counts = [0, 1].map(|share| preparse(&chart, Profile::Helm4, share, two).len());
        assert_eq!(counts, [2, 1]);
        assert_eq!(template_bytes(&chart), 27);
    }
}
