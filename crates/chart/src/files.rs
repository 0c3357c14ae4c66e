//! `.Files`: the non-template files of a chart, with `Get`, `GetBytes`, `Glob`, `Lines`, `AsConfig` and `AsSecrets`.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;

use outrigger_gostd::base64;
use outrigger_gotmpl::Data;
use outrigger_gotmpl::fmt::display_text;
use outrigger_gotmpl::function::{CallError, Signature, Ty};
use outrigger_gotmpl::value::memory::{self, Charge};
use outrigger_gotmpl::value::{Contents, Element, Kind, List, Map, MapType, Object, Str, Value};

use crate::chart::File;
use crate::glob::{Glob, MAX_LENGTH, MAX_STEPS};
use crate::yaml;
use outrigger_gostd::path;

/// Go's `engine.files`, a map from name to bytes.
#[derive(Debug)]
pub(crate) struct FilesObject {
    files: BTreeMap<String, Data>,
    /// The maximum memory of all values.
    memory_bytes: usize,
    _memory: Charge,
}

impl FilesObject {
    pub(crate) fn new(files: &[File], memory_bytes: usize) -> Self {
        let files = files
            .iter()
            .map(|file| (file.name.clone(), file.data.clone()));
        Self::of(files.collect(), memory_bytes)
    }

    fn of(files: BTreeMap<String, Data>, memory_bytes: usize) -> Self {
        let names: usize = files.keys().map(String::len).sum();
        Self {
            _memory: Charge::new(names + files.len() * 2 * size_of::<(String, Data)>()),
            files,
            memory_bytes,
        }
    }

    /// Whether all files as lists of bytes would exceed the limit.
    fn is_too_large(&self) -> bool {
        let bytes: usize = self.files.values().map(|data| data.len()).sum();
        let bytes = bytes.saturating_mul(size_of::<Value>());
        !memory::fits(bytes, self.memory_bytes)
    }

    fn glob(&self, pattern: &str) -> Result<Self, CallError> {
        if pattern.len() > MAX_LENGTH {
            return Err(CallError::returned(format!(
                "exceeded maximum length of a pattern ({MAX_LENGTH} bytes)"
            )));
        }
        // A malformed pattern matches everything, as in Helm.
        let glob = Glob::new(pattern);
        let mut steps = MAX_STEPS;
        let mut matches = |name: &str| {
            let glob = glob.as_ref();
            glob.is_none_or(|glob| glob.matches(name, &mut steps))
        };
        let files = self
            .files
            .iter()
            .filter(|(name, _)| matches(name))
            .map(|(name, data)| (name.clone(), data.clone()))
            .collect();
        if steps == 0 {
            return Err(CallError::returned(format!(
                "exceeded maximum of {MAX_STEPS} steps to match a pattern"
            )));
        }
        Ok(Self::of(files, self.memory_bytes))
    }

    /// The YAML of a map from base names to encoded contents.
    fn as_yaml(&self, encode: impl Fn(&[u8]) -> Value) -> Value {
        let entries = self
            .files
            .iter()
            .map(|(name, data)| (Str::from(path::base(name)), encode(data)))
            .collect();
        let map = Map::from_entries(MapType::Strings, entries);
        Value::str(yaml::to_yaml(&Value::Map(map)))
    }

    fn lines(&self, name: &str) -> Result<Value, CallError> {
        let Some(data) = self.files.get(name) else {
            return Ok(Value::strings(Vec::<&str>::new()));
        };
        if data.is_empty() {
            return Err(CallError::returned(
                "runtime error: index out of range [-1]",
            ));
        }
        let data = data.strip_suffix(b"\n").unwrap_or(data);
        Ok(Value::strings(data.split(|&b| b == b'\n')))
    }
}

impl Object for FilesObject {
    fn type_name(&self) -> &'static str {
        "engine.files"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "AsConfig" => Some(self.as_yaml(|data| Value::str(data))),
            "AsSecrets" => Some(self.as_yaml(|data| Value::str(base64::encode(data)))),
            // A file whose name is an identifier.
            name => self.files.get(name).map(|data| bytes(data)),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "Get" | "GetBytes" | "Glob" | "Lines")
    }

    fn signature(&self, name: &str) -> Option<Signature> {
        one_string(name, &["Get", "GetBytes", "Glob", "Lines"])
    }

    fn call_method(&self, name: &str, args: &[Value]) -> Result<Value, CallError> {
        let [Value::Str(argument)] = args else {
            return Err(CallError::NoSuchMethod);
        };
        let argument = argument.to_text();
        let data = self.files.get(argument.as_ref());
        match name {
            "Get" => Ok(Value::str(data.map_or(&[][..], |data| data.as_slice()))),
            "GetBytes" => Ok(bytes(data.map_or(&[][..], |data| data.as_slice()))),
            "Glob" => Ok(Value::Object(Rc::new(self.glob(&argument)?))),
            "Lines" => self.lines(&argument),
            _ => Err(CallError::NoSuchMethod),
        }
    }

    fn contents(&self) -> Contents {
        if self.is_too_large() {
            return Contents::None;
        }
        let entries = self
            .files
            .iter()
            .map(|(name, data)| (Str::from(name.as_str()), bytes(data)))
            .collect();
        Contents::Map(Map::from_entries(MapType::Any, entries))
    }

    fn to_plain(&self) -> Value {
        let entries = self
            .files
            .iter()
            .map(|(name, data)| (Str::from(name.as_str()), Value::str(base64::encode(data))))
            .collect();
        Value::Map(Map::from_entries(MapType::Strings, entries))
    }

    fn display(&self) -> String {
        match self.contents() {
            Contents::Map(map) => display_text(&Value::Map(map)),
            Contents::None | Contents::List(_) => String::new(),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The signature of methods with one string parameter.
pub(crate) fn one_string(name: &str, methods: &[&str]) -> Option<Signature> {
    methods.contains(&name).then_some(Signature {
        params: &[Ty::String],
        variadic: false,
    })
}

fn bytes(data: &[u8]) -> Value {
    let items = data.iter().map(|&b| Value::Uint8(b)).collect();
    Value::List(List::new(Element::Byte, items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_too_long_or_take_too_long_are_errors() {
        let name = "a".repeat(5000);
        let files = FilesObject::new(&[File::new(name, "text")], usize::MAX);
        let error = |pattern: &str| files.glob(pattern).unwrap_err().to_string();
        assert_eq!(
            error(&"?".repeat(100_000)),
            "exceeded maximum length of a pattern (1024 bytes)"
        );
        for pattern in ["*a".repeat(40) + "b", "{a,}".repeat(200) + "b"] {
            assert_eq!(
                error(&pattern),
                "exceeded maximum of 20000000 steps to match a pattern"
            );
        }
    }

    #[test]
    fn files_that_would_exceed_the_memory_limit_are_not_listed() {
        let file = File::new("a", vec![b'x'; 1000]);
        let files = |memory| FilesObject::new(std::slice::from_ref(&file), memory);
        assert!(matches!(files(1 << 20).contents(), Contents::Map(_)));
        assert!(matches!(files(1 << 10).contents(), Contents::None));
    }
}
