//! What the server acknowledged, and what it was asked for without an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::bail;

use super::objects::{Contents, Object};
use super::watcher::Watcher;

/// Shared by the writers; each name belongs to one of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    names: BTreeMap<String, Entry>,
    /// Each revision with the change that was acknowledged under it.
    revisions: BTreeMap<u64, (String, String)>,
    acknowledged: usize,
}

/// What is known of one name.
#[derive(Debug, Default)]
struct Entry {
    /// The value that was acknowledged last; none if the name was deleted or never made.
    value: Option<String>,
    /// The change that was asked for and not answered: it happened wholly or not at all.
    open: Option<Change>,
}

/// What a name becomes: a value, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change(Option<String>);

impl Ledger {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.book().names.get(name)?.value.clone()
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.book().acknowledged
    }

    /// A change is about to be asked for.
    pub(super) fn ask(&self, name: &str, value: Option<String>) {
        let mut book = self.book();
        book.names.entry(name.to_owned()).or_default().open = Some(Change(value));
    }

    /// The server said that it happened.
    pub(super) fn acknowledge(&self, name: &str, made: Option<Object>) -> anyhow::Result<()> {
        let mut book = self.book();
        book.acknowledged += 1;
        let entry = book.names.entry(name.to_owned()).or_default();
        entry.value = entry.open.take().and_then(|change| change.0);
        let Some(made) = made else { return Ok(()) };
        let change = (made.name, made.value);
        if let Some(other) = book.revisions.insert(made.revision, change.clone())
            && other != change
        {
            bail!(
                "revision {} was used for {other:?} and for {change:?}",
                made.revision
            );
        }
        Ok(())
    }

    /// Checks what a server that came back has, and settles what was open.
    pub(super) fn compare(&self, contents: &Contents) -> anyhow::Result<()> {
        let mut book = self.book();
        for (name, entry) in &mut book.names {
            let found = contents.get(name).map(|(value, _)| value.clone());
            let open = entry.open.take();
            let happened = open.as_ref().is_some_and(|change| change.0 == found);
            if found != entry.value && !happened {
                bail!(
                    "{name} is {found:?}; acknowledged was {:?} and open {open:?}",
                    entry.value
                );
            }
            entry.value = found;
        }
        for (name, (value, _)) in contents {
            if !book.names.contains_key(name) {
                bail!("nobody asked for {name} = {value}");
            }
        }
        Ok(())
    }

    /// A watcher must have seen each acknowledged revision with the same change, unless a list took it in.
    pub(super) fn compare_revisions(&self, watcher: &Watcher) -> anyhow::Result<()> {
        let listed = |revision: u64| {
            let mut spans = watcher.listed.iter();
            spans.any(|(from, to)| (*from..=*to).contains(&revision))
        };
        let book = self.book();
        for (revision, change) in book.revisions.iter().filter(|(at, _)| !listed(**at)) {
            match watcher.changes.get(revision) {
                Some(seen) if seen == change => {}
                Some(seen) => bail!("revision {revision} was {change:?}, a watcher saw {seen:?}"),
                None => bail!("a watcher never saw revision {revision}, {change:?}"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(value: &str, revision: u64) -> Object {
        Object {
            name: "load-0-0".into(),
            value: value.into(),
            revision,
        }
    }

    fn contents(value: &str) -> Contents {
        Contents::from([("load-0-0".to_owned(), (value.to_owned(), 5))])
    }

    #[test]
    fn a_lost_write_is_found() {
        let ledger = Ledger::default();
        ledger.ask("load-0-0", Some("a".into()));
        ledger.acknowledge("load-0-0", Some(made("a", 5))).unwrap();
        assert!(ledger.compare(&Contents::new()).is_err());
    }

    #[test]
    fn a_change_without_an_answer_may_have_happened_or_not() {
        for found in [contents("a"), contents("b")] {
            let ledger = Ledger::default();
            ledger.ask("load-0-0", Some("a".into()));
            ledger.acknowledge("load-0-0", Some(made("a", 5))).unwrap();
            ledger.ask("load-0-0", Some("b".into()));
            ledger.compare(&found).unwrap();
        }
    }

    #[test]
    fn a_revision_used_twice_is_found() {
        let ledger = Ledger::default();
        ledger.ask("load-0-0", Some("a".into()));
        ledger.acknowledge("load-0-0", Some(made("a", 5))).unwrap();
        ledger.ask("load-0-0", Some("b".into()));
        assert!(ledger.acknowledge("load-0-0", Some(made("b", 5))).is_err());
    }

    #[test]
    fn a_watcher_that_missed_a_revision_is_found() {
        let ledger = Ledger::default();
        ledger.ask("load-0-0", Some("a".into()));
        ledger.acknowledge("load-0-0", Some(made("a", 5))).unwrap();
        let mut watcher = Watcher::default();
        assert!(ledger.compare_revisions(&watcher).is_err());
        watcher.listed.push((0, 7));
        ledger.compare_revisions(&watcher).unwrap();
    }
}
