//! Go's slices: shared and never changed.

use std::fmt;
use std::rc::Rc;

use super::{Value, teardown};

/// What a slice is declared to hold; visible through `typeOf`, `deepEqual`, `has`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// `[]interface {}`
    Any,
    /// `[]string`
    String,
    /// `[]int`
    Int,
    /// `[]uint8`
    Byte,
    /// `[]map[string]interface {}`
    Map,
    /// `[][]interface {}`
    List,
}

impl Element {
    /// The slice type as `%T` prints it.
    pub fn list_type_name(self) -> &'static str {
        match self {
            Self::Any => "[]interface {}",
            Self::String => "[]string",
            Self::Int => "[]int",
            Self::Byte => "[]uint8",
            Self::Map => "[]map[string]interface {}",
            Self::List => "[][]interface {}",
        }
    }
}

/// An immutable slice.
#[derive(Clone)]
pub struct List(Rc<ListData>);

struct ListData {
    element: Element,
    /// `None` is Go's nil slice: empty everywhere, but `null` in JSON and YAML.
    items: Option<Vec<Value>>,
}

impl Drop for ListData {
    fn drop(&mut self) {
        if let Some(items) = &mut self.items
            && items.iter().any(Value::is_container)
        {
            teardown::drop_children(std::mem::take(items).into_iter());
        }
    }
}

impl List {
    pub fn new(element: Element, items: Vec<Value>) -> Self {
        Self(Rc::new(ListData {
            element,
            items: Some(items),
        }))
    }

    /// Go's nil slice, which `rest` of an empty list returns.
    pub fn nil(element: Element) -> Self {
        Self(Rc::new(ListData {
            element,
            items: None,
        }))
    }

    pub fn is_nil(&self) -> bool {
        self.0.items.is_none()
    }

    pub fn element(&self) -> Element {
        self.0.element
    }

    pub fn items(&self) -> &[Value] {
        self.0.items.as_deref().unwrap_or_default()
    }

    pub fn ptr_eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}
