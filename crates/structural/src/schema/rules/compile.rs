//! Compiles CEL rules. The parser recurses, so it runs on a large stack, and rules that nest too deep are rejected before
//! they are parsed.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;

use super::functions;
use super::optional::rewrite_optional_selects;
use crate::schema::{SchemaRef, ValidationRule};

/// Longer rules are rejected.
const MAX_LENGTH: usize = 8 * 1024;
/// The maximum nesting depth of brackets.
const MAX_NESTING: usize = 20;
/// The maximum nesting depth of operators, member accesses and brackets together.
const MAX_DEPTH: usize = 100;
const STACK_SIZE: usize = 64 * 1024 * 1024;

/// Why an expression does not compile. The messages of the parser and of undeclared references are those of
/// kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::schema) enum CompileError {
    #[error("expression is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("expression nests too deep")]
    TooDeep,
    #[error("compilation failed: {0}")]
    Syntax(String),
    #[error("compilation failed: ERROR: undeclared reference to '{0}'")]
    UndeclaredReference(String),
    #[error("compilation failed")]
    Aborted,
}

/// A compiled expression; `None` if it is empty.
pub(in crate::schema) type CompiledExpression = Result<Option<Arc<IdedExpr>>, CompileError>;

/// A validation rule with its compiled expressions.
#[derive(Debug, Clone)]
pub struct CompiledRule {
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: bool,
    pub(super) uses_old_self: bool,
    pub(in crate::schema) program: CompiledExpression,
    pub(super) message_program: CompiledExpression,
}

impl CompiledRule {
    pub(in crate::schema) fn text(&self) -> &str {
        &self.rule
    }

    pub(in crate::schema) fn uses_old_self(&self) -> bool {
        self.uses_old_self
    }

    /// Why `messageExpression` does not compile, if it does not.
    pub(in crate::schema) fn message_error(&self) -> Option<&CompileError> {
        self.message_program.as_ref().err()
    }
}

/// Compiles the rules of one node.
pub(in crate::schema) fn compile(rules: Vec<ValidationRule>) -> Vec<CompiledRule> {
    if rules.is_empty() {
        return Vec::new();
    }
    let copy = rules.clone();
    let work = move || rules.into_iter().map(compile_one).collect();
    let thread = std::thread::Builder::new()
        .stack_size(STACK_SIZE)
        .spawn(work);
    let compiled = thread.ok().and_then(|thread| thread.join().ok());
    compiled.unwrap_or_else(|| copy.into_iter().map(aborted).collect())
}

/// A rule whose compilation panicked. Its evaluation always fails.
fn aborted(rule: ValidationRule) -> CompiledRule {
    let empty = ValidationRule {
        expression: String::new(),
        message_expression: String::new(),
        ..rule
    };
    CompiledRule {
        program: Err(CompileError::Aborted),
        ..compile_one(empty)
    }
}

fn compile_one(rule: ValidationRule) -> CompiledRule {
    let program = match rule.expression.trim() {
        "" => Ok(None),
        text => compile_expression(text).map(Some),
    };
    let uses_old_self = match &program {
        Ok(Some(program)) => program.references().has_variable("oldSelf"),
        _ => false,
    };
    CompiledRule {
        message_program: match rule.message_expression.trim() {
            "" => Ok(None),
            text => compile_expression(text).map(Some),
        },
        program,
        uses_old_self,
        rule: rule.expression,
        message: rule.message,
        reason: rule.reason,
        field_path: rule.field_path,
        optional_old_self: rule.optional_old_self,
    }
}

fn compile_expression(text: &str) -> Result<Arc<IdedExpr>, CompileError> {
    check_size(text)?;
    let parser = Parser::default().enable_optional_syntax(true);
    let mut program = parser
        .parse(text)
        .map_err(|error| CompileError::Syntax(error.to_string()))?;
    rewrite_optional_selects(&mut program);
    if let Some(name) = functions::undeclared(&program) {
        return Err(CompileError::UndeclaredReference(name));
    }
    Ok(Arc::new(program))
}

/// Rejects expressions that would make the parser or the evaluation recurse too deep.
fn check_size(text: &str) -> Result<(), CompileError> {
    if text.len() > MAX_LENGTH {
        return Err(CompileError::TooLong);
    }
    let mut levels = vec![0_usize];
    let mut deepest = 0;
    let mut quote = None;
    let mut previous = ' ';
    for character in text.chars() {
        let is_doubled = previous == character;
        match (quote, character) {
            (Some(open), _) if open == character && previous != '\\' => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => levels.push(1),
            (None, ')' | ']' | '}') if levels.len() > 1 => {
                levels.pop();
                deepen(&mut levels);
            }
            (None, ',') => reset(&mut levels),
            (None, '&' | '|') if is_doubled => reset(&mut levels),
            (None, '.' | '+' | '-' | '*' | '/' | '%' | '?' | ':' | '<' | '>' | '=' | '!') => {
                deepen(&mut levels);
            }
            _ => {}
        }
        // An escaped backslash does not escape the next character.
        previous = if previous == '\\' && character == '\\' {
            ' '
        } else {
            character
        };
        deepest = deepest.max(levels.iter().sum::<usize>());
        if levels.len() > MAX_NESTING || deepest > MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
    }
    Ok(())
}

fn deepen(levels: &mut [usize]) {
    if let Some(level) = levels.last_mut() {
        *level += 1;
    }
}

fn reset(levels: &mut [usize]) {
    if let Some(level) = levels.last_mut() {
        *level = 1;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_rules_that_nest_too_deep() {
        let long = [
            format!("{}1{}", "(".repeat(50), ")".repeat(50)),
            vec!["1"; 200].join("+"),
            format!("self{}", ".a".repeat(200)),
            format!("{}1", "true?1:".repeat(200)),
            "x".repeat(10_000),
        ];
        for text in long {
            assert!(compile_expression(&text).is_err(), "{}", &text[..20]);
        }
    }

    #[test]
    fn accepts_long_but_flat_rules() {
        let flat = vec!["self.a.b == oldSelf.a.b"; 100].join(" && ");
        assert!(check_size(&flat).is_ok());
        let text =
            "self.all(x, x.matches('^(a|b).+\\\\.?$') ? x.size() < 5 : self.exists(y, y == x))";
        assert!(compile_expression(text).is_ok());
    }
}
