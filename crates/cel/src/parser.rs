//! Parses expressions. The grammar, the limits and most messages are those of cel-go.

mod builder;
mod macros;
mod unescape;

use std::sync::Arc;

use crate::ast::{Entry, Expr, Field, Kind, List, Literal, Select, Struct};
use crate::identifier::RESERVED;
use crate::lexer::{Token, TokenKind, tokens};
use crate::source::{Issues, Location, Source};
use builder::Builder;

/// Longer expressions are rejected, in code points.
const MAX_LENGTH: usize = 100_000;
/// The maximum recursion of each grammar rule, and of the nested operators.
const MAX_RECURSION: u32 = 250;
/// What can start an expression, as in the messages of cel-go.
const EXPRESSION_START: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Expr,
    pub(crate) source: Source,
    /// The offset of each expression by its id.
    pub(crate) offsets: Vec<usize>,
}

/// Parses an expression and expands its macros.
pub(crate) fn parse(text: &str) -> Result<Parsed, Issues> {
    let source = Source::new(text);
    let mut issues = Issues::default();
    let length = source.text.len();
    if length > MAX_LENGTH {
        let message =
            format!("expression code point size exceeds limit: size: {length}, limit {MAX_LENGTH}");
        issues.report(&source, Location::NONE, message);
        return Err(issues);
    }
    let tokens = tokens(&source, &mut issues);
    let mut parser = Parser {
        source: &source,
        tokens: &tokens,
        at: 0,
        builder: Builder::default(),
        issues,
        recursion: Recursion::default(),
    };
    let root = parser.start();
    let Parser {
        issues, builder, ..
    } = parser;
    match root {
        Ok(root) if issues.is_empty() => Ok(Parsed {
            root,
            offsets: builder.offsets,
            source,
        }),
        _ => Err(issues),
    }
}

/// The issue is reported already.
struct Reported;

type Result<T, E = Reported> = std::result::Result<T, E>;

/// How often each recursive grammar rule is active.
#[derive(Default)]
struct Recursion {
    expr: u32,
    relation: u32,
    calc: u32,
    member: u32,
}

struct Parser<'s> {
    source: &'s Source,
    tokens: &'s [Token],
    at: usize,
    builder: Builder,
    issues: Issues,
    recursion: Recursion,
}

/// Enters a grammar rule; fails if it is active too often.
macro_rules! enter {
    ($parser:ident, $rule:ident) => {
        $parser.recursion.$rule = $parser.recursion.$rule.saturating_add(1);
        if $parser.recursion.$rule > MAX_RECURSION {
            let message = format!("expression recursion limit exceeded: {MAX_RECURSION}");
            return Err($parser.report(Location::NONE, message));
        }
    };
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.tokens.get(self.at).copied().unwrap_or(Token {
            kind: TokenKind::End,
            start: self.source.text.len(),
            end: self.source.text.len(),
        })
    }

    fn text(&self, token: Token) -> String {
        let text = self.source.text.get(token.start..token.end);
        text.unwrap_or_default().iter().collect()
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.at = self.at.saturating_add(1);
        token
    }

    fn is(&self, symbol: &'static str) -> bool {
        self.token().kind == TokenKind::Symbol(symbol)
    }

    /// Consumes a symbol if it is next.
    fn accept(&mut self, symbol: &'static str) -> Option<Token> {
        self.is(symbol).then(|| self.advance())
    }

    fn expect(&mut self, symbol: &'static str, expected: &str) -> Result<Token> {
        if let Some(token) = self.accept(symbol) {
            return Ok(token);
        }
        let (current, next) = (self.token().kind, self.peek());
        if next == TokenKind::Symbol(symbol) {
            return Err(self.extraneous(expected));
        }
        let can_follow = match symbol {
            ":" => starts_expression(current),
            _ => current == TokenKind::End,
        };
        Err(if can_follow {
            let token = self.token();
            let shown = self.shown(token);
            let message = format!("Syntax error: missing '{symbol}' at '{shown}'");
            self.report_at(token.start, message)
        } else {
            self.mismatch(expected)
        })
    }

    /// The kind of the token after the next one.
    fn peek(&self) -> TokenKind {
        let token = self.tokens.get(self.at.saturating_add(1));
        token.map_or(TokenKind::End, |token| token.kind)
    }

    fn report(&mut self, location: Location, message: String) -> Reported {
        self.issues.report(self.source, location, message);
        Reported
    }

    fn report_at(&mut self, offset: usize, message: impl Into<String>) -> Reported {
        self.report(self.source.location(offset), message.into())
    }

    fn shown(&self, token: Token) -> String {
        match token.kind {
            TokenKind::End => "<EOF>".to_owned(),
            _ => self.text(token),
        }
    }

    fn mismatch(&mut self, expected: &str) -> Reported {
        let token = self.token();
        let shown = self.shown(token);
        let message = format!("Syntax error: mismatched input '{shown}' expecting {expected}");
        self.report_at(token.start, message)
    }

    /// The issue of a token without which the expression could continue.
    fn extraneous(&mut self, expected: &str) -> Reported {
        let token = self.token();
        let shown = self.shown(token);
        let message = format!("Syntax error: extraneous input '{shown}' expecting {expected}");
        self.report_at(token.start, message)
    }

    fn start(&mut self) -> Result<Expr> {
        let root = self.expr()?;
        let token = self.token();
        if token.kind != TokenKind::End {
            return Err(self.extraneous("<EOF>"));
        }
        if self.builder.is_too_large() {
            let message = "expression is too large".to_owned();
            return Err(self.report(Location::NONE, message));
        }
        Ok(root)
    }

    fn expr(&mut self) -> Result<Expr> {
        enter!(self, expr);
        let condition = self.logical("||")?;
        let expr = match self.accept("?") {
            None => condition,
            Some(operator) => {
                let truthy = self.logical("||")?;
                self.expect(":", "':'")?;
                let falsy = self.expr()?;
                self.nested_call(operator, "_?_:_", vec![condition, truthy, falsy])?
            }
        };
        self.recursion.expr = self.recursion.expr.saturating_sub(1);
        Ok(expr)
    }

    /// A chain of `||` or `&&`, which becomes a balanced tree.
    fn logical(&mut self, operator: &'static str) -> Result<Expr> {
        let first = self.logical_term(operator)?;
        let mut terms = vec![first];
        let mut operators = Vec::new();
        while let Some(token) = self.accept(operator) {
            terms.push(self.logical_term(operator)?);
            operators.push(self.builder.id(token.start));
        }
        let function = if operator == "||" { "_||_" } else { "_&&_" };
        Ok(self.builder.balanced(function, terms, &operators))
    }

    fn logical_term(&mut self, operator: &str) -> Result<Expr> {
        if operator == "||" {
            self.logical("&&")
        } else {
            self.relation()
        }
    }

    fn relation(&mut self) -> Result<Expr> {
        enter!(self, relation);
        let mut left = self.sum()?;
        while let Some((operator, function)) = self.operator(&RELATIONS) {
            enter!(self, relation);
            let right = self.sum()?;
            self.recursion.relation = self.recursion.relation.saturating_sub(1);
            left = self.nested_call(operator, function, vec![left, right])?;
        }
        self.recursion.relation = self.recursion.relation.saturating_sub(1);
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr> {
        enter!(self, calc);
        let mut left = self.product()?;
        while let Some((operator, function)) = self.operator(&[("+", "_+_"), ("-", "_-_")]) {
            enter!(self, calc);
            let right = self.product()?;
            self.recursion.calc = self.recursion.calc.saturating_sub(1);
            left = self.nested_call(operator, function, vec![left, right])?;
        }
        self.recursion.calc = self.recursion.calc.saturating_sub(1);
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        let operators = [("*", "_*_"), ("/", "_/_"), ("%", "_%_")];
        while let Some((operator, function)) = self.operator(&operators) {
            enter!(self, calc);
            let right = self.unary()?;
            self.recursion.calc = self.recursion.calc.saturating_sub(1);
            left = self.nested_call(operator, function, vec![left, right])?;
        }
        Ok(left)
    }

    fn operator(
        &mut self,
        operators: &[(&'static str, &'static str)],
    ) -> Option<(Token, &'static str)> {
        operators
            .iter()
            .find_map(|(symbol, function)| Some((self.accept(symbol)?, *function)))
    }

    /// A call of an operator, which counts for the limit of nested operators.
    fn nested_call(
        &mut self,
        token: Token,
        function: &'static str,
        args: Vec<Expr>,
    ) -> Result<Expr> {
        let depth = self.builder.depth(&args);
        let expr = self.builder.call_at(token.start, function, args);
        self.nest(expr, depth)
    }

    fn nest(&mut self, expr: Expr, depth: u32) -> Result<Expr> {
        let depth = depth.saturating_add(1);
        if depth > MAX_RECURSION {
            let message = "max recursion depth exceeded".to_owned();
            return Err(self.report(Location::NONE, message));
        }
        self.builder.set_depth(expr.id, depth);
        Ok(expr)
    }

    fn unary(&mut self) -> Result<Expr> {
        let next = self.peek();
        let is_signed = matches!(next, TokenKind::Int | TokenKind::Double);
        for (symbol, function) in [("!", "!_"), ("-", "-_")] {
            if symbol == "-" && is_signed && self.is("-") {
                return self.member();
            }
            let Some(first) = self.accept(symbol) else {
                continue;
            };
            let mut count = 1_usize;
            while self.accept(symbol).is_some() {
                count = count.saturating_add(1);
            }
            let operand = self.member()?;
            if count.is_multiple_of(2) {
                return Ok(operand);
            }
            let depth = self.builder.depth(std::slice::from_ref(&operand));
            let expr = self.builder.call_at(first.start, function, vec![operand]);
            self.builder.set_depth(expr.id, depth);
            return Ok(expr);
        }
        self.member()
    }

    fn member(&mut self) -> Result<Expr> {
        enter!(self, member);
        let mut operand = self.primary()?;
        while self.is(".") || self.is("[") {
            operand = match self.accept(".") {
                Some(dot) => self.selection(dot, operand)?,
                None => self.index(operand)?,
            };
        }
        self.recursion.member = self.recursion.member.saturating_sub(1);
        Ok(operand)
    }

    fn selection(&mut self, dot: Token, operand: Expr) -> Result<Expr> {
        let depth = self.builder.depth(std::slice::from_ref(&operand));
        let optional = self.accept("?");
        let token = self.token();
        match token.kind {
            TokenKind::EscapedIdent => {
                return Err(self.report_at(token.start, "unsupported syntax: '`'"));
            }
            TokenKind::Ident => self.advance(),
            TokenKind::Symbol("true" | "false" | "null") => {
                let message = format!(
                    "Syntax error: mismatched input '{}' expecting IDENTIFIER",
                    self.text(token)
                );
                return Err(self.report_at(token.start, message));
            }
            _ => {
                let shown = self.text(token);
                let message = format!("Syntax error: no viable alternative at input '.{shown}'");
                return Err(self.report_at(token.start, message));
            }
        };
        let name = self.text(token);
        if optional.is_some() {
            let id = self.builder.id(dot.start);
            let name = self.builder.string_at(token.start, &name);
            let call = builder::call(id, "_?._", None, vec![operand, name]);
            return self.nest(call, depth);
        }
        if let Some(open) = self.accept("(") {
            let id = self.builder.id(open.start);
            let args = self.arguments(")")?;
            let depth = self.builder.depth(&args).max(depth);
            let call = self.call_or_macro(id, &name, Some(operand), args)?;
            return self.nest(call, depth);
        }
        let select = Select {
            operand,
            field: name.into(),
            test_only: false,
        };
        let expr = self
            .builder
            .expr_at(dot.start, Kind::Select(Box::new(select)));
        self.nest(expr, depth)
    }

    fn index(&mut self, operand: Expr) -> Result<Expr> {
        let open = self.advance();
        let optional = self.accept("?");
        let id = self.builder.id(open.start);
        let index = self.expr()?;
        self.expect("]", "']'")?;
        let function = if optional.is_some() { "_[?_]" } else { "_[_]" };
        let args = vec![operand, index];
        let depth = self.builder.depth(&args);
        let call = builder::call(id, function, None, args);
        self.nest(call, depth)
    }

    /// Arguments up to and including the closing parenthesis.
    fn arguments(&mut self, close: &'static str) -> Result<Vec<Expr>> {
        let mut args = Vec::new();
        if self.accept(close).is_some() {
            return Ok(args);
        }
        let next = self.peek();
        if next == TokenKind::Symbol(close) && !starts_expression(self.token().kind) {
            let expected = EXPRESSION_START.replace("'(', ", "'(', ')', ");
            return Err(self.extraneous(&expected));
        }
        loop {
            args.push(self.expr()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect(close, "')'")?;
        Ok(args)
    }

    fn call_or_macro(
        &mut self,
        id: usize,
        function: &str,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Result<Expr> {
        let depth = self.builder.depth(&args);
        match macros::expand(&mut self.builder, id, function, target, args) {
            Ok(expr) => {
                let depth = depth.max(self.builder.depth(std::slice::from_ref(&expr)));
                self.builder.set_depth(expr.id, depth);
                Ok(expr)
            }
            Err(error) => Err(self.report_at(error.offset, error.message)),
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.token();
        match token.kind {
            TokenKind::Symbol("(") => {
                self.advance();
                let expr = self.expr()?;
                self.expect(")", "')'")?;
                Ok(expr)
            }
            TokenKind::Symbol("[") => self.list(),
            TokenKind::Symbol("{") => self.map(),
            TokenKind::Symbol(".") => {
                self.advance();
                if self.token().kind == TokenKind::Ident {
                    self.name(".")
                } else {
                    Err(self.mismatch("IDENTIFIER"))
                }
            }
            TokenKind::Ident => self.name(""),
            TokenKind::Symbol("true" | "false" | "null" | "-")
            | TokenKind::Int
            | TokenKind::Uint
            | TokenKind::Double
            | TokenKind::String
            | TokenKind::Bytes => self.literal(),
            _ => Err(if starts_expression(self.peek()) {
                self.extraneous(EXPRESSION_START)
            } else {
                self.mismatch(EXPRESSION_START)
            }),
        }
    }

    /// An identifier, a call of a function, or the construction of a message.
    fn name(&mut self, dot: &str) -> Result<Expr> {
        let token = self.advance();
        let name = self.text(token);
        if let Some(message) = self.message(&name, dot)? {
            return Ok(message);
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(self.report_at(token.start, format!("reserved identifier: {name}")));
        }
        let name = format!("{dot}{name}");
        if let Some(open) = self.accept("(") {
            let id = self.builder.id(open.start);
            let args = self.arguments(")")?;
            return self.call_or_macro(id, &name, None, args);
        }
        let name = Kind::Ident(name.as_str().into());
        Ok(self.builder.expr_at(token.start, name))
    }

    /// `a.b.C{field: value}`, if a brace follows the qualified name.
    fn message(&mut self, name: &str, dot: &str) -> Result<Option<Expr>> {
        let mut at = self.at;
        let mut type_name = format!("{dot}{name}");
        let kind_at = |at: usize| self.tokens.get(at).map(|token| token.kind);
        while kind_at(at) == Some(TokenKind::Symbol("."))
            && kind_at(at.saturating_add(1)) == Some(TokenKind::Ident)
        {
            at = at.saturating_add(1);
            if let Some(part) = self.tokens.get(at) {
                type_name.push('.');
                type_name.push_str(&self.text(*part));
            }
            at = at.saturating_add(1);
        }
        if kind_at(at) != Some(TokenKind::Symbol("{")) {
            return Ok(None);
        }
        self.at = at;
        let open = self.advance();
        let mut fields = Vec::new();
        let mut depth = 0;
        while self.accept("}").is_none() {
            let optional = self.accept("?").is_some();
            let name = match self.token().kind {
                TokenKind::Ident => self.advance(),
                _ => return Err(self.mismatch("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")),
            };
            let name = self.text(name).into();
            let colon = self.expect(":", "':'")?;
            let id = self.builder.id(colon.start);
            let value = self.expr()?;
            depth = depth.max(self.builder.depth(std::slice::from_ref(&value)));
            fields.push(Field {
                id,
                name,
                value,
                optional,
            });
            if self.accept(",").is_none() && !self.is("}") {
                return Err(self.mismatch("{'}', ','}"));
            }
        }
        let message = Kind::Struct(Box::new(Struct {
            type_name: type_name.into(),
            fields,
        }));
        let expr = self.builder.expr_at(open.start, message);
        self.builder.set_depth(expr.id, depth);
        Ok(Some(expr))
    }

    /// Lists and maps may consist of a comma alone.
    fn accept_lone_comma(&mut self, close: &'static str) {
        let next = self.peek();
        if next == TokenKind::Symbol(close) {
            self.accept(",");
        }
    }

    fn list(&mut self) -> Result<Expr> {
        let open = self.advance();
        let id = self.builder.id(open.start);
        let (mut elements, mut optionals) = (Vec::new(), Vec::new());
        self.accept_lone_comma("]");
        while self.accept("]").is_none() {
            if self.accept("?").is_some() {
                optionals.push(elements.len());
            }
            elements.push(self.expr()?);
            if self.accept(",").is_none() && !self.is("]") {
                self.expect("]", "{']', ','}")?;
            }
        }
        let depth = self.builder.depth(&elements);
        self.builder.set_depth(id, depth);
        let kind = Kind::List(List {
            elements,
            optionals,
        });
        Ok(Expr { id, kind })
    }

    fn map(&mut self) -> Result<Expr> {
        let open = self.advance();
        let id = self.builder.id(open.start);
        let mut entries = Vec::new();
        let mut depth = 0;
        self.accept_lone_comma("}");
        while self.accept("}").is_none() {
            let optional = self.accept("?").is_some();
            let key = self.expr()?;
            self.expect(":", "':'")?;
            let value = self.expr()?;
            let parts = [key, value];
            depth = self.builder.depth(&parts).max(depth);
            let [key, value] = parts;
            entries.push(Entry {
                key,
                value,
                optional,
            });
            if self.accept(",").is_none() && !self.is("}") {
                return Err(self.mismatch("{'}', ','}"));
            }
        }
        self.builder.set_depth(id, depth);
        let kind = Kind::Map(entries);
        Ok(Expr { id, kind })
    }

    fn literal(&mut self) -> Result<Expr> {
        let first = self.advance();
        let is_negative = first.kind == TokenKind::Symbol("-");
        let token = if is_negative { self.advance() } else { first };
        let sign = if is_negative { "-" } else { "" };
        let literal = self.literal_value(token, sign);
        match literal {
            Ok(literal) => Ok(self.builder.expr_at(first.start, Kind::Literal(literal))),
            Err(message) => Err(self.report_at(first.start, message)),
        }
    }

    fn literal_value(&self, token: Token, sign: &str) -> Result<Literal, String> {
        let text = self.text(token);
        Ok(match token.kind {
            TokenKind::Symbol("true") => Literal::Bool(true),
            TokenKind::Symbol("false") => Literal::Bool(false),
            TokenKind::Symbol("null") => Literal::Null,
            TokenKind::Int => {
                let (digits, radix) = match text.strip_prefix("0x") {
                    Some(digits) => (digits, 16),
                    None => (text.as_str(), 10),
                };
                let number = i64::from_str_radix(&format!("{sign}{digits}"), radix);
                Literal::Int(number.map_err(|_| "invalid int literal".to_owned())?)
            }
            TokenKind::Uint => {
                let text = text.trim_end_matches(['u', 'U']);
                let (digits, radix) = match text.strip_prefix("0x") {
                    Some(digits) => (digits, 16),
                    None => (text, 10),
                };
                let number = u64::from_str_radix(digits, radix);
                Literal::Uint(number.map_err(|_| "invalid uint literal".to_owned())?)
            }
            TokenKind::Double => {
                let number = format!("{sign}{text}").parse::<f64>().ok();
                let number = number.filter(|number| number.is_finite());
                Literal::Double(number.ok_or_else(|| "invalid double literal".to_owned())?)
            }
            TokenKind::Bytes => {
                let bytes = unescape::unescape(text.get(1..).unwrap_or_default(), true);
                Literal::Bytes(bytes.map_err(|error| error.to_string())?.into())
            }
            _ => {
                let bytes = unescape::unescape(&text, false).map_err(|error| error.to_string())?;
                let text = String::from_utf8(bytes);
                let text = text.map_err(|_| unescape::Error::CodePoint.to_string())?;
                Literal::String(Arc::from(text))
            }
        })
    }
}

const RELATIONS: [(&str, &str); 7] = [
    ("<", "_<_"),
    ("<=", "_<=_"),
    (">=", "_>=_"),
    (">", "_>_"),
    ("==", "_==_"),
    ("!=", "_!=_"),
    ("in", "@in"),
];

/// Whether a token can be the first one of an expression.
fn starts_expression(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Symbol(symbol) => matches!(
            symbol,
            "[" | "{" | "(" | "." | "-" | "!" | "true" | "false" | "null"
        ),
        TokenKind::End | TokenKind::EscapedIdent => false,
        _ => true,
    }
}
