//! The wire form of built-in types: which fields there are, of which type, and when they are written.
//!
//! The real server reads an object into a typed structure and writes it out again. That drops what it does not know
//! and what is empty, and adds what cannot be left out. The table in `shapes.txt` has what is needed to do the same.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::rules::{self, Rule};
use crate::kinds::Kind;

/// A type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) form: Form,
    /// Its own name, if it has one and is no structure; the real server uses it in messages.
    name: &'static str,
}

/// What values of a type look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Int32,
    Int64,
    Bool,
    Float,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON, taken as it is.
    Any,
    List(Box<Type>),
    Map(Box<Type>),
    Struct(usize),
    /// A structure, or a boolean, a text or a list in its place (schemas of definitions).
    StructOr(usize),
}

impl Type {
    /// How the real server writes the type in a message.
    pub(super) fn describe(&self) -> String {
        if !self.name.is_empty() {
            let package = if self.name == "UID" { "types" } else { "v1" };
            return format!("{package}.{}", self.name);
        }
        match &self.form {
            Form::Text | Form::Time | Form::MicroTime | Form::Quantity => "string".to_owned(),
            Form::Int32 | Form::IntOrString => "int32".to_owned(),
            Form::Int64 => "int64".to_owned(),
            Form::Bool => "bool".to_owned(),
            Form::Float => "float64".to_owned(),
            Form::Bytes => "[]uint8".to_owned(),
            Form::Any => "interface {}".to_owned(),
            Form::List(item) => format!("[]{}", item.describe()),
            Form::Map(item) => format!("map[string]{}", item.describe()),
            Form::Struct(id) | Form::StructOr(id) => shapes().get(*id).describe(),
        }
    }

    /// Whether it is a list of resources with their amounts.
    pub(super) fn is_resource_list(&self) -> bool {
        self.name == "ResourceList"
    }
}

/// A field of a structure.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) type_: Type,
    /// The names of inlined structures that the field comes through, with dots after them.
    pub(super) through: String,
    /// Unset and zero are different things.
    pub(super) is_pointer: bool,
    /// Not written when zero.
    pub(super) omit_empty: bool,
    /// Not written when it is an empty structure.
    pub(super) omit_zero: bool,
}

/// A structure; its fields are sorted by name.
#[derive(Debug)]
pub(super) struct Struct {
    /// `group.Name`.
    pub(super) name: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) rule: Option<Rule>,
}

impl Struct {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        let found = self.fields.binary_search_by(|field| field.name.cmp(name));
        self.fields.get(found.ok()?)
    }

    /// Its name without the group.
    pub(super) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    fn describe(&self) -> String {
        let is_second = self.name.starts_with("autoscaling2.");
        let package = if is_second { "v2" } else { "v1" };
        format!("{package}.{}", self.short_name())
    }
}

/// All structures.
#[derive(Debug)]
pub(super) struct Shapes {
    structs: Vec<Struct>,
    by_name: HashMap<&'static str, usize>,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes::parse(include_str!("shapes.txt")));

/// The one table.
pub(super) fn shapes() -> &'static Shapes {
    &SHAPES
}

impl Shapes {
    pub(super) fn get(&self, id: usize) -> &Struct {
        &self.structs[id]
    }

    /// The structure of a built-in kind.
    pub(super) fn of_kind(&self, kind: &Kind) -> Option<usize> {
        if kind.custom.is_some() {
            return None;
        }
        let group = match kind.group.split('.').next().unwrap_or_default() {
            "" => "core".to_owned(),
            "autoscaling" => format!("autoscaling{}", kind.version.trim_start_matches('v')),
            group => group.to_owned(),
        };
        let name = format!("{group}.{}", kind.kind);
        self.by_name.get(name.as_str()).copied()
    }

    fn parse(table: &'static str) -> Self {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        let rows: Vec<(&str, Vec<&str>)> = lines
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                Some((words.next()?, words.collect()))
            })
            .collect();
        let by_name: HashMap<_, _> = rows
            .iter()
            .enumerate()
            .map(|(id, (name, _))| (*name, id))
            .collect();
        let structs = rows.iter().map(|(name, fields)| {
            let group = name.split('.').next().unwrap_or_default();
            let fields = fields.iter();
            let mut fields: Vec<_> = fields
                .filter_map(|field| parse_field(field, group, &by_name))
                .collect();
            fields.sort_by_key(|field| field.name);
            Struct {
                name,
                fields,
                rule: rules::of_type(name),
            }
        });
        Self {
            structs: structs.collect(),
            by_name,
        }
    }
}

fn parse_field(
    text: &'static str,
    group: &str,
    by_name: &HashMap<&'static str, usize>,
) -> Option<Field> {
    let (name, mut rest) = text.split_once(':')?;
    let mut through = String::new();
    while let Some(inner) = rest.strip_prefix('^') {
        let (inner, after) = inner.split_once('^')?;
        through.push_str(inner);
        through.push('.');
        rest = after;
    }
    let mut flag = |flag: char| match rest.strip_prefix(flag) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    };
    let omit_empty = flag('?');
    let omit_zero = flag('~');
    let is_pointer = flag('*');
    Some(Field {
        name,
        type_: parse_type(rest, group, by_name)?,
        through,
        is_pointer,
        omit_empty,
        omit_zero,
    })
}

fn parse_type(
    text: &'static str,
    group: &str,
    by_name: &HashMap<&'static str, usize>,
) -> Option<Type> {
    let (first, rest) = text.split_at_checked(1)?;
    let (name, rest) = match rest.strip_prefix('(') {
        Some(named) => named.split_once(')')?,
        None => ("", rest),
    };
    let of_struct = |name: &str| -> Option<usize> {
        let full = format!("{group}.{name}");
        let full = if name.contains('.') { name } else { &full };
        by_name.get(full).copied()
    };
    let item = || parse_type(rest, group, by_name).map(Box::new);
    let form = match first {
        "s" => Form::Text,
        "i" => Form::Int32,
        "l" => Form::Int64,
        "b" => Form::Bool,
        "f" => Form::Float,
        "y" => Form::Bytes,
        "t" => Form::Time,
        "m" => Form::MicroTime,
        "q" => Form::Quantity,
        "x" => Form::IntOrString,
        "r" => Form::Any,
        "[" => Form::List(item()?),
        "{" => Form::Map(item()?),
        "@" => Form::Struct(of_struct(rest)?),
        "o" => Form::StructOr(of_struct(rest.strip_prefix('@')?)?),
        _ => return None,
    };
    Some(Type { form, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Registry;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let table = include_str!("shapes.txt");
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        for (line, shape) in lines.zip(&shapes().structs) {
            let fields = line.split_whitespace().count() - 1;
            assert_eq!(shape.fields.len(), fields, "{}", shape.name);
        }
    }

    #[test]
    fn every_built_in_kind_has_a_shape() {
        for kind in Registry::default().snapshot().iter() {
            assert!(shapes().of_kind(kind).is_some(), "{}", kind.kind);
        }
    }
}
