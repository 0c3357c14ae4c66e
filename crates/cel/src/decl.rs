//! The types of schemas, and how large their values can be in a request.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::schema::{Format, Kind, Schema, escape};
use crate::types::Type;

/// The maximum size of a request that costs are estimated with.
const MAX_REQUEST: i64 = 3 * 1024 * 1024;

/// The type of the values of a schema.
#[derive(Debug)]
pub struct DeclType {
    type_: Type,
    fields: Option<BTreeMap<String, Arc<Self>>>,
    key: Option<Arc<Self>>,
    element: Option<Arc<Self>>,
    /// How many elements, entries or characters there can be.
    max_elements: i64,
    /// The minimum number of bytes of a value in JSON.
    min_size: i64,
}

impl DeclType {
    /// The declaration of a schema; `None` if expressions cannot read its values. `name` is that of the object type.
    pub fn new(schema: &Schema, name: &str) -> Option<Arc<Self>> {
        let simple = |type_, max_elements, min_size| {
            Some(Arc::new(Self {
                type_,
                fields: None,
                key: None,
                element: None,
                max_elements,
                min_size,
            }))
        };
        match &schema.kind {
            Kind::IntOrString => simple(Type::Dyn, max_length(schema), 1),
            Kind::Boolean => simple(Type::Bool, 0, 4),
            Kind::Number => simple(Type::Double, 0, 1),
            Kind::Integer => simple(Type::Int, 0, 1),
            Kind::String(format) => match format {
                Format::Plain => simple(Type::String, max_length(schema), 2),
                Format::Byte => {
                    let max = schema
                        .max
                        .map_or(MAX_REQUEST.saturating_sub(2), |max| max.max(0));
                    simple(Type::Bytes, max, 2)
                }
                Format::Duration => simple(Type::Duration, 32, 3),
                Format::Date => simple(Type::Timestamp, 12, 12),
                Format::DateTime => simple(Type::Timestamp, 32, 21),
            },
            Kind::Array(items, _) => Self::list(schema, items.as_deref()?, name),
            Kind::Map(values) => Self::map(schema, values, name),
            Kind::Object(_) | Kind::EmptyObject => Some(Self::object(schema, name)),
            Kind::Preserved | Kind::Untyped => None,
        }
    }

    fn list(schema: &Schema, items: &Schema, name: &str) -> Option<Arc<Self>> {
        let element = Self::new(items, &format!("{name}.@idx"))?;
        let per_item = element.min_size.saturating_add(1);
        let estimated = MAX_REQUEST.saturating_sub(2).checked_div(per_item);
        Some(Arc::new(Self {
            type_: Type::list(element.type_.clone()),
            fields: None,
            key: None,
            max_elements: schema.max.or(estimated).unwrap_or(0).max(0),
            element: Some(element),
            min_size: 2,
        }))
    }

    fn map(schema: &Schema, values: &Schema, name: &str) -> Option<Arc<Self>> {
        let element = Self::new(values, &format!("{name}.@elem"))?;
        let per_entry = element.min_size.saturating_add(6);
        let estimated = MAX_REQUEST.saturating_sub(2).checked_div(per_entry);
        let key = Self {
            type_: Type::String,
            fields: None,
            key: None,
            element: None,
            max_elements: 0,
            min_size: 2,
        };
        Some(Arc::new(Self {
            type_: Type::map(Type::String, element.type_.clone()),
            fields: None,
            key: Some(Arc::new(key)),
            max_elements: schema.max.or(estimated).unwrap_or(0).max(0),
            element: Some(element),
            min_size: 2,
        }))
    }

    fn object(schema: &Schema, name: &str) -> Arc<Self> {
        let mut fields = BTreeMap::new();
        let mut min_size = 2_i64;
        if let Kind::Object(properties) = &schema.kind {
            for (property, field) in properties {
                let escaped = escape(property);
                let shown = escaped.as_deref().unwrap_or(property);
                let Some(declaration) = Self::new(&field.schema, &format!("{name}.{shown}")) else {
                    continue;
                };
                if field.required && !field.has_default {
                    let length = i64::try_from(property.len()).unwrap_or(i64::MAX);
                    min_size = min_size
                        .saturating_add(length)
                        .saturating_add(declaration.min_size)
                        .saturating_add(4);
                }
                if let Some(escaped) = escaped {
                    fields.insert(escaped.into_owned(), declaration);
                }
            }
        }
        Arc::new(Self {
            type_: Type::object(name),
            fields: Some(fields),
            key: None,
            element: None,
            max_elements: 0,
            min_size,
        })
    }

    pub fn type_(&self) -> Type {
        self.type_.clone()
    }

    /// The declaration of a field by its escaped name.
    pub fn field(&self, name: &str) -> Option<&Arc<Self>> {
        self.fields.as_ref()?.get(name)
    }

    /// The declaration of items, or of the values of a map.
    pub fn element(&self) -> Option<&Arc<Self>> {
        self.element.as_ref()
    }

    /// How often values of this type can occur in a request at most.
    pub fn max_cardinality(&self) -> u64 {
        let size = self.min_size.saturating_add(1);
        let count = MAX_REQUEST.checked_div(size).unwrap_or(0);
        u64::try_from(count).unwrap_or(0)
    }

    pub fn max_elements(&self) -> u64 {
        u64::try_from(self.max_elements).unwrap_or(0)
    }

    /// The declaration at a path, such as `spec.items.@items`.
    pub(crate) fn at<'p>(&self, path: impl Iterator<Item = &'p str>) -> Option<&Self> {
        let mut current = self;
        for part in path {
            current = match part {
                "@items" | "@values" => current.element.as_deref()?,
                "@keys" => current.key.as_deref()?,
                field => current.fields.as_ref()?.get(field)?,
            };
        }
        Some(current)
    }

    /// Adds the fields of this type and of all types inside of it.
    pub(crate) fn collect_objects(
        &self,
        objects: &mut HashMap<Arc<str>, Arc<HashMap<String, Type>>>,
    ) {
        if let (Some(fields), Type::Struct(name)) = (&self.fields, &self.type_) {
            let types = fields
                .iter()
                .map(|(name, field)| (name.clone(), field.type_.clone()));
            objects.insert(name.clone(), Arc::new(types.collect()));
            for field in fields.values() {
                field.collect_objects(objects);
            }
        }
        if let Some(element) = &self.element {
            element.collect_objects(objects);
        }
    }
}

/// The maximum length of a string in bytes.
fn max_length(schema: &Schema) -> i64 {
    match (schema.max, schema.longest_enum) {
        (Some(max), _) => max.max(0).saturating_mul(4),
        (None, Some(longest)) if !matches!(schema.kind, Kind::IntOrString) => longest,
        (None, _) => MAX_REQUEST.saturating_sub(2),
    }
}
