//! Go slices: shared and immutable.

use std::fmt;
use std::rc::Rc;

use super::{Value, growth, teardown};

/// The element type of a slice, which `typeOf`, `deepEqual` and `has` distinguish.
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
    /// `None` is the nil slice, which is `null` in JSON and YAML and empty otherwise.
    items: Option<Vec<Value>>,
    capacity: usize,
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
    /// A slice whose capacity is its length.
    pub fn new(element: Element, items: Vec<Value>) -> Self {
        let capacity = items.len();
        Self::with_capacity(element, items, capacity)
    }

    /// A slice to which the items were appended one by one.
    pub fn grown(element: Element, items: Vec<Value>) -> Self {
        let capacity = growth::grown_capacity(element, items.len());
        Self::with_capacity(element, items, capacity)
    }

    pub fn with_capacity(element: Element, items: Vec<Value>, capacity: usize) -> Self {
        Self(Rc::new(ListData {
            element,
            items: Some(items),
            capacity,
        }))
    }

    /// The nil slice, which `rest` of an empty list returns.
    pub fn nil(element: Element) -> Self {
        Self(Rc::new(ListData {
            element,
            items: None,
            capacity: 0,
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

    /// `cap`
    pub fn capacity(&self) -> usize {
        self.0.capacity
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
