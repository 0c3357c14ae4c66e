//! Loaded charts in memory, by digest: a cache with LRU eviction.

use std::sync::{Arc, Mutex, PoisonError};

use outrigger_chart::Chart;

const MAX_CHARTS: usize = 64;

const MAX_BYTES: usize = 24 << 20;

#[derive(Debug, Default)]
pub(crate) struct ChartCache {
    /// Key, chart and size, the most recently used last.
    charts: Mutex<Vec<(String, Arc<Chart>, usize)>>,
}

impl ChartCache {
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Chart>> {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        let index = charts.iter().position(|(other, ..)| other == key)?;
        let entry = charts.remove(index);
        let chart = Arc::clone(&entry.1);
        charts.push(entry);
        Some(chart)
    }

    pub(crate) fn put(&self, key: String, chart: &Arc<Chart>) {
        let size = size(chart);
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        charts.retain(|(other, ..)| *other != key);
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
    fn evicts_the_least_recently_used_chart() {
        let loaded = ChartCache::default();
        for number in 0..MAX_CHARTS {
            loaded.put(number.to_string(), &chart(1));
        }
        assert!(loaded.get("0").is_some());
        loaded.put("new".to_owned(), &chart(1));
        assert!(loaded.get("1").is_none());
        assert!(loaded.get("0").is_some() && loaded.get("new").is_some());
    }

    #[test]
    fn limits_the_total_size() {
        let loaded = ChartCache::default();
        for number in 0..4 {
            loaded.put(number.to_string(), &chart(MAX_BYTES / 3));
        }
        assert!(loaded.get("0").is_none());
        assert!(loaded.get("3").is_some());
        loaded.put("huge".to_owned(), &chart(2 * MAX_BYTES));
        assert!(loaded.get("huge").is_some());
    }
}
