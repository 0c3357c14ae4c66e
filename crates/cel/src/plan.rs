//! Turns checked expressions into nodes that can be evaluated: resolves variables, overloads and literals.

use std::collections::BTreeSet;
use std::sync::Arc;

use outrigger_gostd::regexp::CachedRegexp;

use crate::allowance::regex_program;
use crate::ast::{Call, Comprehension, Expr, Kind, List, Literal, Select};
use crate::checker::{Checked, Reference};
use crate::functions::convert::{is_conversion, lossless_int, lossless_uint};
use crate::functions::{Function, Implementation};
use crate::meter::Meter;
use crate::program::Program;
use crate::value::map::Key;
use crate::value::{Text, Value};

/// A node that can be evaluated.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    Attribute(Attribute),
    /// `has()` of the last qualifier of an attribute.
    TestOnly(Attribute),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    Equal(Box<[Self; 2]>),
    NotEqual(Box<[Self; 2]>),
    NotStrictlyFalse(Box<Self>),
    /// `value in [literal, ...]`
    Member(Box<Self>, BTreeSet<Key<'static>>),
    OptionalOr(Box<[Self; 2]>),
    OptionalOrValue(Box<[Self; 2]>),
    Call(Box<CallNode>),
    List(Vec<(Self, bool)>),
    Map(Vec<(Self, Self, bool)>),
    /// A new object of a type.
    Object(Arc<str>, Vec<(Arc<str>, Self, bool)>),
    Fold(Box<Fold>),
}

/// A variable or value with selections and indices.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
}

#[derive(Debug)]
pub(crate) enum Base {
    /// A variable of the activation.
    Variable(Arc<str>),
    /// A variable of a comprehension.
    Slot(usize),
    Value(Box<Node>),
    /// The qualifiers apply to the branch that is taken.
    Conditional(Box<Conditional>),
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Node,
    pub(crate) truthy: Attribute,
    pub(crate) falsy: Attribute,
}

#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: QualifierKey,
    pub(crate) optional: bool,
    /// The qualifier only tests whether there is such a field.
    pub(crate) test_only: bool,
}

#[derive(Debug)]
pub(crate) enum QualifierKey {
    Constant(Value<'static>),
    /// An attribute, whose own cost is that of its qualifiers.
    Attribute(Attribute),
    Node(Node),
}

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) function: &'static Function,
    /// The overload, if the types determine one.
    pub(crate) overload: &'static str,
    pub(crate) implementation: Option<Implementation>,
    /// The literal regular expression of `matches`, `find` and `findAll`.
    pub(crate) regex: Option<CachedRegexp>,
    /// Whether an error in an argument prevents the evaluation of those that follow.
    pub(crate) is_variadic: bool,
    pub(crate) args: Vec<Node>,
    /// The accumulator that the first argument is, which the call may change in place.
    pub(crate) accumulator: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
    pub(crate) accumulator: usize,
    pub(crate) variable: usize,
    pub(crate) variable2: Option<usize>,
}

/// Plans a checked expression.
pub(crate) fn plan(checked: &Checked) -> Result<Program, String> {
    let mut planner = Planner {
        checked,
        scope: Vec::new(),
        slots: 0,
        depth: 0,
        max_depth: 0,
    };
    let root = planner.node(&checked.root)?;
    Ok(Program {
        root,
        slots: planner.slots,
        depth: planner.max_depth,
    })
}

struct Planner<'c> {
    checked: &'c Checked,
    /// The variables of the enclosing comprehensions; the index is the slot.
    scope: Vec<Arc<str>>,
    slots: usize,
    depth: usize,
    max_depth: usize,
}

impl Planner<'_> {
    fn node(&mut self, expr: &Expr) -> Result<Node, String> {
        self.depth = self.depth.saturating_add(1);
        self.max_depth = self.max_depth.max(self.depth);
        let node = match &expr.kind {
            Kind::Unspecified => Err("unsupported expression".to_owned()),
            Kind::Literal(literal) => Ok(Node::Constant(literal_value(literal))),
            Kind::Ident(name) => Ok(self.ident(expr, name)),
            Kind::Select(select) => self.select(select),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(list),
            Kind::Map(entries) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for entry in entries {
                    nodes.push((
                        self.node(&entry.key)?,
                        self.node(&entry.value)?,
                        entry.optional,
                    ));
                }
                Ok(fold_constants(Node::Map(nodes)))
            }
            Kind::Struct(message) => {
                let mut nodes = Vec::with_capacity(message.fields.len());
                for field in &message.fields {
                    let value = self.node(&field.value)?;
                    nodes.push((field.name.clone(), value, field.optional));
                }
                Ok(Node::Object(message.type_name.clone(), nodes))
            }
            Kind::Comprehension(fold) => self.fold(fold),
        };
        self.depth = self.depth.saturating_sub(1);
        node
    }

    fn ident(&self, expr: &Expr, name: &Arc<str>) -> Node {
        if let Reference::Type(type_) = self.checked.reference(expr.id) {
            return Node::Constant(Value::Type(type_.clone()));
        }
        let slot = self.scope.iter().rposition(|local| local == name);
        let base = slot.map_or_else(|| Base::Variable(name.clone()), Base::Slot);
        Node::Attribute(Attribute {
            base,
            qualifiers: Vec::new(),
        })
    }

    fn select(&mut self, select: &Select) -> Result<Node, String> {
        let mut attribute = attribute(self.node(&select.operand)?);
        let key = Value::String(Text::Shared(select.field.clone()));
        attribute.qualifiers.push(Qualifier {
            key: QualifierKey::Constant(key),
            optional: false,
            test_only: select.test_only,
        });
        Ok(if select.test_only {
            Node::TestOnly(attribute)
        } else {
            Node::Attribute(attribute)
        })
    }

    fn list(&mut self, list: &List) -> Result<Node, String> {
        let mut nodes = Vec::with_capacity(list.elements.len());
        for (i, element) in list.elements.iter().enumerate() {
            nodes.push((self.node(element)?, list.optionals.contains(&i)));
        }
        Ok(fold_constants(Node::List(nodes)))
    }

    fn two(&mut self, call: &Call) -> Result<Box<[Node; 2]>, String> {
        let mut nodes = call.target.iter().chain(&call.args);
        match (nodes.next(), nodes.next()) {
            (Some(one), Some(other)) => Ok(Box::new([self.node(one)?, self.node(other)?])),
            _ => Err(format!("no such overload: {}", call.function)),
        }
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> Result<Node, String> {
        match &*call.function {
            "_&&_" => return Ok(Node::And(self.two(call)?)),
            "_||_" => return Ok(Node::Or(self.two(call)?)),
            "_==_" => return Ok(Node::Equal(self.two(call)?)),
            "_!=_" => return Ok(Node::NotEqual(self.two(call)?)),
            "or" => return Ok(Node::OptionalOr(self.two(call)?)),
            "orValue" => return Ok(Node::OptionalOrValue(self.two(call)?)),
            "_[_]" => return self.index(call, false),
            "_[?_]" | "_?._" => return self.index(call, true),
            "_?_:_" => return self.conditional(call),
            "@not_strictly_false" => {
                let arg = call.args.first().ok_or("no such overload")?;
                return Ok(Node::NotStrictlyFalse(Box::new(self.node(arg)?)));
            }
            _ => {}
        }
        let Reference::Function(function, overloads) = self.checked.reference(expr.id) else {
            return Err(format!("no such overload: {}", call.function));
        };
        let mut args = Vec::with_capacity(call.args.len().saturating_add(1));
        for arg in call.target.iter().chain(&call.args) {
            args.push(self.node(arg)?);
        }
        self.function(function, overloads, args)
    }

    fn function(
        &self,
        function: &'static Function,
        overloads: &[&'static str],
        args: Vec<Node>,
    ) -> Result<Node, String> {
        let overload = match overloads {
            [only] => only,
            _ => "",
        };
        if overload == "in_list"
            && let [_, Node::Constant(Value::List(list))] = args.as_slice()
        {
            if list.is_empty() {
                return Ok(Node::Constant(Value::Bool(false)));
            }
            let mut meter = Meter::new(u64::MAX);
            let items = list.to_vec(&mut meter).unwrap_or_default();
            if let Some(members) = members(&items) {
                let arg = args.into_iter().next();
                let arg = arg.unwrap_or(Node::Constant(Value::Null));
                return Ok(Node::Member(Box::new(arg), members));
            }
        }
        let regex = literal_regex(function.name, &args)?;
        let declared = function.overload(overload);
        let implementation = match function.singleton {
            Some(singleton) => Some(singleton),
            None => declared.and_then(|overload| overload.implementation),
        };
        let is_dispatched = function.singleton.is_none() && implementation.is_none();
        let is_variadic =
            function.is_variadic || regex.is_some() || is_dispatched || args.len() > 2;
        let accumulator = match args.first() {
            Some(Node::Attribute(Attribute {
                base: Base::Slot(slot),
                qualifiers,
            })) if qualifiers.is_empty() && appends(function.name) => {
                let is_accumulator = self
                    .scope
                    .get(*slot)
                    .is_some_and(|name| &**name == "@result");
                is_accumulator.then_some(*slot)
            }
            _ => None,
        };
        let is_literal = matches!(args.as_slice(), [Node::Constant(_)]);
        let node = CallNode {
            function,
            overload,
            implementation,
            regex,
            is_variadic,
            args,
            accumulator,
        };
        if is_literal && is_conversion(function.name) {
            let mut meter = Meter::new(u64::MAX);
            let value = node.call_with_constants(&mut meter);
            return value.map(Node::Constant).map_err(|error| error.to_string());
        }
        Ok(Node::Call(Box::new(node)))
    }

    fn index(&mut self, call: &Call, optional: bool) -> Result<Node, String> {
        let [operand, index] = *self.two(call)?;
        let key = match index {
            Node::Constant(value) => QualifierKey::Constant(value),
            Node::Attribute(attribute) => QualifierKey::Attribute(attribute),
            node => QualifierKey::Node(node),
        };
        let mut attribute = attribute(operand);
        attribute.qualifiers.push(Qualifier {
            key,
            optional,
            test_only: false,
        });
        Ok(Node::Attribute(attribute))
    }

    fn conditional(&mut self, call: &Call) -> Result<Node, String> {
        let [condition, truthy, falsy] = call.args.as_slice() else {
            return Err("no such overload: _?_:_".to_owned());
        };
        let conditional = Conditional {
            condition: self.node(condition)?,
            truthy: attribute(self.node(truthy)?),
            falsy: attribute(self.node(falsy)?),
        };
        Ok(Node::Attribute(Attribute {
            base: Base::Conditional(Box::new(conditional)),
            qualifiers: Vec::new(),
        }))
    }

    fn fold(&mut self, fold: &Comprehension) -> Result<Node, String> {
        let init = self.node(&fold.init)?;
        let range = self.node(&fold.range)?;
        let accumulator = self.scope.len();
        self.scope.push(fold.accumulator.clone());
        let variable = self.scope.len();
        self.scope.push(fold.variable.clone());
        let variable2 = fold.variable2.as_ref().map(|name| {
            self.scope.push(name.clone());
            variable.saturating_add(1)
        });
        self.slots = self.slots.max(self.scope.len());
        let condition = self.node(&fold.condition)?;
        let step = self.node(&fold.step)?;
        self.scope.truncate(variable);
        let result = self.node(&fold.result)?;
        self.scope.truncate(accumulator);
        Ok(Node::Fold(Box::new(Fold {
            range,
            init,
            condition,
            step,
            result,
            accumulator,
            variable,
            variable2,
        })))
    }
}

/// Whether a function adds to its first argument, and only the step of a comprehension calls it with the accumulator.
fn appends(function: &str) -> bool {
    matches!(function, "_+_" | "cel.@mapInsert")
}

/// The node as an attribute, which qualifiers can be added to.
fn attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) | Node::TestOnly(attribute) => attribute,
        node => Attribute {
            base: Base::Value(Box::new(node)),
            qualifiers: Vec::new(),
        },
    }
}

pub(crate) fn literal_value(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

/// Lists and maps of literals are evaluated once.
fn fold_constants(node: Node) -> Node {
    let is_constant = |node: &Node| matches!(node, Node::Constant(_));
    let is_foldable = match &node {
        Node::List(items) => items.iter().all(|(item, _)| is_constant(item)),
        Node::Map(entries) => entries
            .iter()
            .all(|(key, value, _)| is_constant(key) && is_constant(value)),
        _ => false,
    };
    if !is_foldable {
        return node;
    }
    let mut meter = Meter::new(u64::MAX);
    match crate::evaluate::constant(&node, &mut meter) {
        Ok(value) => Node::Constant(value),
        Err(_) => node,
    }
}

/// The members of a literal list, with the numbers of other types that equal them.
fn members(items: &[Value<'static>]) -> Option<BTreeSet<Key<'static>>> {
    let mut members = BTreeSet::new();
    for item in items {
        let key = Key::new(item)?;
        #[expect(clippy::cast_precision_loss, reason = "as cel-go converts the members")]
        match &key {
            Key::Double(bits) => {
                let number = f64::from_bits(*bits);
                members.extend(lossless_int(number).map(Key::Int));
                members.extend(lossless_uint(number).map(Key::Uint));
            }
            Key::Int(number) => {
                members.insert(Key::Double((*number as f64).to_bits()));
                members.extend(u64::try_from(*number).ok().map(Key::Uint));
            }
            Key::Uint(number) => {
                members.insert(Key::Double((*number as f64).to_bits()));
                members.extend(i64::try_from(*number).ok().map(Key::Int));
            }
            Key::Bool(_) | Key::String(_) => {}
        }
        members.insert(key);
    }
    Some(members)
}

fn literal_regex(function: &str, args: &[Node]) -> Result<Option<CachedRegexp>, String> {
    if !matches!(function, "matches" | "find" | "findAll") {
        return Ok(None);
    }
    let Some(Node::Constant(Value::String(pattern))) = args.get(1) else {
        return Ok(None);
    };
    let regex = CachedRegexp::new(pattern.as_str());
    regex_program(&regex).map_err(|error| error.to_string())?;
    Ok(Some(regex))
}
