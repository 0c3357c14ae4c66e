//! The column definitions of kube-apiserver.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use crate::kinds::Kind;

/// `TableColumnDefinition`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    pub format: String,
    pub description: String,
    /// Columns with a priority above zero are only shown by `-o wide`.
    pub priority: i64,
}

/// Columns by `apiVersion/Kind`.
static COLUMNS: LazyLock<HashMap<String, Vec<Column>>> =
    LazyLock::new(|| parse(include_str!("columns.json")).unwrap_or_default());

/// The columns of kinds without own ones: name and creation time.
const FALLBACK: &str = "v1/LimitRange";

/// The columns of a kind.
pub(super) fn of(kind: &Kind) -> Vec<Column> {
    if let Some(custom) = &kind.custom {
        return of_custom(&custom.columns);
    }
    let name = format!("{}/{}", kind.group_version(), kind.kind);
    let columns = COLUMNS.get(&name).or_else(|| COLUMNS.get(FALLBACK));
    columns.cloned().unwrap_or_default()
}

fn of_custom(declared: &[crate::kinds::PrinterColumn]) -> Vec<Column> {
    let name = COLUMNS.get(FALLBACK).and_then(|columns| columns.first());
    let own = declared.iter().map(|column| Column {
        name: column.name.clone(),
        type_: column.type_.clone(),
        format: column.format.clone(),
        description: match column.description.as_str() {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                column.json_path
            ),
            description => description.to_owned(),
        },
        priority: column.priority,
    });
    name.cloned().into_iter().chain(own).collect()
}

fn parse(text: &str) -> Option<HashMap<String, Vec<Column>>> {
    let file: Value = serde_json::from_str(text).ok()?;
    let kinds = file["kinds"].as_object()?.iter();
    let of_kind = |columns: &Value| -> Option<Vec<Column>> {
        let columns = columns.as_array()?.iter();
        let column = |column: &Value| {
            let description = usize::try_from(column[3].as_u64()?).ok()?;
            Some(Column {
                name: column[0].as_str()?.to_owned(),
                type_: column[1].as_str()?.to_owned(),
                format: column[2].as_str()?.to_owned(),
                description: file["descriptions"][description].as_str()?.to_owned(),
                priority: column[4].as_i64()?,
            })
        };
        columns.map(column).collect()
    };
    kinds
        .map(|(kind, columns)| Some((kind.clone(), of_kind(columns)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_definitions_parse() {
        assert!(COLUMNS.len() > 60);
        assert!(COLUMNS.contains_key(FALLBACK));
    }
}
