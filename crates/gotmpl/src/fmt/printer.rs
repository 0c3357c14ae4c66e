//! `pp.printArg` and `pp.printValue`: formats one value with one verb.

use outrigger_gostd::fmt::Formatter;
use outrigger_gostd::unicode::append_rune;

use crate::traversal::{MAX_DEPTH, MAX_TEXT};
use crate::value::{Contents, Element, Kind, List, Map, StructField, Value};

pub(super) struct Printer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) formatter: Formatter,
    depth: usize,
    start: usize,
}

impl<'o> Printer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        Self {
            out,
            formatter: Formatter::default(),
            depth: 0,
            start,
        }
    }

    /// Whether the text is so long that the executor rejects it.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() - self.start > MAX_TEXT
    }

    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn print(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.formatter.pad(self.out, b"<nil>"),
            (Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.formatter.fmt_s(self.out, value.type_name().as_bytes()),
            (_, 'p') => self.pointer(value, verb),
            (Value::List(list), 'v' | 'd') if list.element() == Element::Byte => {
                self.list(list, verb, "[]byte");
            }
            _ => self.value(value, verb),
        }
    }

    fn value(&mut self, value: &Value, verb: char) {
        match value {
            Value::Nil => self.write("<nil>"),
            Value::Bool(b) if matches!(verb, 't' | 'v') => {
                self.formatter
                    .pad(self.out, if *b { b"true" } else { b"false" });
            }
            Value::Int(n) | Value::Int64(n) if is_integer_verb(verb) => self.signed(*n, verb),
            Value::Uint8(n) if is_integer_verb(verb) => self.unsigned(u64::from(*n), verb),
            Value::Uint64(n) if is_integer_verb(verb) => self.unsigned(*n, verb),
            Value::Float(x) if is_float_verb(verb) => self.float(*x, verb),
            Value::Str(text) if is_string_verb(verb) => self.string(text.as_bytes(), verb),
            Value::List(list) => self.list(list, verb, &value.type_name()),
            Value::Map(map) => self.map(map, verb, &value.type_name()),
            Value::Object(_) => self.object(value, verb),
            _ => self.bad_verb(value, verb),
        }
    }

    /// `badVerb`: the type does not support the verb; prints `%!d(string=x)`.
    fn bad_verb(&mut self, value: &Value, verb: char) {
        self.write("%!");
        append_rune(self.out, verb);
        self.write("(");
        if value.is_nil() {
            self.write("<nil>");
        } else {
            self.write(&value.type_name());
            self.write("=");
            let depth = std::mem::take(&mut self.depth);
            self.print(value, 'v');
            self.depth = depth;
        }
        self.write(")");
    }

    fn signed(&mut self, n: i64, verb: char) {
        let bits = n.cast_unsigned();
        match verb {
            'c' => self.formatter.fmt_c(self.out, bits),
            'q' => self.formatter.fmt_qc(self.out, bits),
            'U' => self.formatter.fmt_unicode(self.out, bits),
            _ => self
                .formatter
                .fmt_integer(self.out, n.unsigned_abs(), n < 0, verb),
        }
    }

    fn unsigned(&mut self, n: u64, verb: char) {
        match verb {
            'c' => self.formatter.fmt_c(self.out, n),
            'q' => self.formatter.fmt_qc(self.out, n),
            'U' => self.formatter.fmt_unicode(self.out, n),
            'v' if self.formatter.sharp_v => {
                let formatter = Formatter {
                    sharp: true,
                    ..self.formatter
                };
                formatter.fmt_integer(self.out, n, false, 'x');
            }
            _ => self.formatter.fmt_integer(self.out, n, false, verb),
        }
    }

    fn float(&mut self, x: f64, verb: char) {
        let (format, default) = match verb {
            'v' | 'g' => (b'g', None),
            'G' => (b'G', None),
            'b' => (b'b', None),
            'x' => (b'x', None),
            'X' => (b'X', None),
            'e' => (b'e', Some(6)),
            'E' => (b'E', Some(6)),
            _ => (b'f', Some(6)),
        };
        self.formatter.fmt_float(self.out, x, format, default);
    }

    fn string(&mut self, text: &[u8], verb: char) {
        match verb {
            'v' if self.formatter.sharp_v => self.formatter.fmt_q(self.out, text),
            'x' => self.formatter.fmt_sx(self.out, text, false),
            'X' => self.formatter.fmt_sx(self.out, text, true),
            'q' => self.formatter.fmt_q(self.out, text),
            _ => self.formatter.fmt_s(self.out, text),
        }
    }

    fn list(&mut self, list: &List, verb: char, type_name: &str) {
        if list.element() == Element::Byte && matches!(verb, 's' | 'q' | 'x' | 'X') {
            let bytes: Vec<u8> = list.items().iter().filter_map(byte_of).collect();
            self.string(&bytes, verb);
            return;
        }
        if !self.open(type_name, list.is_nil()) {
            return;
        }
        for (at, item) in list.items().iter().enumerate() {
            self.separate(at);
            self.element(item, verb);
            if self.is_full() {
                break;
            }
        }
        self.close();
    }

    fn map(&mut self, map: &Map, verb: char, type_name: &str) {
        if !self.formatter.sharp_v {
            self.write("map");
        }
        if !self.open(type_name, map.is_nil()) {
            return;
        }
        map.with_entries(|entries| {
            for (at, (key, value)) in entries.iter().enumerate() {
                self.separate(at);
                self.element(&Value::Str(key.clone()), verb);
                self.write(":");
                self.element(value, verb);
                if self.is_full() {
                    break;
                }
            }
        });
        self.close();
    }

    /// Starts a collection; returns false if the rest must not be printed.
    fn open(&mut self, type_name: &str, is_nil: bool) -> bool {
        if self.depth >= MAX_DEPTH || self.is_full() {
            self.write("...");
            return false;
        }
        if self.formatter.sharp_v {
            self.write(type_name);
            if is_nil {
                self.write("(nil)");
                return false;
            }
            self.write("{");
        } else {
            self.write("[");
        }
        self.depth += 1;
        true
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.write(if self.formatter.sharp_v { "}" } else { "]" });
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.write(if self.formatter.sharp_v { ", " } else { " " });
        }
    }

    fn element(&mut self, value: &Value, verb: char) {
        if value.is_nil() && self.formatter.sharp_v {
            self.write("interface {}(nil)");
        } else {
            self.value(value, verb);
        }
    }

    fn object(&mut self, value: &Value, verb: char) {
        let Value::Object(object) = value else {
            return;
        };
        if let Some(scalar) = object.scalar()
            && (self.formatter.sharp_v || !is_string_verb(verb))
        {
            if supports_verb(&scalar, verb) {
                self.value(&scalar, verb);
            } else {
                self.bad_verb(value, verb);
            }
            return;
        }
        let has_string_method = object.formats_itself() && !self.formatter.sharp_v;
        if !(has_string_method && is_string_verb(verb))
            && let Some(fields) = object.struct_fields()
        {
            if object.kind() == Kind::Ptr && self.depth > 0 {
                self.pointer(value, verb);
            } else {
                self.structure(object.type_name(), &fields, verb);
            }
            return;
        }
        match object.contents() {
            Contents::List(list) => self.list(&list, verb, object.type_name()),
            Contents::Map(map) => self.map(&map, verb, object.type_name()),
            Contents::None if verb == 'v' => {
                self.formatter.fmt_s(self.out, object.display().as_bytes());
            }
            Contents::None if is_string_verb(verb) => {
                self.string(object.display().as_bytes(), verb);
            }
            Contents::None => self.bad_verb(value, verb),
        }
    }

    /// `{1 2 3}`, or `&{1 2 3}` for a pointer: each field formatted with the verb.
    pub(super) fn structure(&mut self, type_name: &str, fields: &[StructField], verb: char) {
        let (sign, name) = match type_name.strip_prefix('*') {
            Some(name) => ("&", name),
            None => ("", type_name),
        };
        self.write(sign);
        if self.formatter.sharp_v {
            self.write(name);
        }
        self.write("{");
        self.depth += 1;
        for (at, field) in fields.iter().enumerate() {
            self.separate(at);
            if self.formatter.plus_v || self.formatter.sharp_v {
                self.write(field.name);
                self.write(":");
            }
            self.element(&field.value, verb);
        }
        self.depth -= 1;
        self.write("}");
    }

    /// `fmtPointer`. In Go addresses differ from run to run, so this one is made up.
    fn pointer(&mut self, value: &Value, verb: char) {
        const ADDRESS: u64 = 0xc0_0000_0000;
        if !matches!(value.kind(), Kind::Slice | Kind::Map | Kind::Ptr) {
            return self.bad_verb(value, verb);
        }
        let hexadecimal = Formatter {
            sharp: !self.formatter.sharp,
            ..self.formatter
        };
        match verb {
            'v' if self.formatter.sharp_v => {
                self.write("(");
                self.write(&value.type_name());
                self.write(")(");
                hexadecimal.fmt_integer(self.out, ADDRESS, false, 'x');
                self.write(")");
            }
            'v' | 'p' => hexadecimal.fmt_integer(self.out, ADDRESS, false, 'x'),
            'b' | 'o' | 'd' | 'x' | 'X' => self.unsigned(ADDRESS, verb),
            _ => self.bad_verb(value, verb),
        }
    }
}

fn supports_verb(value: &Value, verb: char) -> bool {
    match value {
        Value::Bool(_) => matches!(verb, 't' | 'v'),
        Value::Float(_) => is_float_verb(verb),
        Value::Str(_) => is_string_verb(verb),
        _ => is_integer_verb(verb),
    }
}

fn is_integer_verb(verb: char) -> bool {
    matches!(
        verb,
        'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' | 'c' | 'q' | 'U'
    )
}

fn is_float_verb(verb: char) -> bool {
    matches!(
        verb,
        'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E'
    )
}

fn is_string_verb(verb: char) -> bool {
    matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
}

fn byte_of(value: &Value) -> Option<u8> {
    match value {
        Value::Uint8(byte) => Some(*byte),
        _ => None,
    }
}
