//! Go slices: shared and immutable.

use std::fmt;
use std::rc::Rc;

use super::{Value, growth, memory, teardown};

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
    /// A slice type of Helm, such as `[]*chart.Maintainer`.
    Pointers(&'static str),
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
            Self::Pointers(name) => name,
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

impl ListData {
    /// The memory that is counted for it.
    fn bytes(&self) -> usize {
        let items = self.items.as_ref().map_or(0, Vec::capacity);
        memory::OVERHEAD + items * size_of::<Value>()
    }
}

impl Drop for ListData {
    fn drop(&mut self) {
        memory::freed(self.bytes());
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
        Self::counted(ListData {
            element,
            items: Some(items),
            capacity,
        })
    }

    /// The nil slice, which `rest` of an empty list returns.
    pub fn nil(element: Element) -> Self {
        Self::counted(ListData {
            element,
            items: None,
            capacity: 0,
        })
    }

    fn counted(data: ListData) -> Self {
        memory::allocated(data.bytes());
        Self(Rc::new(data))
    }

    /// An empty slice.
    pub(crate) fn empty() -> Self {
        Self::new(Element::Any, Vec::new())
    }

    /// Whether [`Self::appended`] does not copy, and returns what Sprig's `append` returns.
    pub(crate) fn is_appendable(&self) -> bool {
        self.0.element == Element::Any && self.0.items.is_some() && Rc::strong_count(&self.0) == 1
    }

    /// The slice with one more item. Its items are copied only if they are shared.
    #[must_use]
    pub(crate) fn appended(mut self, item: Value) -> Self {
        if let Some(data) = Rc::get_mut(&mut self.0)
            && let Some(items) = &mut data.items
        {
            let before = items.capacity();
            items.push(item);
            memory::allocated((items.capacity() - before) * size_of::<Value>());
            // Sprig appends to a copy whose capacity is its length.
            data.capacity = growth::append_capacity(data.element, items.len() - 1, items.len());
            return self;
        }
        let mut items = self.items().to_vec();
        items.push(item);
        Self::new(self.element(), items)
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
