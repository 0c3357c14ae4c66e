//! Charts that were loaded before, by digest, as many as fit.

use std::sync::{Arc, Mutex, PoisonError};

use outrigger_chart::Chart;

/// So many charts are kept.
const MAX_CHARTS: usize = 64;

/// So much text of charts is kept.
const MAX_BYTES: usize = 24 << 20;

/// The one used last is at the end.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    charts: Mutex<Vec<(String, Arc<Chart>, usize)>>,
}

impl Loaded {
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Chart>> {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        let at = charts.iter().position(|(known, ..)| known == key)?;
        let found = charts.remove(at);
        let chart = Arc::clone(&found.1);
        charts.push(found);
        Some(chart)
    }

    pub(crate) fn put(&self, key: String, chart: &Arc<Chart>) {
        let size = size(chart);
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        charts.retain(|(known, ..)| *known != key);
        charts.push((key, Arc::clone(chart), size));
        let mut total: usize = charts.iter().map(|(.., size)| size).sum();
        while charts.len() > 1 && (charts.len() > MAX_CHARTS || total > MAX_BYTES) {
            total -= charts.remove(0).2;
        }
    }
}

fn size(chart: &Chart) -> usize {
    let files = chart.templates.iter().chain(&chart.files);
    let own: usize = files.map(|file| file.data.len()).sum();
    own + chart.subcharts.iter().map(size).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use outrigger_chart::File;

    use super::*;

    fn chart(bytes: usize) -> Arc<Chart> {
        Arc::new(Chart {
            files: vec![File::new("a", vec![b'x'; bytes])],
            ..Chart::default()
        })
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_goes_first() {
        let loaded = Loaded::default();
        for number in 0..MAX_CHARTS {
            loaded.put(number.to_string(), &chart(1));
        }
        assert!(loaded.get("0").is_some());
        loaded.put("new".to_owned(), &chart(1));
        assert!(loaded.get("1").is_none());
        assert!(loaded.get("0").is_some() && loaded.get("new").is_some());
    }

    #[test]
    fn large_charts_take_the_place_of_many() {
        let loaded = Loaded::default();
        for number in 0..4 {
            loaded.put(number.to_string(), &chart(MAX_BYTES / 3));
        }
        assert!(loaded.get("0").is_none());
        assert!(loaded.get("3").is_some());
        loaded.put("huge".to_owned(), &chart(2 * MAX_BYTES));
        assert!(loaded.get("huge").is_some());
    }
}
