//! Parses the templates of a chart before they are rendered, in shares, so that callers with threads can use them.

use std::num::NonZeroUsize;

use outrigger_gotmpl::ParseCache;
use outrigger_gotmpl::function::Dialect;

use crate::chart::Chart;
use crate::profile::Profile;

/// The text of all templates of a chart and its subcharts, in bytes.
pub fn template_bytes(chart: &Chart) -> usize {
    let own: usize = chart.templates.iter().map(|file| file.data.len()).sum();
    own + chart.subcharts.iter().map(template_bytes).sum::<usize>()
}

/// The parse of share number `share` (from 0) of `shares` equal shares of the templates. What does not parse is told when it is rendered.
pub fn parse_ahead(
    chart: &Chart,
    profile: Profile,
    share: usize,
    shares: NonZeroUsize,
) -> ParseCache {
    let mut ahead = Ahead {
        cache: ParseCache::default(),
        dialect: profile.dialect(),
        at: 0,
        share,
        shares,
    };
    ahead.parse(chart, chart.name());
    ahead.cache
}

struct Ahead {
    cache: ParseCache,
    dialect: Dialect,
    at: usize,
    share: usize,
    shares: NonZeroUsize,
}

impl Ahead {
    fn parse(&mut self, chart: &Chart, path: &str) {
        for file in &chart.templates {
            if self.at % self.shares == self.share {
                let name = format!("{path}/{}", file.name);
                let _ = self.cache.parse(&name, &file.data, &self.dialect);
            }
            self.at += 1;
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
    fn the_shares_together_hold_every_template_of_the_tree() {
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
        let counts = [0, 1].map(|share| parse_ahead(&chart, Profile::Helm4, share, two).len());
        assert_eq!(counts, [2, 1]);
        assert_eq!(template_bytes(&chart), 27);
    }
}
