//! Any bytes through the YAML reader: reading and checking agree, and what was read can be written and read again.
#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use outrigger_goyaml::{Builder, Emitter, Style, check, parse};

enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

struct Nodes;

impl Builder for Nodes {
    type Value = Node;

    fn null(&mut self) -> Node {
        Node::Null
    }
    fn bool(&mut self, value: bool) -> Node {
        Node::Bool(value)
    }
    fn int(&mut self, value: i64) -> Node {
        Node::Int(value)
    }
    fn uint(&mut self, value: u64) -> Node {
        Node::Uint(value)
    }
    fn float(&mut self, value: f64) -> Node {
        Node::Float(value)
    }
    fn string(&mut self, value: Cow<'_, str>) -> Node {
        Node::Text(value.into_owned())
    }
    fn list(&mut self, items: Vec<Node>) -> Node {
        Node::List(items)
    }
    fn map(&mut self, entries: Vec<(Cow<'_, str>, Node)>) -> Node {
        Node::Map(entries.into_iter().map(|(key, value)| (key.into_owned(), value)).collect())
    }
}

fn emit(emitter: &mut Emitter<'_>, node: &Node) {
    match node {
        Node::Null => emitter.null(),
        Node::Bool(value) => emitter.bool(*value),
        Node::Int(value) => emitter.int(*value),
        Node::Uint(value) => emitter.uint(*value),
        Node::Float(value) => emitter.float(*value),
        Node::Text(text) => emitter.string(text),
        Node::List(items) => {
            emitter.begin_list(items.len());
            items.iter().for_each(|item| emit(emitter, item));
            emitter.end_list();
        }
        Node::Map(entries) => {
            emitter.begin_map(entries.len());
            for (key, value) in entries {
                emitter.key(key);
                emit(emitter, value);
            }
            emitter.end_map();
        }
    }
}

/// Our own recursion here must not be what overflows.
fn is_shallow(node: &Node, left: usize) -> bool {
    left > 0
        && match node {
            Node::List(items) => items.iter().all(|item| is_shallow(item, left - 1)),
            Node::Map(entries) => entries.iter().all(|(_, value)| is_shallow(value, left - 1)),
            _ => true,
        }
}

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse(bytes, &mut Nodes);
    assert_eq!(parsed.is_ok(), check(bytes).is_ok(), "reading and checking must agree");
    let Ok(node) = parsed else { return };
    if !is_shallow(&node, 200) {
        return;
    }
    for style in [Style::Normal, Style::Pretty] {
        let mut text = Vec::new();
        let mut emitter = Emitter::new(&mut text, style, 0);
        emit(&mut emitter, &node);
        if emitter.finish().is_ok() && style == Style::Normal {
            assert!(parse(&text, &mut Nodes).is_ok(), "what was written can be read");
        }
    }
});
