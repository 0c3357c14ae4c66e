//! Compiles CEL rules against the schema that they are declared for.

use std::sync::Arc;

use outrigger_cel::schema::{Schema as CelSchema, escape};
use outrigger_cel::{Compiled, DeclType, Env, Program, Type as CelType};

use super::data_schema::{Converted, convert};
use crate::schema::{Node, NodeId, SchemaRef, ValidationRule};

/// Why an expression cannot be used. The messages are those of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::schema) enum CompileError {
    #[error("compilation failed: {0}")]
    Issues(String),
    #[error("program instantiation failed: {0}")]
    Program(String),
    #[error("cel expression must evaluate to a bool")]
    NotABool,
    #[error("messageExpression compilation failed: {0}")]
    MessageIssues(String),
    #[error("messageExpression instantiation failed: {0}")]
    MessageProgram(String),
    #[error("messageExpression must evaluate to a string")]
    NotAString,
}

/// A compiled expression; `None` if it is empty.
pub(in crate::schema) type CompiledExpression = Result<Option<Arc<Program>>, CompileError>;

/// The compiled rules of a node.
#[derive(Debug, Clone, Default)]
pub struct NodeRules {
    pub(in crate::schema) rules: Vec<CompiledRule>,
    /// How the data of the node appear in expressions.
    pub(super) data: Arc<CelSchema>,
    /// Whether expressions can read the data. If not, the rules are not evaluated.
    pub(in crate::schema) has_type: bool,
    /// How often the node can occur in an object at most.
    pub(in crate::schema) max_cardinality: u64,
}

/// A validation rule with its compiled expressions.
#[derive(Debug, Clone)]
pub(in crate::schema) struct CompiledRule {
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: bool,
    pub(super) uses_old_self: bool,
    pub(in crate::schema) program: CompiledExpression,
    pub(in crate::schema) message_program: CompiledExpression,
    /// The estimated cost in the worst case.
    pub(in crate::schema) max_cost: u64,
    pub(in crate::schema) message_max_cost: u64,
}

impl CompiledRule {
    pub(in crate::schema) fn text(&self) -> &str {
        &self.rule
    }

    pub(in crate::schema) fn uses_old_self(&self) -> bool {
        self.uses_old_self
    }
}

/// Compiles the rules of all nodes of a structural schema.
pub(in crate::schema) fn compile(nodes: &mut [Node], root: NodeId) {
    if nodes.iter().all(|node| node.validations.is_empty()) {
        return;
    }
    let mut compiler = Compiler {
        converted: Converted::new(),
        compiled: Vec::new(),
        env: Env::new(),
    };
    let schema = SchemaRef { nodes, id: root };
    let data = convert(schema, &mut compiler.converted);
    let declaration = DeclType::new(&data, "selfType");
    if let Some(declaration) = &declaration {
        compiler.env = Env::new().declaration(declaration);
    }
    compiler.visit(schema, declaration.as_ref());
    for (id, rules) in compiler.compiled {
        nodes[id].rules = rules;
    }
}

struct Compiler {
    converted: Converted,
    compiled: Vec<(NodeId, NodeRules)>,
    /// Declares all types of the schema.
    env: Env,
}

impl Compiler {
    fn visit(&mut self, schema: SchemaRef<'_>, declaration: Option<&Arc<DeclType>>) {
        if !schema.validations.is_empty() {
            let rules = self.node(schema, declaration);
            self.compiled.push((schema.id, rules));
        }
        for (name, property) in schema.properties() {
            let escaped = escape(name);
            let known = escaped.and_then(|name| declaration?.field(&name));
            self.visit(property, known);
        }
        for inner in [schema.items(), schema.additional()].into_iter().flatten() {
            let known = declaration.and_then(|declaration| declaration.element());
            self.visit(inner, known);
        }
    }

    fn node(&mut self, schema: SchemaRef<'_>, declaration: Option<&Arc<DeclType>>) -> NodeRules {
        let data = convert(schema, &mut self.converted);
        // A field whose name is no identifier has no declaration in that of its parent.
        let own = match declaration {
            Some(_) => None,
            None => DeclType::new(&data, "selfType"),
        };
        let Some(declaration) = declaration.or(own.as_ref()) else {
            return NodeRules {
                data,
                ..NodeRules::default()
            };
        };
        let type_ = declaration.type_();
        let env = if own.is_some() {
            Env::new().declaration(declaration)
        } else {
            self.env.clone().sizes(declaration)
        };
        let env = env.variable("self", type_.clone());
        let optional = env
            .clone()
            .variable("oldSelf", CelType::optional(type_.clone()));
        let env = env.variable("oldSelf", type_);
        let rules = schema.validations.iter().map(|rule| {
            let env = if rule.optional_old_self {
                &optional
            } else {
                &env
            };
            compile_rule(rule, env)
        });
        NodeRules {
            rules: rules.collect(),
            data,
            has_type: true,
            max_cardinality: declaration.max_cardinality(),
        }
    }
}

fn compile_rule(rule: &ValidationRule, env: &Env) -> CompiledRule {
    let mut compiled = CompiledRule {
        rule: rule.expression.clone(),
        message: rule.message.clone(),
        message_expression: rule.message_expression.clone(),
        reason: rule.reason.clone(),
        field_path: rule.field_path.clone(),
        optional_old_self: rule.optional_old_self,
        uses_old_self: false,
        program: Ok(None),
        message_program: Ok(None),
        max_cost: 0,
        message_max_cost: 0,
    };
    if rule.expression.trim().is_empty() {
        return compiled;
    }
    match compile_expression(&rule.expression, env) {
        Ok((expression, program)) => {
            compiled.uses_old_self = expression.uses("oldSelf");
            compiled.max_cost = expression.estimate_cost().max;
            compiled.program = Ok(Some(Arc::new(program)));
        }
        Err(error) => {
            compiled.program = Err(error);
            return compiled;
        }
    }
    if !rule.message_expression.is_empty() {
        match compile_message(&rule.message_expression, env) {
            Ok((expression, program)) => {
                compiled.message_max_cost = expression.estimate_cost().max;
                compiled.message_program = Ok(Some(Arc::new(program)));
            }
            Err(error) => compiled.message_program = Err(error),
        }
    }
    compiled
}

fn compile_expression(text: &str, env: &Env) -> Result<(Compiled, Program), CompileError> {
    let compiled = env.compile(text);
    let compiled = compiled.map_err(|issues| CompileError::Issues(issues.to_string()))?;
    if *compiled.output_type() != CelType::Bool {
        return Err(CompileError::NotABool);
    }
    let program = compiled.program();
    let program = program.map_err(|error| CompileError::Program(error.to_string()))?;
    Ok((compiled, program))
}

fn compile_message(text: &str, env: &Env) -> Result<(Compiled, Program), CompileError> {
    let compiled = env.compile(text);
    let compiled = compiled.map_err(|issues| CompileError::MessageIssues(issues.to_string()))?;
    if *compiled.output_type() != CelType::String {
        return Err(CompileError::NotAString);
    }
    let program = compiled.program();
    let program = program.map_err(|error| CompileError::MessageProgram(error.to_string()))?;
    Ok((compiled, program))
}

/// The path of an error for a `fieldPath` such as `.inner['key'].field`; `None` if it is empty or invalid.
pub(super) fn field_path(path: &str, schema: SchemaRef<'_>) -> Option<String> {
    let mut out = String::new();
    let mut schema = Some(schema);
    let mut rest = path.trim();
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let (key, after) = after.split_once("']")?;
            (name, rest) = (key.replace("\\'", "'"), after);
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (name, rest) = (after[..end].to_owned(), &after[end..]);
        }
        let property = schema.and_then(|schema| schema.property(&name));
        if property.is_some() {
            out.push_str(&format!(".{name}"));
        } else {
            out.push_str(&format!("[{name}]"));
        }
        schema = property.or_else(|| schema.and_then(SchemaRef::additional));
    }
    (!out.is_empty()).then_some(out)
}
