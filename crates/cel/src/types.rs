//! The types of expressions and values.

use std::fmt;
use std::sync::Arc;

/// The type of an expression or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Any value; checked when the expression is evaluated.
    Dyn,
    /// The type of an expression that does not type-check.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// An object type by its name.
    Struct(Arc<str>),
    /// A type parameter of an overload.
    Param(&'static str),
    /// A free type variable of the checker.
    Variable(usize),
    /// A type with parameters.
    Generic(Arc<Generic>),
}

/// A type with parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct Generic {
    pub(crate) kind: GenericKind,
    pub(crate) parameters: Vec<Type>,
    /// The number of types in the tree. Shared subtrees count each time, so that it may be exponential in what is stored.
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GenericKind {
    List,
    Map,
    Type,
    /// An abstract type by its name, such as `optional_type` and `net.IP`.
    Opaque(&'static str),
}

impl Type {
    pub(crate) fn generic(kind: GenericKind, parameters: Vec<Self>) -> Self {
        let size = parameters
            .iter()
            .fold(1_u64, |sum, parameter| sum.saturating_add(parameter.size()));
        Self::Generic(Arc::new(Generic {
            kind,
            parameters,
            size,
        }))
    }

    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::generic(GenericKind::List, vec![element])
    }

    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::generic(GenericKind::Map, vec![key, value])
    }

    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::generic(GenericKind::Opaque("optional_type"), vec![value])
    }

    pub(crate) fn opaque(name: &'static str) -> Self {
        Self::generic(GenericKind::Opaque(name), Vec::new())
    }

    /// The type that a variable of an admission policy has in other expressions: objects are dynamic.
    #[must_use]
    pub fn of_variable(&self) -> Self {
        if let Some(element) = self.list_element() {
            return Self::list(element.of_variable());
        }
        if let Some((key, value)) = self.map_entry() {
            return Self::map(key.of_variable(), value.of_variable());
        }
        match self {
            Self::Struct(_) | Self::Generic(_) => Self::Dyn,
            simple => simple.clone(),
        }
    }

    /// The type of a type.
    pub(crate) fn type_of(type_: Self) -> Self {
        Self::generic(GenericKind::Type, vec![type_])
    }

    #[must_use]
    pub fn object(name: &str) -> Self {
        Self::Struct(name.into())
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Generic(generic) => generic.size,
            _ => 1,
        }
    }

    pub(crate) fn parameters(&self) -> &[Self] {
        match self {
            Self::Generic(generic) => &generic.parameters,
            _ => &[],
        }
    }

    pub(crate) fn generic_kind(&self) -> Option<GenericKind> {
        match self {
            Self::Generic(generic) => Some(generic.kind),
            _ => None,
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type inside an optional.
    pub(crate) fn optional_value(&self) -> Option<&Self> {
        match self.generic_kind() {
            Some(GenericKind::Opaque("optional_type")) => self.parameters().first(),
            _ => None,
        }
    }

    pub(crate) fn list_element(&self) -> Option<&Self> {
        match self.generic_kind() {
            Some(GenericKind::List) => self.parameters().first(),
            _ => None,
        }
    }

    pub(crate) fn map_entry(&self) -> Option<(&Self, &Self)> {
        match (self.generic_kind(), self.parameters()) {
            (Some(GenericKind::Map), [key, value]) => Some((key, value)),
            _ => None,
        }
    }

    /// The type with its parameters, as `Type.String` of cel-go formats it; compile errors have shorter names.
    #[must_use]
    pub fn declared_name(&self) -> String {
        let name = self.runtime_name();
        match self.parameters() {
            [] => name.to_owned(),
            parameters => {
                let parameters: Vec<_> = parameters.iter().map(Self::declared_name).collect();
                format!("{name}({})", parameters.join(", "))
            }
        }
    }

    /// The name that `type()` and messages of the evaluator show, without parameters.
    pub(crate) fn runtime_name(&self) -> &str {
        match self {
            Self::Dyn | Self::Variable(_) => "dyn",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Struct(name) => name,
            Self::Param(name) => name,
            Self::Generic(generic) => match generic.kind {
                GenericKind::List => "list",
                GenericKind::Map => "map",
                GenericKind::Type => "type",
                GenericKind::Opaque(name) => name,
            },
        }
    }
}

/// The type as compile errors show it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Error => f.write_str("!error!"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Variable(index) => write!(f, "_var{index}"),
            Self::Generic(generic) if !generic.parameters.is_empty() => {
                write!(f, "{}(", self.runtime_name())?;
                for (i, parameter) in generic.parameters.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    write!(f, "{separator}{parameter}")?;
                }
                f.write_str(")")
            }
            other => f.write_str(other.runtime_name()),
        }
    }
}
