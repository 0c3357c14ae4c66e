//! What the killed process said before and after each write, and what may therefore be in the file.

use std::collections::BTreeMap;
use std::fmt;

use super::Contents;

const MARK: &str = "crash ";

/// Names with their new content; none deletes.
pub(super) type Changes = BTreeMap<String, Option<String>>;

/// One thing the process said. Names and contents have no spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// The store is open at this revision.
    Start(u64),
    /// A worker sends a transaction.
    Try(usize, Changes),
    /// The store acknowledged the transaction.
    Acknowledged(usize, BTreeMap<String, u64>),
    /// A watcher saw a change.
    Event(u64, String),
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{MARK}")?;
        match self {
            Self::Start(revision) => write!(formatter, "start {revision}")?,
            Self::Event(revision, name) => write!(formatter, "event {revision} {name}")?,
            Self::Try(worker, changes) => {
                write!(formatter, "try {worker}")?;
                for (name, text) in changes {
                    write!(formatter, " {name}={}", text.as_deref().unwrap_or("-"))?;
                }
            }
            Self::Acknowledged(worker, revisions) => {
                write!(formatter, "ack {worker}")?;
                for (name, revision) in revisions {
                    write!(formatter, " {name}={revision}")?;
                }
            }
        }
        write!(formatter, " .")
    }
}

impl Line {
    /// All lines that were written to their end.
    pub(super) fn parse_all(output: &str) -> impl Iterator<Item = Self> {
        output.lines().filter_map(|line| {
            let words = line.split_once(MARK)?.1.strip_suffix(" .")?;
            Some(Self::parse(words).unwrap_or_else(|| panic!("not understood: {line}")))
        })
    }

    fn parse(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let kind = words.next()?;
        let number = words.next()?;
        let mut pairs = words.clone().map_while(|word| word.split_once('='));
        Some(match kind {
            "start" => Self::Start(number.parse().ok()?),
            "event" => Self::Event(number.parse().ok()?, words.next()?.to_owned()),
            "try" => {
                let changes = pairs
                    .map(|(name, text)| (name.to_owned(), (text != "-").then(|| text.to_owned())));
                Self::Try(number.parse().ok()?, changes.collect())
            }
            "ack" => {
                let revisions =
                    pairs.try_fold(BTreeMap::new(), |mut revisions, (name, revision)| {
                        revisions.insert(name.to_owned(), revision.parse().ok()?);
                        Some(revisions)
                    });
                Self::Acknowledged(number.parse().ok()?, revisions?)
            }
            _ => return None,
        })
    }
}

/// One worker of the process. It has names of its own and does one thing at a time.
#[derive(Debug, Default)]
pub(super) struct Worker {
    open: Option<Changes>,
}

impl Worker {
    pub(super) fn tried(&mut self, changes: Changes) {
        assert!(self.open.replace(changes).is_none());
    }

    /// The content, none for a deletion, and the revision of each name.
    pub(super) fn acknowledged(
        &mut self,
        revisions: &BTreeMap<String, u64>,
    ) -> BTreeMap<String, (Option<String>, u64)> {
        let changes = self.open.take().unwrap();
        assert!(changes.keys().eq(revisions.keys()));
        changes
            .into_iter()
            .map(|(name, text)| {
                let revision = revisions[&name];
                (name, (text, revision))
            })
            .collect()
    }

    /// Applies the transaction in flight to `expected` if `found` has it; it must be there completely or not at all.
    pub(super) fn resolve_in_flight(
        &self,
        expected: &mut Contents,
        found: &Contents,
        revision: u64,
    ) {
        let Some(changes) = &self.open else {
            return;
        };
        let text =
            |contents: &Contents, name: &str| contents.get(name).map(|(text, _)| text.clone());
        let happened = changes
            .iter()
            .all(|(name, wanted)| text(found, name) == *wanted);
        if !happened {
            return;
        }
        for name in changes.keys() {
            expected.remove(name);
            if let Some((text, at)) = found.get(name) {
                assert!(*at > revision, "{name} has an old revision");
                expected.insert(name.clone(), (text.clone(), *at));
            }
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let lines = [
        Line::Start(3),
        Line::Try(
            1,
            BTreeMap::from([
                ("a".to_owned(), Some("x".to_owned())),
                ("b".to_owned(), None),
            ]),
        ),
        Line::Acknowledged(
            1,
            BTreeMap::from([("a".to_owned(), 4), ("b".to_owned(), 5)]),
        ),
        Line::Event(4, "a".to_owned()),
    ];
    let text = lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    let read: Vec<_> = Line::parse_all(&format!("running 1 test\n{text}crash ack 1 a=")).collect();
    assert_eq!(read, lines);
}
