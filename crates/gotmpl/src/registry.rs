//! The registry of all template functions. The parser stores their ids in the parse tree.

use std::sync::LazyLock;

use crate::function::{Dialect, Function};
use crate::ir::{Number, Operand, OperandKind};
use crate::{builtins, functions, rendering, yaml};

/// The id of a function in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionId(u16);

/// How a function is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The body of the function.
    Body,
    // Special cases of the executor:
    And,
    Or,
    Len,
    Call,
    Include,
    Tpl,
    Required,
    Fail,
    Lookup,
    ToYaml,
    Append,
}

/// A function that transforms text and whose other argument is a constant, so that it can run on the output buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFilter {
    Indent,
    Nindent,
    Quote,
    Squote,
    Trim,
    TrimPrefix,
    TrimSuffix,
    Trunc,
}

struct Entry {
    function: &'static Function,
    operation: Operation,
    filter: Option<TextFilter>,
}

struct Registry {
    entries: Vec<Entry>,
    /// Ids by the hash of the name, with linear probing; `None` ends a search.
    by_hash: Vec<Option<u16>>,
}

/// A power of two, and several times the number of functions, so that probing is short.
const SLOTS: usize = 2048;

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry {
        entries: Vec::new(),
        by_hash: vec![None; SLOTS],
    };
    // Later functions override earlier ones of the same name: Sprig's `slice` overrides Go's.
    let tables = [
        builtins::TABLE,
        functions::table(),
        rendering::TABLE,
        yaml::TABLE,
    ];
    for function in tables.into_iter().flatten() {
        registry.add(function);
    }
    registry
});

impl Registry {
    fn add(&mut self, function: &'static Function) {
        let id = self.entries.len();
        let Ok(id) = u16::try_from(id) else {
            return;
        };
        assert!(self.entries.len() < SLOTS / 2, "the table is large enough");
        let slot = self.slot(function.name.as_bytes());
        self.by_hash[slot] = Some(id);
        self.entries.push(Entry {
            function,
            operation: operation(function.name),
            filter: text_filter(function.name),
        });
    }
}

impl Registry {
    /// The slot of a name, which is empty if the name is not registered.
    fn slot(&self, name: &[u8]) -> usize {
        let mut slot = hash(name) % SLOTS;
        while let Some(id) = self.by_hash[slot]
            && self.entries[usize::from(id)].function.name.as_bytes() != name
        {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// FNV-1a.
fn hash(name: &[u8]) -> usize {
    name.iter().fold(0x811c_9dc5, |hash: usize, byte| {
        (hash ^ usize::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

fn operation(name: &str) -> Operation {
    match name {
        "and" => Operation::And,
        "or" => Operation::Or,
        "len" => Operation::Len,
        "call" => Operation::Call,
        "include" => Operation::Include,
        "tpl" => Operation::Tpl,
        "required" => Operation::Required,
        "fail" => Operation::Fail,
        "lookup" => Operation::Lookup,
        "toYaml" => Operation::ToYaml,
        "append" | "push" | "mustAppend" | "mustPush" => Operation::Append,
        _ => Operation::Body,
    }
}

fn text_filter(name: &str) -> Option<TextFilter> {
    Some(match name {
        "indent" => TextFilter::Indent,
        "nindent" => TextFilter::Nindent,
        "quote" => TextFilter::Quote,
        "squote" => TextFilter::Squote,
        "trim" => TextFilter::Trim,
        "trimPrefix" => TextFilter::TrimPrefix,
        "trimSuffix" => TextFilter::TrimSuffix,
        "trunc" => TextFilter::Trunc,
        _ => return None,
    })
}

/// The functions that only Helm 4 has.
const MUST_TO_FUNCTIONS: [&[u8]; 2] = [b"mustToYaml", b"mustToToml"];

impl FunctionId {
    pub(crate) fn find(name: &[u8], dialect: &Dialect) -> Option<Self> {
        if !dialect.must_to_functions && MUST_TO_FUNCTIONS.contains(&name) {
            return None;
        }
        let slot = REGISTRY.slot(name);
        REGISTRY.by_hash[slot].map(Self)
    }

    fn entry(self) -> &'static Entry {
        &REGISTRY.entries[usize::from(self.0)]
    }

    #[inline]
    pub(crate) fn function(self) -> &'static Function {
        self.entry().function
    }

    #[inline]
    pub(crate) fn operation(self) -> Operation {
        self.entry().operation
    }

    pub(crate) fn text_filter(self) -> Option<TextFilter> {
        self.entry().filter
    }

    /// Whether its result can be written directly to the output.
    pub(crate) fn writes_text(self) -> bool {
        matches!(
            self.operation(),
            Operation::Include | Operation::Tpl | Operation::ToYaml
        )
    }

    /// Whether it is a [`TextFilter`] with arguments that cannot fail.
    pub(crate) fn changes_text(self, arguments: &[Operand], numbers: &[Number]) -> bool {
        let argument = match arguments {
            [] => None,
            [one] => Some(one.kind),
            _ => return false,
        };
        let number = match argument {
            Some(OperandKind::Number(id)) => {
                let number = numbers.get(id as usize);
                number.and_then(|number| number.int)
            }
            _ => None,
        };
        match self.text_filter() {
            None => false,
            Some(TextFilter::Indent | TextFilter::Nindent) => {
                number.is_some_and(|number| (0..=MAX_INDENT).contains(&number))
            }
            Some(TextFilter::Trunc) => number.is_some(),
            Some(TextFilter::TrimPrefix | TextFilter::TrimSuffix) => {
                matches!(argument, Some(OperandKind::Literal(_)))
            }
            Some(TextFilter::Quote | TextFilter::Squote | TextFilter::Trim) => argument.is_none(),
        }
    }
}

/// The function itself handles larger indentations.
const MAX_INDENT: i64 = 200;
