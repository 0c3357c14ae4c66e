//! What a fetch waits for, reported whenever that changes.

use std::fmt;
use std::sync::Arc;

/// Hosts that [`Turn`] names.
const MAX_NAMED: usize = 3;

/// What a fetch waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// The response to its request
    Response,
    /// A slot for its request, which is not sent yet
    Turn(Turn),
    /// The index of the repository, which is being fetched for another request
    Index,
}

/// The requests that occupy the slots, by origin. The origins with the most requests come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub running: Vec<(String, usize)>,
}

/// As in `64 requests to https://a (8), https://b (8), https://c (8) and 5 other hosts`.
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: usize = self.running.iter().map(|(_, count)| count).sum();
        write!(f, "{total} requests to ")?;
        if let [(origin, _)] = self.running.as_slice() {
            return f.write_str(origin);
        }
        let named = self.running.iter().take(MAX_NAMED);
        let named: Vec<String> = named
            .map(|(origin, count)| format!("{origin} ({count})"))
            .collect();
        f.write_str(&named.join(", "))?;
        match self.running.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            1 => f.write_str(" and another host"),
            others => write!(f, " and {others} other hosts"),
        }
    }
}

/// Receives what a fetch waits for.
#[derive(Clone, Default)]
pub struct WaitObserver(Option<Arc<dyn Fn(Wait) + Send + Sync>>);

impl WaitObserver {
    pub fn new(observe: impl Fn(Wait) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn report(&self, wait: impl FnOnce() -> Wait) {
        if let Some(observe) = &self.0 {
            observe(wait());
        }
    }
}

impl fmt::Debug for WaitObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitObserver").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_as_long_as_they_are_few() {
        let text = |hosts: &[&str]| {
            let running = hosts.iter().map(|host| (format!("http://{host}"), 8));
            let running = running.collect();
            Turn { running }.to_string()
        };
        assert_eq!(text(&["a"]), "8 requests to http://a");
        let three = "24 requests to http://a (8), http://b (8), http://c (8)";
        assert_eq!(text(&["a", "b", "c"]), three);
        assert!(text(&["a", "b", "c", "d"]).ends_with("http://c (8) and another host"));
        assert!(text(&["a", "b", "c", "d", "e"]).ends_with(" and 2 other hosts"));
    }
}
