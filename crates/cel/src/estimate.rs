//! Estimates the cost of expressions before there are any data. The estimate decides whether Kubernetes accepts a
//! definition, so it is the same as that of cel-go with the estimator of Kubernetes.

mod calls;
mod size;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Call, Comprehension, Entry, Expr, Id, Kind, List, Literal, Select};
use crate::checker::{Checked, Reference};
use crate::decl::DeclType;
use crate::evaluate::OBJECT_COST;
use crate::types::{GenericKind, Type};
pub use size::CostEstimate;
pub(crate) use size::SizeEstimate;

const ONE: CostEstimate = CostEstimate::fixed(1);
const LIST: CostEstimate = CostEstimate::fixed(10);
const MAP: CostEstimate = CostEstimate::fixed(30);

/// Estimates the cost of an expression. `sizes` declares how large the values of variables can be.
pub(crate) fn estimate(checked: &Checked, sizes: Option<&DeclType>) -> CostEstimate {
    let mut coster = Coster {
        checked,
        sizes,
        paths: HashMap::new(),
        computed: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    coster.cost(&checked.root)
}

/// Where a value comes from, such as `self`, `spec`, `items`, `@items`.
type Path = Vec<Arc<str>>;

/// The sizes of the keys and values of a list or map.
#[derive(Debug, Clone, Copy)]
struct EntrySize {
    is_list: bool,
    key: SizeEstimate,
    value: SizeEstimate,
}

impl EntrySize {
    fn union(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(Self {
            is_list: one.is_list,
            key: one.key.union(other.key),
            value: one.value.union(other.value),
        })
    }
}

/// A variable of a comprehension.
struct Local {
    name: Arc<str>,
    path: Path,
    size: Option<SizeEstimate>,
    entry: Option<EntrySize>,
}

/// An argument of a call.
struct Argument<'e> {
    expr: &'e Expr,
    path: Path,
    type_: Type,
    size: Option<SizeEstimate>,
    cost: CostEstimate,
}

/// The cost of a call, and the size of its result if it is known.
struct CallEstimate {
    cost: CostEstimate,
    size: Option<SizeEstimate>,
}

struct Coster<'c> {
    checked: &'c Checked,
    sizes: Option<&'c DeclType>,
    paths: HashMap<Id, Path>,
    computed: HashMap<Id, SizeEstimate>,
    entries: HashMap<Id, EntrySize>,
    locals: Vec<Local>,
}

impl Coster<'_> {
    fn cost(&mut self, expr: &Expr) -> CostEstimate {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) => CostEstimate::fixed(0),
            Kind::Struct(message) => message
                .fields
                .iter()
                .map(|field| self.cost(&field.value))
                .fold(CostEstimate::fixed(OBJECT_COST), CostEstimate::add),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select(select) => self.select(expr, select),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(expr, list),
            Kind::Map(entries) => self.map(expr, entries),
            Kind::Comprehension(fold) if is_bind(fold) => self.bind(expr, fold),
            Kind::Comprehension(fold) => self.comprehension(expr, fold),
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    fn ident(&mut self, expr: &Expr, name: &Arc<str>) -> CostEstimate {
        let path = match self.local(name) {
            Some(local) => local.path.clone(),
            None => vec![name.clone()],
        };
        self.paths.insert(expr.id, path);
        ONE
    }

    fn select(&mut self, expr: &Expr, select: &Select) -> CostEstimate {
        let cost = self.cost(&select.operand);
        if select.test_only {
            return cost;
        }
        let type_ = self.checked.type_of(&select.operand);
        let has_cost =
            matches!(type_, Type::Struct(_)) || type_.generic_kind() == Some(GenericKind::Map);
        let mut path = self.path(&select.operand);
        path.push(select.field.clone());
        self.paths.insert(expr.id, path);
        if has_cost { cost.add(ONE) } else { cost }
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> CostEstimate {
        if let ("dyn", [argument]) = (&*call.function, call.args.as_slice()) {
            let cost = self.cost(argument);
            self.copy_sizes(expr, argument);
            return ONE.add(cost);
        }
        let args: Vec<_> = call.args.iter().map(|arg| self.argument(arg)).collect();
        let overloads = match self.checked.reference(expr.id) {
            Reference::Function(_, overloads) => overloads.clone(),
            _ if &*call.function == "_?._" => vec!["select_optional_field"],
            _ => return CostEstimate::fixed(0),
        };
        let target = call.target.as_ref().map(|target| self.argument(target));
        let target_cost = target
            .as_ref()
            .map_or(CostEstimate::fixed(0), |target| target.cost);
        let mut cost: Option<CostEstimate> = None;
        let mut size: Option<SizeEstimate> = None;
        for overload in overloads {
            let estimate = self.overload(expr, &call.function, overload, target.as_ref(), &args);
            cost = Some(cost.map_or(estimate.cost, |cost| cost.union(estimate.cost)));
            size = match (size, estimate.size) {
                (Some(size), Some(other)) => Some(size.union(other)),
                (size, other) => size.or(other),
            };
            let indexed = match overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(part), Some(container)) = (indexed, call.args.first()) {
                size = self.entry_size(container).map(|entry| entry.value);
                let mut path = self.path(container);
                path.push(part.into());
                self.paths.insert(expr.id, path);
            }
            size = size.or_else(|| self.size(expr));
        }
        self.set_size(expr, size);
        target_cost.add(cost.unwrap_or(CostEstimate::fixed(0)))
    }

    /// An argument with its cost and size.
    fn argument<'e>(&mut self, expr: &'e Expr) -> Argument<'e> {
        let cost = self.cost(expr);
        let mut path = self.path(expr);
        let is_accumulator = |name: &Arc<str>| matches!(&**name, "@result" | "__result__");
        if path.first().is_some_and(is_accumulator) {
            path.clear();
        }
        Argument {
            expr,
            path,
            type_: self.checked.type_of(expr).clone(),
            size: self.size(expr),
            cost,
        }
    }

    fn list(&mut self, expr: &Expr, list: &List) -> CostEstimate {
        let mut cost = CostEstimate::fixed(0);
        let mut item = SizeEstimate::none(list.elements.is_empty());
        for element in &list.elements {
            cost = cost.add(self.cost(element));
            item = item.union(self.size_or_unknown(element));
        }
        let entry = EntrySize {
            is_list: true,
            key: SizeEstimate::fixed(1),
            value: item,
        };
        self.entries.insert(expr.id, entry);
        cost.add(LIST)
    }

    fn map(&mut self, expr: &Expr, entries: &[Entry]) -> CostEstimate {
        let mut cost = CostEstimate::fixed(0);
        let mut key = SizeEstimate::none(entries.is_empty());
        let mut value = key;
        for entry in entries {
            cost = cost.add(self.cost(&entry.key)).add(self.cost(&entry.value));
            key = key.union(self.size_or_unknown(&entry.key));
            value = value.union(self.size_or_unknown(&entry.value));
        }
        let entry = EntrySize {
            is_list: false,
            key,
            value,
        };
        self.entries.insert(expr.id, entry);
        cost.add(MAP)
    }

    fn push_local(
        &mut self,
        name: &Arc<str>,
        path: Path,
        size: Option<SizeEstimate>,
        entry: Option<EntrySize>,
    ) {
        self.locals.push(Local {
            name: name.clone(),
            path,
            size,
            entry,
        });
    }

    /// Declares the accumulator with the size of its initial value.
    fn push_accumulator(&mut self, fold: &Comprehension) {
        let path = self.path(&fold.init);
        let entry = self.entry_size(&fold.init);
        let size = self.size(&fold.init);
        self.push_local(&fold.accumulator, path, size, entry);
    }

    /// Declares a variable that iterates over the keys or values of a range.
    fn push_variable(&mut self, name: &Arc<str>, range: &Expr, of_keys: bool) {
        let entry = self.entry_size(range);
        let is_list = entry.map_or_else(
            || self.checked.type_of(range).generic_kind() == Some(GenericKind::List),
            |entry| entry.is_list,
        );
        let part = match (of_keys, is_list) {
            (true, true) => "@indices",
            (true, false) => "@keys",
            (false, true) => "@items",
            (false, false) => "@values",
        };
        let size = entry.map(|entry| if of_keys { entry.key } else { entry.value });
        let mut path = self.path(range);
        path.push(part.into());
        self.push_local(name, path, size, None);
    }

    fn comprehension(&mut self, expr: &Expr, fold: &Comprehension) -> CostEstimate {
        let cost = self.cost(&fold.range).add(self.cost(&fold.init));
        let outer = self.locals.len();
        self.push_accumulator(fold);
        let inner = self.locals.len();
        if let Some(second) = &fold.variable2 {
            self.push_variable(&fold.variable, &fold.range, true);
            self.push_variable(second, &fold.range, false);
        } else {
            let entry = self.entry_size(&fold.range);
            let is_list = entry.map_or_else(
                || self.checked.type_of(&fold.range).generic_kind() == Some(GenericKind::List),
                |entry| entry.is_list,
            );
            self.push_variable(&fold.variable, &fold.range, !is_list);
        }
        let iteration = self.cost(&fold.condition).add(self.cost(&fold.step));
        self.locals.truncate(inner);
        let cost = cost.add(self.cost(&fold.result));
        self.locals.truncate(outer);
        let count = self.size_or_unknown(&fold.range);
        match &fold.init.kind {
            Kind::Literal(_) => {
                let size = self.size(&fold.init);
                self.set_size(expr, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set_size(expr, Some(count));
                if let Some(entry) = self.entry_size(&fold.step) {
                    self.entries.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        cost.add(count.times(iteration))
    }

    fn bind(&mut self, expr: &Expr, fold: &Comprehension) -> CostEstimate {
        let cost = self.cost(&fold.range).add(self.cost(&fold.init));
        let outer = self.locals.len();
        self.push_accumulator(fold);
        let cost = cost.add(self.cost(&fold.result));
        self.locals.truncate(outer);
        self.copy_sizes(expr, &fold.result);
        cost
    }

    fn path(&self, expr: &Expr) -> Path {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn set_size(&mut self, expr: &Expr, size: Option<SizeEstimate>) {
        if let Some(size) = size {
            self.computed.insert(expr.id, size);
        }
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set_size(to, size);
        if let Some(entry) = self.entry_size(from) {
            self.entries.insert(to.id, entry);
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> SizeEstimate {
        self.size(expr).unwrap_or(SizeEstimate::UNKNOWN)
    }

    fn size(&mut self, expr: &Expr) -> Option<SizeEstimate> {
        if let Some(size) = self.computed.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(expr)) {
            self.computed.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(expr)) {
            return Some(SizeEstimate::fixed(1));
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    /// The size of the values at a path.
    fn declared_size(&self, path: &[Arc<str>]) -> Option<SizeEstimate> {
        let (_, fields) = path.split_first()?;
        let declaration = self.sizes?.at(fields.iter().map(|part| &**part))?;
        Some(SizeEstimate {
            min: 0,
            max: declaration.max_elements(),
        })
    }

    fn entry_size(&self, expr: &Expr) -> Option<EntrySize> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.entry,
            _ => None,
        }
    }
}

/// Whether a comprehension only binds a variable.
fn is_bind(fold: &Comprehension) -> bool {
    let is_empty = matches!(&fold.range.kind, Kind::List(list) if list.elements.is_empty());
    let never = matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)));
    is_empty && never
}

fn literal_size(expr: &Expr) -> Option<SizeEstimate> {
    let size = match &expr.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List(list) => list.elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(SizeEstimate::fixed(u64::try_from(size).unwrap_or(u64::MAX)))
}

fn is_scalar(type_: &Type) -> bool {
    match type_ {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
            true
        }
        type_ => type_.optional_value().is_some_and(is_scalar),
    }
}
