//! What expressions can refer to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::checker;
use crate::compiled::Compiled;
use crate::decl::DeclType;
use crate::identifier;
use crate::parser;
use crate::source::Issues;
use crate::types::Type;

/// The stack for parsing, checking and planning the most deeply nested expressions.
const STACK: usize = 32 << 20;
/// How much of it is needed at most.
const RED_ZONE: usize = 16 << 20;

/// The variables that expressions can refer to, and the fields of their types. Functions and macros are those of the
/// default environment of Kubernetes.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: Vec<(Arc<str>, Type)>,
    objects: Arc<HashMap<Arc<str>, Fields>>,
    has_patch_types: bool,
    /// The declaration that the sizes of variables are estimated with.
    sizes: Option<Arc<DeclType>>,
}

/// The type of the operations of a JSON patch.
const JSON_PATCH: &str = "JSONPatch";

type Fields = Arc<HashMap<String, Type>>;

impl Env {
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, type_: Type) -> Self {
        self.variables.push((name.into(), type_));
        self
    }

    /// Declares the fields of an object type.
    #[must_use]
    pub fn object(mut self, name: &str, fields: impl IntoIterator<Item = (String, Type)>) -> Self {
        let fields = fields.into_iter().collect();
        Arc::make_mut(&mut self.objects).insert(name.into(), Arc::new(fields));
        self
    }

    /// Declares all object types of a declaration, with whose bounds the costs of expressions are estimated.
    #[must_use]
    pub fn declaration(mut self, declaration: &Arc<DeclType>) -> Self {
        declaration.collect_objects(Arc::make_mut(&mut self.objects));
        self.sizes(declaration)
    }

    /// Estimates costs with the bounds of a declaration, whose types are declared already.
    #[must_use]
    pub fn sizes(mut self, declaration: &Arc<DeclType>) -> Self {
        self.sizes = Some(declaration.clone());
        self
    }

    /// Declares what the expressions of mutating admission policies create: `Object`, the types of its fields such as
    /// `Object.spec.template`, and `JSONPatch`, with the function `jsonpatch.escapeKey`.
    #[must_use]
    pub fn patch_types(mut self) -> Self {
        self.has_patch_types = true;
        self
    }

    /// The type that expressions can create by this name.
    pub(crate) fn patch_type(&self, name: &str) -> Option<Type> {
        let is_patch_type = name == JSON_PATCH || name == "Object" || name.starts_with("Object.");
        (self.has_patch_types && is_patch_type).then(|| Type::object(name))
    }

    /// Whether expressions can call a function.
    pub(crate) fn declares(&self, function: &str) -> bool {
        self.has_patch_types || function != "jsonpatch.escapeKey"
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&(Arc<str>, Type)> {
        self.variables
            .iter()
            .find(|(variable, _)| &**variable == name)
    }

    pub(crate) fn field(&self, object: &str, field: &str) -> Option<Type> {
        if self.patch_type(object).is_some() {
            return match (object, field) {
                (JSON_PATCH, "op" | "path" | "from") => Some(Type::String),
                (JSON_PATCH, "value") => Some(Type::Dyn),
                (JSON_PATCH, _) => None,
                _ => Some(Type::Dyn),
            };
        }
        let fields = self.objects.get(object)?;
        let field = fields.get(field).or_else(|| {
            let is_keyword = identifier::is_reserved(field);
            is_keyword.then(|| fields.get(&format!("__{field}__")))?
        });
        field.cloned()
    }

    /// Parses and type-checks an expression.
    pub fn compile(&self, text: &str) -> Result<Compiled, Issues> {
        stacker::maybe_grow(RED_ZONE, STACK, || {
            let parsed = parser::parse(text)?;
            let checked = checker::check(parsed, self)?;
            Ok(Compiled::new(checked, self.sizes.clone()))
        })
    }
}
