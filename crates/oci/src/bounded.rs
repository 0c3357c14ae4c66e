//! Deserializes lists and maps up to a number of entries, so that a small document cannot become large in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::manifest::MAX_ENTRIES;

/// Entries of the lists inside of a descriptor.
const MAX_SMALL: usize = 100;

struct List<T, const LIMIT: usize>(Vec<T>);

struct Map(BTreeMap<String, String>);

/// A list with a few entries.
pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    List::<String, MAX_SMALL>::deserialize(deserializer).map(|list| list.0)
}

/// A list of an index or a manifest.
pub(crate) fn optional_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Option::<List<T, MAX_ENTRIES>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.0))
}

/// Annotations.
pub(crate) fn map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let map = Option::<Map>::deserialize(deserializer)?;
    Ok(map.map(|map| map.0))
}

fn too_many<E: Error>(limit: usize) -> E {
    E::custom(format_args!("more than {limit} entries"))
}

impl<'de, T: Deserialize<'de>, const LIMIT: usize> Deserialize<'de> for List<T, LIMIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T, const LIMIT: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const LIMIT: usize> Visitor<'de> for ListVisitor<T, LIMIT> {
    type Value = List<T, LIMIT>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if list.len() == LIMIT {
                return Err(too_many(LIMIT));
            }
            list.push(entry);
        }
        Ok(List(list))
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor)
    }
}

struct MapVisitor;

impl<'de> Visitor<'de> for MapVisitor {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
            if map.len() > MAX_ENTRIES {
                return Err(too_many(MAX_ENTRIES));
            }
        }
        Ok(Map(map))
    }
}

#[cfg(test)]
mod tests {
    use crate::manifest::{Manifest, OCI_INDEX};

    /// The cause of the error of an index whose only manifest has these fields.
    fn rejected(fields: &str) -> String {
        let digest = crate::Digest::of(b"");
        let text = format!(
            r#"{{"manifests":[{{"mediaType":"a/b","digest":"{digest}","size":0{fields}}}]}}"#
        );
        match Manifest::parse(text.as_bytes(), Some(OCI_INDEX)) {
            Ok(_) => String::new(),
            Err(error) => std::error::Error::source(&error).unwrap().to_string(),
        }
    }

    #[test]
    fn lists_that_no_image_has_are_rejected_while_they_are_read() {
        let repeated = |entry: &str, count: usize| vec![entry; count].join(",");
        let urls = |count| format!(r#","urls":[{}]"#, repeated("\"\"", count));
        assert_eq!(rejected(&urls(100)), "");
        assert!(rejected(&urls(101)).contains("more than 100 entries"));
        let features = repeated("\"\"", 101);
        let platform =
            format!(r#","platform":{{"os":"a","architecture":"b","os.features":[{features}]}}"#);
        assert!(rejected(&platform).contains("more than 100 entries"));
        let keys: Vec<String> = (0..10_001).map(|key| format!(r#""{key}":"""#)).collect();
        let annotations = format!(r#","annotations":{{{}}}"#, keys.join(","));
        assert!(rejected(&annotations).contains("more than 10000 entries"));
        assert_eq!(rejected(r#","annotations":null"#), "");
    }
}
