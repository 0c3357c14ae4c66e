//! The file format: one table with live versions by revision, one with numbers about the store.
//!
//! The key is the revision, so that a batch of new versions fills a few adjacent pages instead of touching one page
//! each: creates are three times faster than with the object's key. Replaced versions are removed.
//!
//! A value is the creation revision (8 bytes), the offset of the revision in the JSON (4), the length of the key (2),
//! little endian, then the key and the JSON. Older versions are not stored.

use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::error::{Corruption, OpenError, open_error};
use crate::key::Key;
use crate::object::{DecodeError, Object};
use crate::snapshot::State;

const OBJECTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("objects");
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

/// Identifies the file and its format.
const FORMAT: &str = "outrigger-format";
const FORMAT_NUMBER: u64 = 1;
const REVISION: &str = "revision";

const HEADER: usize = 14;

/// The changes of one commit.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    /// All versions after this revision are removed first: a failed commit may have written them.
    pub(super) remove_after: Option<u64>,
    /// Revisions of versions that are no longer live.
    pub(super) removed: Vec<u64>,
    /// New live versions.
    pub(super) stored: Vec<&'a Arc<Object>>,
}

/// Initializes an empty database.
pub(super) fn create<'a>(
    database: &Database,
    revision: u64,
    objects: impl Iterator<Item = &'a Arc<Object>>,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction
        .open_table(ABOUT)?
        .insert(FORMAT, FORMAT_NUMBER)?;
    transaction.commit()?;
    let changes = Changes {
        stored: objects.collect(),
        ..Changes::default()
    };
    commit(database, revision, changes)
}

/// Commits `changes` and the revision durably.
pub(super) fn commit(
    database: &Database,
    revision: u64,
    mut changes: Changes<'_>,
) -> Result<(), redb::Error> {
    // In table order, so that each page is touched once.
    changes.removed.sort_unstable();
    changes
        .stored
        .sort_unstable_by_key(|object| object.revision());
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        if let Some(last) = changes.remove_after {
            objects.retain_in(last + 1.., |_, _| false)?;
        }
        for revision in changes.removed {
            objects.remove(revision)?;
        }
        for object in changes.stored {
            let length = HEADER + object.key().as_str().len() + object.bytes().len();
            let mut value = objects.insert_reserve(object.revision(), length)?;
            encode(object, value.as_mut());
        }
        transaction.open_table(ABOUT)?.insert(REVISION, revision)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The revision of the last commit.
pub(super) fn revision(database: &Database) -> Result<u64, redb::Error> {
    let about = database.begin_read()?.open_table(ABOUT)?;
    let revision = about.get(REVISION)?.map(|revision| revision.value());
    revision.ok_or_else(|| redb::Error::Corrupted("the file has no revision".to_owned()))
}

/// Loads all objects.
pub(super) fn load(database: &Database, path: &Path) -> Result<State, OpenError> {
    check_format(database, path)?;
    let last = revision(database).map_err(|error| open_error(path, error))?;
    let mut objects = read_objects(database, path)?;
    objects.sort_unstable_by(|one, other| one.key().cmp(other.key()));
    let corrupt = |text: &str| OpenError::Corrupt {
        path: path.to_owned(),
        source: Corruption::structure(text),
    };
    if objects
        .windows(2)
        .any(|pair| pair[0].key() == pair[1].key())
    {
        return Err(corrupt("two versions of one object are live"));
    }
    let mut state = State::new(last);
    for object in objects {
        if object.revision() > last || object.created_revision() > object.revision() {
            return Err(corrupt("a version is later than the last revision"));
        }
        state.insert(object);
    }
    Ok(state)
}

fn read_objects(database: &Database, path: &Path) -> Result<Vec<Arc<Object>>, OpenError> {
    let transaction = database
        .begin_read()
        .map_err(|error| open_error(path, error))?;
    let table = transaction
        .open_table(OBJECTS)
        .map_err(|error| open_error(path, error))?;
    let entries = table.iter().map_err(|error| open_error(path, error))?;
    entries
        .map(|entry| {
            let (revision, value) = entry.map_err(|error| open_error(path, error))?;
            match decode(revision.value(), value.value()) {
                Ok(object) => Ok(Arc::new(object)),
                Err(source) => Err(OpenError::Corrupt {
                    path: path.to_owned(),
                    source,
                }),
            }
        })
        .collect()
}

fn check_format(database: &Database, path: &Path) -> Result<(), OpenError> {
    let path = path.to_owned();
    match format_number(database) {
        Ok(Some(FORMAT_NUMBER)) => Ok(()),
        Ok(Some(found)) => Err(OpenError::Format { path, found }),
        Ok(None) => Err(OpenError::NotAStore { path }),
        Err(error) => Err(open_error(&path, error)),
    }
}

/// None if the file was written by another program.
fn format_number(database: &Database) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    let mut tables = transaction.list_tables()?;
    if !tables.any(|table| table.name() == ABOUT.name()) {
        return Ok(None);
    }
    match transaction.open_table(ABOUT) {
        Ok(about) => Ok(about.get(FORMAT)?.map(|number| number.value())),
        Err(redb::TableError::TableTypeMismatch { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn encode(object: &Object, value: &mut [u8]) {
    let key = object.key().as_str().as_bytes();
    let length = u16::try_from(key.len()).expect("a key is at most a kilobyte long");
    let (header, rest) = value.split_at_mut(HEADER);
    header[..8].copy_from_slice(&object.created_revision().to_le_bytes());
    header[8..12].copy_from_slice(&object.revision_at().to_le_bytes());
    header[12..].copy_from_slice(&length.to_le_bytes());
    let (key_bytes, json) = rest.split_at_mut(key.len());
    key_bytes.copy_from_slice(key);
    json.copy_from_slice(object.bytes());
}

fn decode(revision: u64, value: &[u8]) -> Result<Object, Corruption> {
    let (created, at, key, json) =
        split(value).ok_or_else(|| Corruption::structure("a version has no key"))?;
    let key = Key::parse(key).map_err(Corruption::Key)?;
    Object::decode(key.clone(), revision, created, at, json)
        .map_err(|source: DecodeError| Corruption::Object { key, source })
}

fn split(value: &[u8]) -> Option<(u64, u32, &str, &[u8])> {
    let (created, rest) = value.split_first_chunk()?;
    let (at, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (key, json) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((
        u64::from_le_bytes(*created),
        u32::from_le_bytes(*at),
        std::str::from_utf8(key).ok()?,
        json,
    ))
}

/// Initializes an empty store in a test's database.
#[cfg(test)]
pub(crate) fn create_empty(database: &Database, revision: u64) -> Result<(), redb::Error> {
    create(database, revision, std::iter::empty())
}
