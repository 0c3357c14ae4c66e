//! Helm's structs in templates.

use std::any::Any;
use std::rc::Rc;

use outrigger_gotmpl::value::{Kind, Object, StructField, Value};

/// A Go struct without methods, or a pointer to one.
#[derive(Debug)]
pub(crate) struct Struct {
    type_name: String,
    fields: Vec<StructField>,
}

impl Struct {
    /// A pointer if the type name starts with `*`.
    pub(crate) fn value(type_name: impl Into<String>, fields: Vec<StructField>) -> Value {
        Value::Object(Rc::new(Self {
            type_name: type_name.into(),
            fields,
        }))
    }
}

impl Object for Struct {
    fn type_name(&self) -> &str {
        &self.type_name
    }

    fn kind(&self) -> Kind {
        if self.type_name.starts_with('*') {
            Kind::Ptr
        } else {
            Kind::Struct
        }
    }

    fn struct_fields(&self) -> Option<Vec<StructField>> {
        Some(self.fields.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
