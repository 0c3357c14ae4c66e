//! Pipelines, commands and operands.

use outrigger_gostd::strconv::quote_bytes;

use super::constant;
use super::lexer::{Token, TokenKind};
use super::parser::Parser;
use super::{Failure, Result};
use crate::ir::{Command, Operand, OperandKind, Pipe, Slot, Span, Variable, index};
use crate::registry::FunctionId;

impl Parser<'_> {
    /// `declarations? command ('|' command)*` up to and including `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: TokenKind) -> Result<u32> {
        self.check_depth()?;
        let pos = self.peek().start;
        let first_variable = self.nodes.open_variables.len();
        let assigns = self.declarations(context)?;
        let base = self.nodes.open_commands.len();
        loop {
            let token = self.next();
            if token.kind == end {
                break;
            }
            if !starts_operand(token.kind) {
                return Err(self.unexpected(token, context));
            }
            self.backup();
            let command = self.command()?;
            self.nodes.open_commands.push(command);
        }
        self.check_pipeline(base, context)?;
        let start = self.nodes.commands.len();
        self.nodes
            .commands
            .extend(self.nodes.open_commands.drain(base..));
        let commands = Span::new(start, self.nodes.commands.len());
        let variables = self.declare(first_variable, assigns);
        let pipe = Pipe {
            pos,
            commands,
            variables,
            assigns,
            is_text_pipeline: self.is_text_pipeline(commands),
        };
        self.nodes.pipes.push(pipe);
        Ok(index(self.nodes.pipes.len() - 1))
    }

    /// Parses `$x :=`, `$x =` or, in a range, `$i, $x :=` into `open_variables`.
    fn declarations(&mut self, context: &str) -> Result<bool> {
        let mut count = 0;
        loop {
            let variable = self.peek();
            if variable.kind != TokenKind::Variable {
                return Ok(false);
            }
            self.next();
            let next = self.peek();
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    self.next();
                    self.name_variable(variable);
                    return Ok(next.kind == TokenKind::Assign);
                }
                TokenKind::Char if self.text_of(next) == b"," => {
                    self.next();
                    self.name_variable(variable);
                    count += 1;
                    if context != "range" || count >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    let second = self.peek().kind;
                    if !matches!(
                        second,
                        TokenKind::Variable | TokenKind::RightDelim | TokenKind::RightParen
                    ) {
                        return Err(self.error("range can only initialize variables"));
                    }
                }
                _ => {
                    self.backup2(variable);
                    return Ok(false);
                }
            }
        }
    }

    fn name_variable(&mut self, token: Token) {
        let name = self.text_of(token);
        self.tree.known.push(name);
        self.nodes.open_variables.push(Variable {
            name: token.span(),
            slot: None,
        });
    }

    /// Assigns slots to the declared variables. Their scope starts here: the pipeline itself still refers to earlier
    /// variables of the same name.
    fn declare(&mut self, first: usize, assigns: bool) -> Span {
        let start = self.nodes.variables.len();
        for at in first..self.nodes.open_variables.len() {
            let mut variable = self.nodes.open_variables[at];
            let name = variable.name.of(self.source);
            variable.slot = if assigns {
                self.slot_of(name)
            } else {
                self.tree.live.push(name);
                u16::try_from(self.tree.live.len() - 1).ok()
            };
            self.nodes.variables.push(variable);
        }
        self.nodes.open_variables.truncate(first);
        self.tree.slots = self.tree.slots.max(self.tree.live.len());
        Span::new(start, self.nodes.variables.len())
    }

    fn slot_of(&self, name: &[u8]) -> Slot {
        let at = self.tree.live.iter().rposition(|live| *live == name)?;
        u16::try_from(at).ok()
    }

    fn check_pipeline(&self, base: usize, context: &str) -> Result<()> {
        let commands = &self.nodes.open_commands[base..];
        if commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (stage, command) in commands.iter().enumerate().skip(1) {
            let first = command.operands.of(&self.nodes.operands).first();
            if matches!(
                first.map(|operand| operand.kind),
                Some(
                    OperandKind::Bool(_)
                        | OperandKind::Dot
                        | OperandKind::Nil
                        | OperandKind::Number(_)
                        | OperandKind::Literal(_)
                )
            ) {
                let stage = stage + 1;
                return Err(self.error(format!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    /// Operands separated by spaces, up to a pipe character or the end of the pipeline.
    fn command(&mut self) -> Result<Command> {
        let pos = self.peek().start;
        let base = self.nodes.open_operands.len();
        loop {
            if let Some(operand) = self.operand()? {
                self.nodes.open_operands.push(operand);
                if self.peek().is_spaced {
                    continue;
                }
            }
            let token = self.next();
            match token.kind {
                TokenKind::RightDelim | TokenKind::RightParen => {
                    self.backup();
                    break;
                }
                TokenKind::Pipe => break,
                _ => return Err(self.unexpected(token, "operand")),
            }
        }
        if self.nodes.open_operands.len() == base {
            return Err(self.error("empty command"));
        }
        let start = self.nodes.operands.len();
        self.nodes
            .operands
            .extend(self.nodes.open_operands.drain(base..));
        Ok(Command {
            pos,
            operands: Span::new(start, self.nodes.operands.len()),
        })
    }

    /// A term, possibly followed by fields.
    fn operand(&mut self) -> Result<Option<Operand>> {
        let first_name = self.nodes.names.len();
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let next = self.peek();
        if !is_attached_field(next) {
            return Ok(Some(term));
        }
        let chain_start = self.nodes.names.len();
        while is_attached_field(self.peek()) {
            let field = self.next();
            self.name_field(field);
        }
        let end = self.nodes.names.len();
        let kind = match term.kind {
            OperandKind::Field { .. } => OperandKind::Field {
                names: Span::new(first_name, end),
            },
            OperandKind::Variable { slot, .. } => OperandKind::Variable {
                slot,
                names: Span::new(first_name, end),
            },
            OperandKind::Function(_) | OperandKind::Pipe(_) | OperandKind::Chain { .. } => {
                self.nodes.operands.push(term);
                OperandKind::Chain {
                    inner: index(self.nodes.operands.len() - 1),
                    names: Span::new(chain_start, end),
                }
            }
            _ => return Err(self.field_after_constant(term)),
        };
        Ok(Some(Operand {
            pos: next.start,
            kind,
        }))
    }

    fn field_after_constant(&self, term: Operand) -> Failure {
        let nodes = &self.nodes;
        let text = match term.kind {
            OperandKind::Bool(true) => b"true",
            OperandKind::Bool(false) => b"false".as_slice(),
            OperandKind::Nil => b"nil",
            OperandKind::Number(id) => nodes
                .numbers
                .get(id as usize)
                .map_or(b"".as_slice(), |number| number.text.of(self.source)),
            OperandKind::Literal(id) => nodes
                .literals
                .get(id as usize)
                .map_or(b"".as_slice(), |literal| literal.quoted.of(self.source)),
            _ => b".",
        };
        self.error(format!("unexpected . after term {}", quote_bytes(text)))
    }

    fn name_field(&mut self, token: Token) {
        self.nodes.names.push(Span {
            start: token.start + 1,
            end: token.end,
        });
    }

    fn term(&mut self) -> Result<Option<Operand>> {
        let token = self.next();
        let first_name = self.nodes.names.len();
        let kind = match token.kind {
            TokenKind::Identifier => self.function(token)?,
            TokenKind::Dot => OperandKind::Dot,
            TokenKind::Nil => OperandKind::Nil,
            TokenKind::Variable => {
                let slot = self.use_variable(token)?;
                self.nodes.names.push(token.span());
                OperandKind::Variable {
                    slot,
                    names: Span::new(first_name, first_name + 1),
                }
            }
            TokenKind::Field => {
                self.name_field(token);
                OperandKind::Field {
                    names: Span::new(first_name, first_name + 1),
                }
            }
            TokenKind::Bool => OperandKind::Bool(self.text_of(token) == b"true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                self.number(token)?
            }
            TokenKind::LeftParen => {
                let pipe = self.pipeline("parenthesized pipeline", TokenKind::RightParen)?;
                OperandKind::Pipe(pipe)
            }
            TokenKind::String | TokenKind::RawString => OperandKind::Literal(self.literal(token)?),
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        // The position of a parenthesized pipeline is that of its first token inside.
        let pos = match kind {
            OperandKind::Pipe(id) => self.nodes.pipes.get(id as usize).map(|pipe| pipe.pos),
            _ => None,
        };
        Ok(Some(Operand {
            pos: pos.unwrap_or(token.start),
            kind,
        }))
    }

    fn function(&self, token: Token) -> Result<OperandKind> {
        let name = self.text_of(token);
        FunctionId::find(name, self.dialect)
            .map(OperandKind::Function)
            .ok_or_else(|| self.error(format!("function {} not defined", quote_bytes(name))))
    }

    fn use_variable(&self, token: Token) -> Result<Slot> {
        let name = self.text_of(token);
        if !self.tree.known.contains(&name) {
            return Err(self.error(format!("undefined variable {}", quote_bytes(name))));
        }
        Ok(self.slot_of(name))
    }

    fn number(&mut self, token: Token) -> Result<OperandKind> {
        let (text, span) = (self.text_of(token), token.span());
        let number = match token.kind {
            TokenKind::CharConstant => constant::char_constant(text, span),
            TokenKind::Complex => Err(constant::complex(text)),
            _ => constant::number(text, span),
        };
        let number = number.map_err(|error| self.error(error.to_string()))?;
        self.nodes.numbers.push(number);
        Ok(OperandKind::Number(index(self.nodes.numbers.len() - 1)))
    }

    fn is_text_pipeline(&self, commands: Span) -> bool {
        let functions = commands.of(&self.nodes.commands).iter().map(|command| {
            match command.operands.of(&self.nodes.operands).first()?.kind {
                OperandKind::Function(id) => Some((id, command.operands)),
                _ => None,
            }
        });
        functions.enumerate().all(|(stage, function)| {
            let Some((id, operands)) = function else {
                return false;
            };
            if stage == 0 {
                id.writes_text()
            } else {
                let arguments = Span {
                    start: operands.start + 1,
                    end: operands.end,
                };
                id.changes_text(arguments.of(&self.nodes.operands), &self.nodes.numbers)
            }
        })
    }
}

/// Whether a field directly follows the preceding operand.
fn is_attached_field(token: Token) -> bool {
    token.kind == TokenKind::Field && !token.is_spaced
}

fn starts_operand(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Bool
            | TokenKind::CharConstant
            | TokenKind::Complex
            | TokenKind::Dot
            | TokenKind::Field
            | TokenKind::Identifier
            | TokenKind::Number
            | TokenKind::Nil
            | TokenKind::RawString
            | TokenKind::String
            | TokenKind::Variable
            | TokenKind::LeftParen
    )
}
