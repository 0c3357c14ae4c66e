//! Decodes bytes to a tree of fields as Go's decoder does: later values win, messages merge, lists grow.

use crate::error::{Fault, Located};
use crate::table::{Base, Field, Form, Message, Shape, Table};
use crate::wire::{Reader, Wire};

/// The maximum nesting depth of the JSON, within the limit of our own parser.
const MAX_DEPTH: usize = 120;

/// The maximum weight of the JSON. A member has weight 1 (about 100 bytes), an object 8.
const MAX_WEIGHT: usize = 1_000_000;
const OBJECT_WEIGHT: usize = 8;

/// A decoded value.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    Bool(bool),
    Integer(i64),
    Double(f64),
    /// A string or bytes.
    Bytes(&'a [u8]),
    Message(Fields<'a>),
    List(Vec<Self>),
    Map(Vec<(&'a [u8], Self)>),
}

/// The set fields of a message, sorted by number.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(u32, Node<'a>)>);

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, number: u32) -> Option<&Node<'a>> {
        let index = self.find(number).ok()?;
        self.0.get(index).map(|(_, node)| node)
    }

    fn set(&mut self, number: u32, node: Node<'a>) {
        match self.find(number) {
            Ok(index) => self.0[index].1 = node,
            Err(index) => self.0.insert(index, (number, node)),
        }
    }

    fn clear(&mut self, number: u32) {
        if let Ok(index) = self.find(number) {
            self.0.remove(index);
        }
    }

    fn slot(&mut self, number: u32, empty: impl FnOnce() -> Node<'a>) -> &mut Node<'a> {
        let index = self.find(number).unwrap_or_else(|index| {
            self.0.insert(index, (number, empty()));
            index
        });
        &mut self.0[index].1
    }

    /// The index of a field, or where to insert it. Encoders write fields in order, so it is mostly the last.
    fn find(&self, number: u32) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if *last >= number => {
                self.0.binary_search_by_key(&number, |(set, _)| *set)
            }
            _ => Err(self.0.len()),
        }
    }
}

/// The remaining weight of a body.
#[derive(Debug)]
pub(crate) struct Budget {
    weight: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { weight: MAX_WEIGHT }
    }

    pub(crate) fn member(&mut self) -> Result<(), Fault> {
        self.spend(1)
    }

    pub(crate) fn object(&mut self, depth: usize) -> Result<(), Fault> {
        Self::level(depth)?;
        self.spend(OBJECT_WEIGHT)
    }

    /// Times, quantities and the like are not objects in JSON.
    pub(crate) fn message(&mut self, message: &Message, depth: usize) -> Result<(), Fault> {
        match message.form {
            Form::Object => self.object(depth),
            _ => Self::level(depth).and_then(|()| self.member()),
        }
    }

    pub(crate) fn level(depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            Err(Fault::TooDeep)
        } else {
            Ok(())
        }
    }

    fn spend(&mut self, weight: usize) -> Result<(), Fault> {
        self.weight = self.weight.checked_sub(weight).ok_or(Fault::TooLarge)?;
        Ok(())
    }
}

/// Decodes the fields of a message.
pub(crate) fn parse<'a>(
    message: &Message,
    bytes: &'a [u8],
    budget: &mut Budget,
) -> Result<Fields<'a>, Located> {
    let mut fields = Fields::default();
    Parser {
        table: Table::get(),
        budget,
    }
    .message(&mut fields, message, bytes, 1)?;
    Ok(fields)
}

/// A repeated field and its encoding in the input.
#[derive(Clone, Copy)]
struct Repeated {
    number: u32,
    base: Base,
    wire: Wire,
    depth: usize,
}

struct Parser<'b> {
    table: &'static Table,
    budget: &'b mut Budget,
}

impl Parser<'_> {
    fn message<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        message: &Message,
        bytes: &'a [u8],
        depth: usize,
    ) -> Result<(), Located> {
        self.budget.message(message, depth)?;
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match message.field(number) {
                None => reader.skip(wire)?,
                Some(field) if field.shape == Shape::Inline => {
                    self.field(fields, field, wire, &mut reader, depth)?;
                }
                Some(field) => self
                    .field(fields, field, wire, &mut reader, depth.saturating_add(1))
                    .map_err(|fault| fault.within(field.name))?,
            }
        }
        Ok(())
    }

    fn field<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        field: &Field,
        wire: Wire,
        reader: &mut Reader<'a>,
        depth: usize,
    ) -> Result<(), Located> {
        match (field.shape, field.base) {
            (Shape::Map | Shape::List, base) => {
                let repeated = Repeated {
                    number: field.number,
                    base,
                    wire,
                    depth,
                };
                if field.shape == Shape::Map {
                    self.entry(fields, repeated, reader)
                } else {
                    self.elements(fields, repeated, reader)
                }
            }
            (_, Base::Message(index)) => {
                let bytes = span(wire, reader)?;
                let message = self.table.message(index);
                match fields.slot(field.number, || Node::Message(Fields::default())) {
                    Node::Message(inner) => self.singular(inner, message, bytes, depth),
                    _ => Ok(()),
                }
            }
            (shape, base) => {
                let node = scalar(base, wire, reader)?;
                if shape == Shape::Value && is_zero(base, &node) {
                    fields.clear(field.number);
                } else {
                    self.budget.member()?;
                    fields.set(field.number, node);
                }
                Ok(())
            }
        }
    }

    /// Times do not merge: each replaces the previous one, and only one without bytes is unset.
    fn singular<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        message: &Message,
        bytes: &'a [u8],
        depth: usize,
    ) -> Result<(), Located> {
        if !matches!(message.form, Form::Time | Form::MicroTime) {
            return self.message(fields, message, bytes, depth);
        }
        *fields = Fields::default();
        self.message(fields, message, bytes, depth)?;
        if !bytes.is_empty() && fields.get(1).is_none() {
            fields.set(1, Node::Integer(0));
        }
        Ok(())
    }

    /// Decodes one element, or packed numbers.
    fn elements<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        field: Repeated,
        reader: &mut Reader<'a>,
    ) -> Result<(), Located> {
        let base = field.base;
        let packs = matches!(base, Base::Bool | Base::Int32 | Base::Int64 | Base::Double);
        if !(packs && field.wire == Wire::Span) {
            return self.element(fields, field, reader);
        }
        let wire = if base == Base::Double {
            Wire::Fixed64
        } else {
            Wire::Varint
        };
        let mut packed = Reader::new(reader.span()?);
        while !packed.is_empty() {
            self.element(fields, Repeated { wire, ..field }, &mut packed)?;
        }
        Ok(())
    }

    fn element<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        field: Repeated,
        reader: &mut Reader<'a>,
    ) -> Result<(), Located> {
        Budget::level(field.depth)?;
        self.budget.member()?;
        let Node::List(list) = fields.slot(field.number, || Node::List(Vec::new())) else {
            return Ok(());
        };
        let element = self
            .one(
                field.base,
                field.wire,
                reader,
                field.depth.saturating_add(1),
            )
            .map_err(|fault| fault.at(list.len()))?;
        list.push(element);
        Ok(())
    }

    fn entry<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        field: Repeated,
        reader: &mut Reader<'a>,
    ) -> Result<(), Located> {
        let Repeated { base, depth, .. } = field;
        match fields.get(field.number) {
            Some(_) => self.budget.member()?,
            None => self.budget.object(depth)?,
        }
        let mut entry = Reader::new(span(field.wire, reader)?);
        let mut key: &[u8] = &[];
        let mut value = None;
        while let Some((part, wire)) = entry.field()? {
            match part {
                1 => key = span(wire, &mut entry)?,
                2 => {
                    value = Some(
                        self.one(base, wire, &mut entry, depth.saturating_add(1))
                            .map_err(|fault| fault.under(key))?,
                    );
                }
                _ => entry.skip(wire)?,
            }
        }
        let value = value.unwrap_or_else(|| empty(base));
        if let Node::Map(map) = fields.slot(field.number, || Node::Map(Vec::new())) {
            map.push((key, value));
        }
        Ok(())
    }

    fn one<'a>(
        &mut self,
        base: Base,
        wire: Wire,
        reader: &mut Reader<'a>,
        depth: usize,
    ) -> Result<Node<'a>, Located> {
        let Base::Message(index) = base else {
            return Ok(scalar(base, wire, reader)?);
        };
        let mut fields = Fields::default();
        self.singular(
            &mut fields,
            self.table.message(index),
            span(wire, reader)?,
            depth,
        )?;
        Ok(Node::Message(fields))
    }
}

pub(crate) fn span<'a>(wire: Wire, reader: &mut Reader<'a>) -> Result<&'a [u8], Fault> {
    wire.expect(Wire::Span)?;
    reader.span()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers travel as 64 bits of two's complement, of which Go keeps what the field holds"
)]
fn scalar<'a>(base: Base, wire: Wire, reader: &mut Reader<'a>) -> Result<Node<'a>, Fault> {
    let expected = match base {
        Base::String | Base::Bytes | Base::Message(_) => Wire::Span,
        Base::Bool | Base::Int32 | Base::Int64 => Wire::Varint,
        Base::Double => Wire::Fixed64,
    };
    wire.expect(expected)?;
    Ok(match base {
        Base::String | Base::Bytes | Base::Message(_) => Node::Bytes(reader.span()?),
        Base::Bool => Node::Bool(reader.varint()? != 0),
        Base::Int32 => Node::Integer(i64::from(reader.varint()? as i32)),
        Base::Int64 => Node::Integer(reader.varint()? as i64),
        Base::Double => Node::Double(reader.double()?),
    })
}

/// Whether a field that is not a pointer has its zero value. Empty bytes do not, since Go distinguishes them from nil.
fn is_zero(base: Base, node: &Node<'_>) -> bool {
    match node {
        Node::Bool(value) => !value,
        Node::Integer(value) => *value == 0,
        Node::Double(value) => value.to_bits() == 0,
        Node::Bytes(bytes) => base == Base::String && bytes.is_empty(),
        Node::Message(_) | Node::List(_) | Node::Map(_) => false,
    }
}

/// The value of a map entry without one.
fn empty(base: Base) -> Node<'static> {
    match base {
        Base::String | Base::Bytes => Node::Bytes(&[]),
        Base::Bool => Node::Bool(false),
        Base::Int32 | Base::Int64 => Node::Integer(0),
        Base::Double => Node::Double(0.0),
        Base::Message(_) => Node::Message(Fields::default()),
    }
}
