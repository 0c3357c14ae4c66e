//! The complete decoder of go-yaml: parses a document into nodes, and decodes them one by one.
//!
//! Nodes and values are in flat vectors, and decoding keeps its own stack, so that deep documents do not overflow the
//! thread's stack.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use outrigger_gostd::base64;

use crate::error::{Error, MAX_NODES};
use crate::go_syntax::go_syntax;
use crate::parser::{Event, Parser, Scalar};
use crate::resolve::{Resolved, TAG_PREFIX, resolve, resolve_as};

#[derive(Debug)]
enum Node<'a> {
    Scalar(Scalar<'a>),
    Sequence(Vec<usize>),
    /// Keys and values alternate.
    Mapping(Vec<usize>),
    Alias {
        name: &'a str,
        target: usize,
    },
}

/// A decoded value before the conversion to JSON. Collections contain the indexes of their members.
#[derive(Debug)]
pub(crate) enum Decoded<'a> {
    Scalar(Resolved, Cow<'a, str>),
    List(Vec<usize>),
    /// Keys are scalars.
    Map(Vec<(usize, usize)>),
}

/// The first document of a stream.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) values: Vec<Decoded<'a>>,
    pub(crate) root: usize,
}

/// A document, and where its values are.
#[derive(Debug)]
pub(crate) struct LocatedDocument<'a> {
    pub(crate) document: Document<'a>,
    /// For each value the line on which it begins. Lines start at zero.
    pub(crate) lines: Vec<usize>,
    /// Duplicate keys: the line of the value, and the key.
    pub(crate) repeated: Vec<(usize, usize)>,
}

impl<'a> Document<'a> {
    pub(crate) fn read<const EXACT: bool>(events: &mut Parser<'a, EXACT>) -> Result<Self, Error> {
        if matches!(events.next()?, Event::StreamEnd) {
            return Ok(Self {
                values: vec![Decoded::Scalar(Resolved::Null, Cow::Borrowed(""))],
                root: 0,
            });
        }
        let (nodes, _) = load(events)?;
        let mut decoder = Decoder::new(&nodes);
        let root = decoder.run()?;
        Ok(Self {
            values: decoder.values,
            root,
        })
    }

    /// The first document, with the line of each value.
    pub(crate) fn read_located<const EXACT: bool>(
        events: &mut Parser<'a, EXACT>,
    ) -> Result<LocatedDocument<'a>, Error> {
        if matches!(events.next()?, Event::StreamEnd) {
            return Ok(LocatedDocument {
                document: Self {
                    values: vec![Decoded::Scalar(Resolved::Null, Cow::Borrowed(""))],
                    root: 0,
                },
                lines: vec![0],
                repeated: Vec::new(),
            });
        }
        let (nodes, lines) = load(events)?;
        let mut decoder = Decoder::new(&nodes);
        decoder.lines = Some(&lines);
        let root = decoder.run()?;
        decoder.repeated.sort_unstable();
        let repeated = decoder.repeated.into_iter();
        Ok(LocatedDocument {
            repeated: repeated.map(|(_, line, key)| (line, key)).collect(),
            document: Self {
                values: decoder.values,
                root,
            },
            lines: decoder.value_lines,
        })
    }

    /// The duplicate keys that go-yaml's strict decoder reports. A merge sets its keys.
    pub(crate) fn repeated_keys<const EXACT: bool>(
        events: &mut Parser<'a, EXACT>,
    ) -> Result<Vec<String>, Error> {
        if matches!(events.next()?, Event::StreamEnd) {
            return Ok(Vec::new());
        }
        let (nodes, lines) = load(events)?;
        let mut decoder = Decoder::new(&nodes);
        decoder.lines = Some(&lines);
        decoder.run()?;
        let mut repeated = decoder.repeated;
        repeated.sort_unstable();
        let messages = repeated.into_iter().map(|(_, line, key)| {
            let key = go_syntax(&decoder.values, key);
            format!("line {}: key {key} already set in map", line + 1)
        });
        Ok(messages.collect())
    }
}

/// Nodes and their lines, which start at zero.
type Loaded<'a> = (Vec<Node<'a>>, Vec<usize>);

/// Parses one document; its first node is the root.
fn load<'a, const EXACT: bool>(events: &mut Parser<'a, EXACT>) -> Result<Loaded<'a>, Error> {
    let mut nodes: Vec<Node<'a>> = Vec::new();
    let mut lines: Vec<usize> = Vec::new();
    let mut anchors: HashMap<&'a str, usize> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let at = nodes.len();
        if at > MAX_NODES {
            return Err(Error::TooManyNodes);
        }
        let (node, anchor) = match events.next()? {
            Event::Scalar(scalar) => {
                let anchor = scalar.anchor;
                (Node::Scalar(scalar), anchor)
            }
            Event::Alias(name) => match anchors.get(name) {
                Some(&target) => (Node::Alias { name, target }, None),
                None => {
                    return Err(Error::UnknownAnchor {
                        name: name.to_owned(),
                    });
                }
            },
            Event::SequenceStart(anchor) => (Node::Sequence(Vec::new()), anchor),
            Event::MappingStart(anchor) => (Node::Mapping(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                continue;
            }
            Event::DocumentEnd | Event::StreamEnd | Event::DocumentStart => {
                return Ok((nodes, lines));
            }
        };
        if let Some(anchor) = anchor {
            anchors.insert(anchor, at);
        }
        if let Some(Node::Sequence(members) | Node::Mapping(members)) =
            open.last().map(|&parent| &mut nodes[parent])
        {
            members.push(at);
        }
        if matches!(node, Node::Sequence(_) | Node::Mapping(_)) {
            open.push(at);
        }
        nodes.push(node);
        lines.push(events.line());
    }
}

/// The maximum length of all scalars that aliases refer to. go-yaml does not copy them and has no limit.
const MAX_ALIASED_TEXT: usize = 64 << 20;

/// What to continue with after the current value is decoded.
#[derive(Debug, Clone, Copy)]
enum Pending {
    List {
        node: usize,
        next: usize,
        out: usize,
    },
    Map {
        node: usize,
        next: usize,
        out: usize,
        wait: Wait,
        is_merge: bool,
    },
    /// The maps of a merge key's sequence, from the last to the first.
    Merges {
        node: usize,
        left: usize,
        out: usize,
    },
    /// The alias at this node ends.
    Alias(usize),
}

#[derive(Debug, Clone, Copy)]
enum Wait {
    Nothing,
    Key,
    /// The value of the key at this index.
    Value(usize),
}

struct Decoder<'n, 'a> {
    nodes: &'n [Node<'a>],
    values: Vec<Decoded<'a>>,
    pending: Vec<Pending>,
    /// The value that was just decoded.
    result: Option<usize>,
    active: HashSet<usize>,
    decoded: usize,
    aliased: usize,
    /// The length of all scalars that aliases refer to.
    aliased_text: usize,
    alias_depth: usize,
    /// The lines of the nodes, in strict mode.
    lines: Option<&'n [usize]>,
    /// The lines of `values`, in strict mode.
    value_lines: Vec<usize>,
    /// For each value of a map: its sequence number and its line.
    put: HashMap<usize, (usize, usize)>,
    /// Duplicate keys: sequence number and line of the value, and the key.
    repeated: Vec<(usize, usize, usize)>,
}

impl<'n, 'a> Decoder<'n, 'a> {
    fn new(nodes: &'n [Node<'a>]) -> Self {
        Self {
            nodes,
            values: Vec::with_capacity(nodes.len()),
            pending: Vec::new(),
            result: None,
            active: HashSet::new(),
            // The document itself is counted.
            decoded: 1,
            aliased: 0,
            aliased_text: 0,
            alias_depth: 0,
            lines: None,
            value_lines: Vec::new(),
            put: HashMap::new(),
            repeated: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<usize, Error> {
        self.enter(0, None)?;
        while let Some(pending) = self.pending.pop() {
            self.resume(pending)?;
        }
        Ok(self.result.take().unwrap_or(0))
    }

    /// Starts to decode a node; a mapping is merged into the map at `into`, if any.
    fn enter(&mut self, mut node: usize, into: Option<usize>) -> Result<(), Error> {
        loop {
            self.count()?;
            match &self.nodes[node] {
                Node::Alias { name, target } => {
                    if !self.active.insert(node) {
                        return Err(Error::SelfReference {
                            name: (*name).to_owned(),
                        });
                    }
                    self.alias_depth += 1;
                    self.pending.push(Pending::Alias(node));
                    node = *target;
                }
                Node::Scalar(scalar) => {
                    if self.alias_depth > 0 {
                        self.aliased_text += scalar.text.len();
                        if self.aliased_text > MAX_ALIASED_TEXT {
                            return Err(Error::ExcessiveAliasing);
                        }
                    }
                    let value = decode_scalar(scalar)?;
                    self.result = Some(self.add(value, node));
                    return Ok(());
                }
                Node::Sequence(_) => {
                    let out = self.add(Decoded::List(Vec::new()), node);
                    self.pending.push(Pending::List { node, next: 0, out });
                    return Ok(());
                }
                Node::Mapping(_) => {
                    let out = match into {
                        Some(out) => out,
                        None => self.add(Decoded::Map(Vec::new()), node),
                    };
                    self.pending.push(Pending::Map {
                        node,
                        next: 0,
                        out,
                        wait: Wait::Nothing,
                        is_merge: into.is_some(),
                    });
                    return Ok(());
                }
            }
        }
    }

    /// Adds the value of a node.
    fn add(&mut self, value: Decoded<'a>, node: usize) -> usize {
        self.values.push(value);
        if let Some(lines) = self.lines {
            self.value_lines.push(lines[node]);
        }
        self.values.len() - 1
    }

    /// go-yaml's limit on aliases, against small documents that expand to huge values.
    fn count(&mut self) -> Result<(), Error> {
        self.decoded += 1;
        if self.decoded > MAX_NODES {
            return Err(Error::TooManyNodes);
        }
        if self.alias_depth > 0 {
            self.aliased += 1;
        }
        if self.aliased > 100
            && self.decoded > 1000
            && ratio(self.aliased, self.decoded) > allowed_alias_ratio(self.decoded)
        {
            return Err(Error::ExcessiveAliasing);
        }
        Ok(())
    }

    fn resume(&mut self, pending: Pending) -> Result<(), Error> {
        match pending {
            Pending::Alias(node) => {
                self.alias_depth -= 1;
                self.active.remove(&node);
                Ok(())
            }
            Pending::List { node, next, out } => self.resume_list(node, next, out),
            Pending::Merges { node, left, out } => self.resume_merges(node, left, out),
            Pending::Map {
                node,
                next,
                out,
                wait,
                is_merge,
            } => self.resume_map(node, next, out, wait, is_merge),
        }
    }

    fn resume_list(&mut self, node: usize, next: usize, out: usize) -> Result<(), Error> {
        if let (Some(item), Decoded::List(items)) = (self.result.take(), &mut self.values[out]) {
            items.push(item);
        }
        let Node::Sequence(members) = &self.nodes[node] else {
            return Ok(());
        };
        let Some(&member) = members.get(next) else {
            self.result = Some(out);
            return Ok(());
        };
        self.pending.push(Pending::List {
            node,
            next: next + 1,
            out,
        });
        self.enter(member, None)
    }

    fn resume_map(
        &mut self,
        node: usize,
        mut next: usize,
        out: usize,
        wait: Wait,
        is_merge: bool,
    ) -> Result<(), Error> {
        let Node::Mapping(members) = &self.nodes[node] else {
            return Ok(());
        };
        let result = self.result.take();
        let (wait, child) = match (wait, result) {
            (Wait::Key, Some(key)) => {
                if !matches!(self.values[key], Decoded::Scalar(..)) {
                    return Err(Error::CollectionKey {
                        key: go_syntax(&self.values, key),
                    });
                }
                next += 2;
                (Wait::Value(key), members[next - 1])
            }
            (wait, value) => {
                if let (Wait::Value(key), Some(value), Decoded::Map(entries)) =
                    (wait, value, &mut self.values[out])
                {
                    entries.push((key, value));
                    if let Some(lines) = self.lines {
                        let time = self.put.len();
                        self.put.insert(value, (time, lines[members[next - 1]]));
                    }
                }
                let Some(&key) = members.get(next) else {
                    if !is_merge {
                        self.finish_map(out);
                        self.result = Some(out);
                    }
                    return Ok(());
                };
                if self.is_merge_key(key) {
                    self.pending.push(Pending::Map {
                        node,
                        next: next + 2,
                        out,
                        wait: Wait::Nothing,
                        is_merge,
                    });
                    return self.merge(members[next + 1], out);
                }
                (Wait::Key, key)
            }
        };
        self.pending.push(Pending::Map {
            node,
            next,
            out,
            wait,
            is_merge,
        });
        self.enter(child, None)
    }

    fn is_merge_key(&self, node: usize) -> bool {
        let Node::Scalar(scalar) = &self.nodes[node] else {
            return false;
        };
        scalar.text == "<<"
            && (scalar.implicit || scalar.tag.as_deref() == Some(b"tag:yaml.org,2002:merge"))
    }

    fn merge(&mut self, node: usize, out: usize) -> Result<(), Error> {
        match &self.nodes[node] {
            Node::Sequence(members) => {
                self.pending.push(Pending::Merges {
                    node,
                    left: members.len(),
                    out,
                });
                Ok(())
            }
            _ => self.merge_map(node, out),
        }
    }

    fn merge_map(&mut self, node: usize, out: usize) -> Result<(), Error> {
        let target = match &self.nodes[node] {
            Node::Alias { target, .. } => *target,
            _ => node,
        };
        match self.nodes[target] {
            Node::Mapping(_) => self.enter(node, Some(out)),
            _ => Err(Error::MergeValue),
        }
    }

    fn resume_merges(&mut self, node: usize, left: usize, out: usize) -> Result<(), Error> {
        let (Node::Sequence(members), Some(left)) = (&self.nodes[node], left.checked_sub(1)) else {
            return Ok(());
        };
        self.pending.push(Pending::Merges { node, left, out });
        self.merge_map(members[left], out)
    }

    /// Records all but the first of equal keys.
    fn record_repeated_keys(&mut self, out: usize) {
        let (Some(_), Decoded::Map(entries)) = (self.lines, &self.values[out]) else {
            return;
        };
        let mut seen: HashSet<KeyIdentity<'_>> = HashSet::with_capacity(entries.len());
        for &(key, value) in entries {
            if !seen.insert(KeyIdentity::new(&self.values[key]))
                && let Some(&(time, line)) = self.put.get(&value)
            {
                self.repeated.push((time, line, key));
            }
        }
    }

    /// Keeps the last of equal keys.
    fn finish_map(&mut self, out: usize) {
        self.record_repeated_keys(out);
        let Decoded::Map(entries) = &mut self.values[out] else {
            return;
        };
        let mut entries = std::mem::take(entries);
        let mut seen: HashSet<KeyIdentity<'_>> = HashSet::with_capacity(entries.len());
        let mut kept: Vec<(usize, usize)> = Vec::with_capacity(entries.len());
        while let Some(entry) = entries.pop() {
            if seen.insert(KeyIdentity::new(&self.values[entry.0])) {
                kept.push(entry);
            }
        }
        kept.reverse();
        self.values[out] = Decoded::Map(kept);
    }
}

/// The identity of a key in Go.
#[derive(PartialEq, Eq, Hash)]
enum KeyIdentity<'k> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(u64),
    Text(&'k str),
}

impl<'k> KeyIdentity<'k> {
    fn new(key: &'k Decoded<'_>) -> Self {
        let Decoded::Scalar(resolved, text) = key else {
            return Self::Null;
        };
        match *resolved {
            Resolved::Null => Self::Null,
            Resolved::Bool(value) => Self::Bool(value),
            Resolved::Int(value) => Self::Int(value),
            Resolved::Uint(value) => Self::Uint(value),
            // Both zeros are equal in Go.
            Resolved::Float(value) => Self::Float((value + 0.0).to_bits()),
            Resolved::Timestamp | Resolved::Text => Self::Text(text),
        }
    }
}

fn decode_scalar<'a>(scalar: &Scalar<'a>) -> Result<Decoded<'a>, Error> {
    let text = scalar.text.clone();
    let resolved = match scalar.tag.as_deref() {
        None if scalar.implicit => resolve(&text),
        None => Resolved::Text,
        Some(tag) => match tag.strip_prefix(TAG_PREFIX.as_bytes()) {
            Some(b"binary") => {
                let bytes = base64::decode(text.as_bytes()).map_err(|_| Error::Base64)?;
                let text = crate::text::from_go_bytes(&bytes).into_owned();
                return Ok(Decoded::Scalar(Resolved::Text, Cow::Owned(text)));
            }
            Some(name) => resolve_as(std::str::from_utf8(name).unwrap_or(""), &text)?,
            None => Resolved::Text,
        },
    };
    Ok(Decoded::Scalar(resolved, text))
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// `allowedAliasRatio`: from 99% in small documents down to 10% in large ones.
fn allowed_alias_ratio(decoded: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match decoded {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ratio(decoded - LOW, HIGH - LOW),
    }
}
