//! The writes that the server acknowledged, and those that it was sent without a response.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::bail;

use super::objects::{Contents, Object};
use super::watcher::Watcher;

/// Shared by the writers; each name belongs to one of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    /// The acknowledged change of each revision: name and value.
    revisions: BTreeMap<u64, (String, String)>,
    acknowledged: usize,
}

#[derive(Debug, Default)]
struct Entry {
    /// The last acknowledged value; `None` if the object does not exist.
    value: Option<String>,
    /// The change without a response: it was applied completely or not at all.
    pending: Option<Change>,
}

/// The new value of an object; `None` deletes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change(Option<String>);

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.lock().entries.get(name)?.value.clone()
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.lock().acknowledged
    }

    /// Records a change before its request is sent.
    pub(super) fn request(&self, name: &str, value: Option<String>) {
        let mut state = self.lock();
        state.entries.entry(name.to_owned()).or_default().pending = Some(Change(value));
    }

    /// Records the success of the pending change.
    pub(super) fn acknowledge(&self, name: &str, written: Option<Object>) -> anyhow::Result<()> {
        let mut state = self.lock();
        state.acknowledged += 1;
        let entry = state.entries.entry(name.to_owned()).or_default();
        entry.value = entry.pending.take().and_then(|change| change.0);
        let Some(written) = written else {
            return Ok(());
        };
        let change = (written.name, written.value);
        if let Some(other) = state.revisions.insert(written.revision, change.clone())
            && other != change
        {
            bail!(
                "revision {} was used for {other:?} and for {change:?}",
                written.revision
            );
        }
        Ok(())
    }

    /// Compares the state of a restarted server, which decides the outcome of pending changes.
    pub(super) fn compare(&self, contents: &Contents) -> anyhow::Result<()> {
        let mut state = self.lock();
        for (name, entry) in &mut state.entries {
            let found = contents.get(name).map(|(value, _)| value.clone());
            let pending = entry.pending.take();
            let is_applied = pending.as_ref().is_some_and(|change| change.0 == found);
            if found != entry.value && !is_applied {
                bail!(
                    "{name} is {found:?}; acknowledged: {:?}, pending: {pending:?}",
                    entry.value
                );
            }
            entry.value = found;
        }
        for (name, (value, _)) in contents {
            if !state.entries.contains_key(name) {
                bail!("{name} = {value} was never requested");
            }
        }
        Ok(())
    }

    /// Checks that a watcher received every acknowledged revision that no relist covers.
    pub(super) fn compare_revisions(&self, watcher: &Watcher) -> anyhow::Result<()> {
        let is_relisted = |revision: u64| {
            let mut ranges = watcher.relists.iter();
            ranges.any(|(from, to)| (*from..=*to).contains(&revision))
        };
        let state = self.lock();
        for (revision, change) in &state.revisions {
            match watcher.changes.get(revision) {
                _ if is_relisted(*revision) => {}
                Some(received) if received == change => {}
                Some(received) => {
                    bail!("revision {revision} is {change:?}, a watcher received {received:?}")
                }
                None => bail!("a watcher did not receive revision {revision}, {change:?}"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &str, revision: u64) -> Object {
        Object {
            name: "load-0-0".into(),
            value: value.into(),
            revision,
        }
    }

    fn contents(value: &str) -> Contents {
        Contents::from([("load-0-0".to_owned(), (value.to_owned(), 5))])
    }

    fn ledger_with_acknowledged_write() -> Ledger {
        let ledger = Ledger::default();
        ledger.request("load-0-0", Some("a".into()));
        ledger
            .acknowledge("load-0-0", Some(object("a", 5)))
            .unwrap();
        ledger
    }

    #[test]
    fn detects_a_lost_write() {
        let ledger = ledger_with_acknowledged_write();
        assert!(ledger.compare(&Contents::new()).is_err());
    }

    #[test]
    fn accepts_either_outcome_of_a_pending_change() {
        for found in [contents("a"), contents("b")] {
            let ledger = ledger_with_acknowledged_write();
            ledger.request("load-0-0", Some("b".into()));
            ledger.compare(&found).unwrap();
        }
    }

    #[test]
    fn detects_a_revision_that_is_used_twice() {
        let ledger = ledger_with_acknowledged_write();
        ledger.request("load-0-0", Some("b".into()));
        assert!(
            ledger
                .acknowledge("load-0-0", Some(object("b", 5)))
                .is_err()
        );
    }

    #[test]
    fn detects_a_watcher_that_missed_a_revision() {
        let ledger = ledger_with_acknowledged_write();
        let mut watcher = Watcher::default();
        assert!(ledger.compare_revisions(&watcher).is_err());
        watcher.relists.push((0, 7));
        ledger.compare_revisions(&watcher).unwrap();
    }
}
