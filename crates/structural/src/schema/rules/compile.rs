//! Compiles rules. The parser recurses deeply, so it gets a stack of its own, and rules that nest too deep are
//! refused before it sees them.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;

use super::functions;
use super::optional::index_optional_fields;
use crate::schema::{Rule, SchemaRef};

/// Longer rules are refused.
const MAX_LENGTH: usize = 8 * 1024;
/// How deep brackets may nest.
const MAX_NESTING: usize = 20;
/// How deep operators, member accesses and brackets may nest together.
const MAX_DEPTH: usize = 100;
const STACK: usize = 64 * 1024 * 1024;

/// A rule, ready to run.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: bool,
    pub(super) uses_old_self: bool,
    /// Nothing if the rule is empty.
    pub(in crate::schema) program: Result<Option<Arc<IdedExpr>>, String>,
    pub(super) message_program: Result<Option<Arc<IdedExpr>>, String>,
}

impl Compiled {
    pub(in crate::schema) fn text(&self) -> &str {
        &self.rule
    }

    pub(in crate::schema) fn uses_old_self(&self) -> bool {
        self.uses_old_self
    }

    /// Why the message expression cannot be evaluated, if it cannot.
    pub(in crate::schema) fn message_problem(&self) -> Option<&str> {
        self.message_program.as_ref().err().map(String::as_str)
    }
}

/// Compiles the rules of one node.
pub(in crate::schema) fn compile(rules: Vec<Rule>) -> Vec<Compiled> {
    if rules.is_empty() {
        return Vec::new();
    }
    let lost = rules.clone();
    let work = move || rules.into_iter().map(compile_one).collect();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    let compiled = thread.ok().and_then(|thread| thread.join().ok());
    compiled.unwrap_or_else(|| lost.into_iter().map(not_compiled).collect())
}

/// A rule that the compiler could not finish. It fails wherever it is asked.
fn not_compiled(rule: Rule) -> Compiled {
    let empty = Rule {
        expression: String::new(),
        message_expression: String::new(),
        ..rule
    };
    Compiled {
        program: Err("compilation failed".to_owned()),
        ..compile_one(empty)
    }
}

fn compile_one(rule: Rule) -> Compiled {
    let program = match rule.expression.trim() {
        "" => Ok(None),
        text => program_of(text).map(Some),
    };
    let uses_old_self = match &program {
        Ok(Some(program)) => program.references().has_variable("oldSelf"),
        _ => false,
    };
    Compiled {
        message_program: match rule.message_expression.trim() {
            "" => Ok(None),
            text => program_of(text).map(Some),
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

fn program_of(text: &str) -> Result<Arc<IdedExpr>, String> {
    check_size(text)?;
    let parser = Parser::default().enable_optional_syntax(true);
    let mut program = parser
        .parse(text)
        .map_err(|error| format!("compilation failed: {error}"))?;
    index_optional_fields(&mut program);
    if let Some(name) = functions::missing(&program) {
        return Err(format!(
            "compilation failed: ERROR: undeclared reference to '{name}'"
        ));
    }
    Ok(Arc::new(program))
}

/// Refuses what would make the parser or the evaluation nest too deep.
fn check_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("expression is longer than {MAX_LENGTH} bytes"));
    }
    let mut levels = vec![0_usize];
    let mut deepest = 0;
    let mut quote = None;
    let mut previous = ' ';
    for character in text.chars() {
        let is_pair = previous == character;
        match (quote, character) {
            (Some(open), _) if open == character && previous != '\\' => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => levels.push(1),
            (None, ')' | ']' | '}') if levels.len() > 1 => {
                levels.pop();
                bump(&mut levels);
            }
            (None, ',') => reset(&mut levels),
            (None, '&' | '|') if is_pair => reset(&mut levels),
            (None, '.' | '+' | '-' | '*' | '/' | '%' | '?' | ':' | '<' | '>' | '=' | '!') => {
                bump(&mut levels);
            }
            _ => {}
        }
        // An escaped backslash does not escape what follows.
        previous = if previous == '\\' && character == '\\' {
            ' '
        } else {
            character
        };
        deepest = deepest.max(levels.iter().sum::<usize>());
        if levels.len() > MAX_NESTING || deepest > MAX_DEPTH {
            return Err("expression nests too deep".to_owned());
        }
    }
    Ok(())
}

fn bump(levels: &mut [usize]) {
    if let Some(level) = levels.last_mut() {
        *level += 1;
    }
}

fn reset(levels: &mut [usize]) {
    if let Some(level) = levels.last_mut() {
        *level = 1;
    }
}

/// `.inner['key'].field` as the path of an error, or nothing if there is none.
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
    fn rules_that_nest_too_deep_are_refused() {
        let long = [
            format!("{}1{}", "(".repeat(50), ")".repeat(50)),
            vec!["1"; 200].join("+"),
            format!("self{}", ".a".repeat(200)),
            format!("{}1", "true?1:".repeat(200)),
            "x".repeat(10_000),
        ];
        for text in long {
            assert!(program_of(&text).is_err(), "{}", &text[..20]);
        }
    }

    #[test]
    fn long_but_flat_rules_are_fine() {
        let flat = vec!["self.a.b == oldSelf.a.b"; 100].join(" && ");
        assert!(check_size(&flat).is_ok());
        let text =
            "self.all(x, x.matches('^(a|b).+\\\\.?$') ? x.size() < 5 : self.exists(y, y == x))";
        assert!(program_of(text).is_ok());
    }
}
