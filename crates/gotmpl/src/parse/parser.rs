//! Parses statements: text, control structures and definitions.

use std::borrow::Cow;
use std::collections::HashMap;

use outrigger_gostd::strconv::{quote_bytes, unquote};

use super::lexer::{Lexer, Token, TokenKind};
use super::nodes::Nodes;
use super::{Failure, ParseError, Result, TOO_DEEP};
use crate::data::Data;
use crate::function::Dialect;
use crate::ir::{
    Branch, Literal, LiteralText, Parsed, Span, Statement, StatementKind, Template, index,
};
use crate::stack_guard::StackGuard;

pub(super) struct Parser<'s> {
    data: &'s Data,
    pub(super) source: &'s [u8],
    pub(super) dialect: &'s Dialect,
    lexer: Lexer<'s>,
    pub(super) tree: Tree<'s>,
    name: Box<str>,
    templates: Vec<Template>,
    pub(super) nodes: Nodes,
    defined: HashMap<Box<[u8]>, usize>,
    guard: StackGuard,
}

/// The parser state of one template; each template of a file has its own.
pub(super) struct Tree<'s> {
    tokens: [Token; 2],
    peeked: usize,
    /// The start of the current action.
    action: Option<u32>,
    range_depth: usize,
    /// All variables that have been declared, for the check of names.
    pub(super) known: Vec<&'s [u8]>,
    /// The variables in scope at execution; their index is the slot.
    pub(super) live: Vec<&'s [u8]>,
    pub(super) slots: usize,
}

impl Tree<'_> {
    fn new() -> Self {
        let token = Token {
            kind: TokenKind::Eof,
            is_spaced: false,
            start: 0,
            end: 0,
        };
        Self {
            tokens: [token; 2],
            peeked: 0,
            action: None,
            range_depth: 0,
            known: vec![b"$"],
            live: vec![b"$"],
            slots: 1,
        }
    }
}

/// How a list of statements ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    End,
    Else,
}

impl ListEnd {
    fn text(self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        }
    }
}

enum Parsing {
    Statement(Statement),
    ListEnd(ListEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    If,
    Range,
    With,
}

impl Control {
    fn context(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::Range => "range",
            Self::With => "with",
        }
    }
}

impl<'s> Parser<'s> {
    pub(super) fn new(
        name: &str,
        data: &'s Data,
        dialect: &'s Dialect,
        stack_bytes: usize,
    ) -> Self {
        let source = data.as_slice();
        Self {
            data,
            source,
            dialect,
            lexer: Lexer::new(source),
            tree: Tree::new(),
            name: name.into(),
            templates: Vec::new(),
            nodes: Nodes::take(),
            defined: HashMap::new(),
            guard: StackGuard::new(stack_bytes),
        }
    }

    pub(super) fn parse(mut self) -> Result<Parsed> {
        if u32::try_from(self.source.len()).is_err() {
            return Err(self.error("template is larger than 4 GiB"));
        }
        let base = self.nodes.open_statements.len();
        while self.peek().kind != TokenKind::Eof {
            if self.peek().kind == TokenKind::LeftDelim {
                let delim = self.next();
                if self.next().kind == TokenKind::Define {
                    self.within_new_tree(Self::definition)?;
                    continue;
                }
                self.backup2(delim);
            }
            match self.text_or_action()? {
                Parsing::Statement(statement) => self.nodes.open_statements.push(statement),
                Parsing::ListEnd(end) => {
                    return Err(self.error(format!("unexpected {}", end.text())));
                }
            }
        }
        let body = self.close_statements(base);
        self.add_template(None, body)?;
        let tree = self.nodes.finish(self.data.clone(), self.templates);
        Ok(Parsed::new(self.name, tree))
    }

    /// Runs `parse` with a new state, as Go does for a new tree: no variables, no enclosing range, no lookahead.
    fn within_new_tree<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.tree, Tree::new());
        let result = parse(self);
        self.tree = outer;
        result
    }

    /// `{{define "name"}} ... {{end}}`, after the keyword.
    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let token = self.next();
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, CONTEXT));
        }
        let name = self.template_name(token, CONTEXT)?;
        self.expect(TokenKind::RightDelim, CONTEXT)?;
        let (body, end) = self.item_list()?;
        if end != ListEnd::End {
            return Err(self.error(format!("unexpected {} in {CONTEXT}", end.text())));
        }
        self.add_template(Some(name), body)
    }

    /// Of two templates with the same name in one file, one must be empty.
    ///
    /// The file itself is added last, without a name.
    fn add_template(&mut self, name: Option<Box<[u8]>>, body: Span) -> Result<()> {
        let key = name.clone().unwrap_or_else(|| self.name.as_bytes().into());
        let template = Template {
            is_empty: self.is_empty(body),
            slots: index(self.tree.slots),
            name,
            body,
        };
        let Some(earlier) = self.defined.get(&key) else {
            let at = self.templates.len();
            self.defined.insert(key, at);
            self.templates.push(template);
            return Ok(());
        };
        let Some(earlier) = self.templates.get_mut(*earlier) else {
            return Ok(());
        };
        if earlier.is_empty {
            // The name is kept, so that the file cannot be shared under another name.
            *earlier = Template {
                name: earlier.name.take(),
                ..template
            };
        } else if !template.is_empty {
            let name = quote_bytes(&key);
            return Err(self.error(format!("template: multiple definition of template {name}")));
        }
        Ok(())
    }

    fn is_empty(&self, body: Span) -> bool {
        body.of(&self.nodes.statements).iter().all(|statement| {
            let StatementKind::Text(span) = statement.kind else {
                return false;
            };
            let text = span.of(self.source);
            match std::str::from_utf8(text) {
                Ok(text) => text.trim().is_empty(),
                Err(_) => false,
            }
        })
    }

    fn close_statements(&mut self, base: usize) -> Span {
        let start = self.nodes.statements.len();
        self.nodes
            .statements
            .extend(self.nodes.open_statements.drain(base..));
        Span::new(start, self.nodes.statements.len())
    }

    /// Statements up to `{{end}}` or `{{else}}`.
    fn item_list(&mut self) -> Result<(Span, ListEnd)> {
        self.check_depth()?;
        let base = self.nodes.open_statements.len();
        while self.peek().kind != TokenKind::Eof {
            match self.text_or_action()? {
                Parsing::Statement(statement) => self.nodes.open_statements.push(statement),
                Parsing::ListEnd(end) => return Ok((self.close_statements(base), end)),
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Parsing> {
        let token = self.next();
        match token.kind {
            TokenKind::Text => Ok(Parsing::Statement(Statement {
                pos: token.start,
                kind: StatementKind::Text(token.span()),
            })),
            TokenKind::LeftDelim => {
                self.tree.action = Some(token.start);
                let action = self.action()?;
                self.tree.action = None;
                Ok(action)
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    /// The action after a left delimiter.
    fn action(&mut self) -> Result<Parsing> {
        let token = self.next();
        let statement = match token.kind {
            TokenKind::Block => self.block()?,
            TokenKind::Break => self.leave_range(token, "{{break}}", StatementKind::Break)?,
            TokenKind::Continue => {
                self.leave_range(token, "{{continue}}", StatementKind::Continue)?
            }
            TokenKind::Else => {
                let after = self.peek().kind;
                if !matches!(after, TokenKind::If | TokenKind::With) {
                    self.expect(TokenKind::RightDelim, "else")?;
                }
                return Ok(Parsing::ListEnd(ListEnd::Else));
            }
            TokenKind::End => {
                self.expect(TokenKind::RightDelim, "end")?;
                return Ok(Parsing::ListEnd(ListEnd::End));
            }
            TokenKind::If => self.control(Control::If)?,
            TokenKind::Range => self.control(Control::Range)?,
            TokenKind::With => self.control(Control::With)?,
            TokenKind::Template => self.template_call()?,
            _ => {
                self.backup();
                let pos = self.peek().start;
                let pipe = self.pipeline("command", TokenKind::RightDelim)?;
                Statement {
                    pos,
                    kind: StatementKind::Action { pipe },
                }
            }
        };
        Ok(Parsing::Statement(statement))
    }

    fn leave_range(
        &mut self,
        keyword: Token,
        text: &str,
        kind: StatementKind,
    ) -> Result<Statement> {
        let token = self.next();
        if token.kind != TokenKind::RightDelim {
            return Err(self.unexpected(token, text));
        }
        if self.tree.range_depth == 0 {
            return Err(self.error(format!("{text} outside {{{{range}}}}")));
        }
        Ok(Statement {
            pos: keyword.start,
            kind,
        })
    }

    /// `if`, `range` or `with`, after the keyword.
    fn control(&mut self, control: Control) -> Result<Statement> {
        let (known, live) = (self.tree.known.len(), self.tree.live.len());
        let pipe = self.pipeline(control.context(), TokenKind::RightDelim)?;
        let live_after_pipe = self.tree.live.len();
        let is_range = usize::from(control == Control::Range);
        self.tree.range_depth += is_range;
        let (body, end) = self.item_list()?;
        self.tree.range_depth -= is_range;
        // In `else` Go accepts variables of the body at parse time, although they are not declared at execution.
        self.tree.live.truncate(live_after_pipe);
        let otherwise = match end {
            ListEnd::End => Span::default(),
            ListEnd::Else => self.otherwise(control)?,
        };
        self.tree.known.truncate(known);
        self.tree.live.truncate(live);
        let branch = Branch {
            pipe,
            body,
            otherwise,
        };
        let pos = self.nodes.pipes.get(pipe as usize).map(|pipe| pipe.pos);
        Ok(Statement {
            pos: pos.unwrap_or_default(),
            kind: match control {
                Control::If => StatementKind::If(branch),
                Control::Range => StatementKind::Range(branch),
                Control::With => StatementKind::With(branch),
            },
        })
    }

    /// The else part; `else if` and `else with` are nested statements.
    fn otherwise(&mut self, control: Control) -> Result<Span> {
        let next = self.peek().kind;
        let chained = matches!(
            (control, next),
            (Control::If, TokenKind::If) | (Control::With, TokenKind::With)
        );
        if chained {
            self.check_depth()?;
            self.next();
            let base = self.nodes.open_statements.len();
            let statement = self.control(control)?;
            self.nodes.open_statements.push(statement);
            return Ok(self.close_statements(base));
        }
        let (list, end) = self.item_list()?;
        if end != ListEnd::End {
            return Err(self.error(format!("expected end; found {}", end.text())));
        }
        Ok(list)
    }

    /// `{{block "name" pipeline}} ... {{end}}`, after the keyword.
    fn block(&mut self) -> Result<Statement> {
        const CONTEXT: &str = "block clause";
        let token = self.next();
        let name = self.template_name(token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, TokenKind::RightDelim)?;
        let (body, end, slots) = self.within_new_tree(|parser| {
            let (body, end) = parser.item_list()?;
            Ok((body, end, parser.tree.slots))
        })?;
        if end != ListEnd::End {
            return Err(self.error(format!("unexpected {} in {CONTEXT}", end.text())));
        }
        self.within_new_tree(|parser| {
            parser.tree.slots = slots;
            parser.add_template(Some(name), body)
        })?;
        self.template_statement(token, Some(pipe))
    }

    /// `{{template "name" pipeline}}`, after the keyword.
    fn template_call(&mut self) -> Result<Statement> {
        const CONTEXT: &str = "template clause";
        let token = self.next();
        self.template_name(token, CONTEXT)?;
        let mut pipe = None;
        if self.next().kind != TokenKind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, TokenKind::RightDelim)?);
        }
        self.template_statement(token, pipe)
    }

    fn template_statement(&mut self, name: Token, pipe: Option<u32>) -> Result<Statement> {
        let literal = self.literal(name)?;
        Ok(Statement {
            pos: name.start,
            kind: StatementKind::Template {
                name: literal,
                pipe,
            },
        })
    }

    fn template_name(&self, token: Token, context: &str) -> Result<Box<[u8]>> {
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, context));
        }
        let text = self.text_of(token);
        unquote(text)
            .map(|name| name.as_ref().into())
            .map_err(|error| self.error(error.to_string()))
    }

    /// Adds a string constant to the table of the file.
    pub(super) fn literal(&mut self, token: Token) -> Result<u32> {
        let text = match unquote(self.text_of(token)) {
            Ok(Cow::Borrowed(_)) => LiteralText::Source(Span {
                start: token.start + 1,
                end: token.end - 1,
            }),
            Ok(Cow::Owned(text)) => LiteralText::Own(text.into()),
            Err(error) => return Err(self.error(error.to_string())),
        };
        let id = index(self.nodes.literals.len());
        self.nodes.literals.push(Literal {
            quoted: token.span(),
            text,
        });
        Ok(id)
    }
}

/// Tokens with lookahead, and errors.
impl<'s> Parser<'s> {
    pub(super) fn next(&mut self) -> Token {
        if self.tree.peeked > 0 {
            self.tree.peeked -= 1;
        } else {
            self.tree.tokens[0] = self.lexer.next_token();
        }
        self.tree.tokens[self.tree.peeked]
    }

    pub(super) fn backup(&mut self) {
        self.tree.peeked += 1;
    }

    /// `backup2`: pushes back `first` and the last token.
    pub(super) fn backup2(&mut self, first: Token) {
        self.tree.tokens[1] = first;
        self.tree.peeked = 2;
    }

    pub(super) fn peek(&mut self) -> Token {
        let token = self.next();
        self.backup();
        token
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Result<Token> {
        let token = self.next();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(token, context))
        }
    }

    pub(super) fn text_of(&self, token: Token) -> &'s [u8] {
        token.span().of(self.source)
    }

    pub(super) fn check_depth(&self) -> Result<()> {
        if self.guard.is_exhausted() {
            return Err(self.error(TOO_DEEP));
        }
        Ok(())
    }

    /// An error at the last token.
    pub(super) fn error(&self, message: impl Into<String>) -> Failure {
        Failure(Box::new(ParseError {
            name: self.name.to_string(),
            line: self.line(self.tree.tokens[0].start),
            message: message.into(),
        }))
    }

    pub(super) fn unexpected(&self, token: Token, context: &str) -> Failure {
        if token.kind != TokenKind::Error {
            let found = self.describe(token);
            return self.error(format!("unexpected {found} in {context}"));
        }
        let mut message = self.lexer.error.clone();
        if let Some(action) = self.tree.action
            && self.line(action) != self.line(token.start)
        {
            let name = &self.name;
            let started = format!(" started at {name}:{}", self.line(action));
            let separator = if message.ends_with(" action") {
                ""
            } else {
                " in action"
            };
            message.push_str(separator);
            message.push_str(&started);
        }
        self.error(message)
    }

    fn describe(&self, token: Token) -> String {
        let text = self.text_of(token);
        if token.kind == TokenKind::Eof {
            return "EOF".into();
        }
        if token.kind.is_keyword() {
            return format!("<{}>", String::from_utf8_lossy(text));
        }
        if text.len() <= 10 {
            return quote_bytes(text);
        }
        let start = String::from_utf8_lossy(text);
        let start: String = start.chars().take(10).collect();
        format!("{}...", quote_bytes(start.as_bytes()))
    }

    fn line(&self, pos: u32) -> usize {
        let before = Span { start: 0, end: pos };
        let mut lines = count_lines(before.of(self.source));
        if !self.dialect.range_over_int {
            // Go 1.23 does not count the lines of comments.
            let skipped = self.lexer.comments.iter().filter(|span| span.end <= pos);
            lines -= skipped
                .map(|span| count_lines(span.of(self.source)))
                .sum::<usize>();
        }
        1 + lines
    }
}

fn count_lines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}
