//! `semver` and `semverCompare`, and the methods of `*semver.Version`.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use outrigger_gostd::semver::{Constraint, Edition, Version};

use super::args::text;
use super::{CallResult, edition, fixed};
use crate::function::{Call, CallError, Function, Signature, Ty};
use crate::value::memory::Charge;
use crate::value::{Element, Json, Kind, List, Object, StructField, Value};

const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("semver", &[STR], Ty::Named("*semver.Version"), semver),
    fixed("semverCompare", &[STR, STR], Ty::Bool, semver_compare),
];

fn semver(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let edition = edition(call);
    let version = Version::parse_in(&text(args, 0), edition)
        .map_err(|error| CallError::returned(error.message(edition)))?;
    Ok(VersionObject::pointer(version, edition))
}

fn semver_compare(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let edition = edition(call);
    let constraint = Constraint::parse_in(&text(args, 0), edition)
        .map_err(|error| CallError::returned(error.to_string()))?;
    let version = Version::parse_in(&text(args, 1), edition)
        .map_err(|error| CallError::returned(error.message(edition)))?;
    Ok(Value::Bool(constraint.check(&version)))
}

/// `*semver.Version` or `semver.Version`.
#[derive(Debug)]
struct VersionObject {
    version: Version,
    edition: Edition,
    /// Increments return a struct, which lacks the methods of the pointer.
    is_pointer: bool,
    _memory: Charge,
}

impl VersionObject {
    fn pointer(version: Version, edition: Edition) -> Value {
        Value::Object(Rc::new(Self {
            _memory: Charge::new(size_of::<Self>() + version.original().len()),
            version,
            edition,
            is_pointer: true,
        }))
    }

    fn plain(&self, version: Version) -> Value {
        Value::Object(Rc::new(Self {
            _memory: Charge::new(size_of::<Self>() + version.original().len()),
            version,
            edition: self.edition,
            is_pointer: false,
        }))
    }

    fn incremented(&self, next: Option<Version>, part: &str) -> CallResult {
        next.map(|version| self.plain(version)).ok_or_else(|| {
            CallError::returned(format!("{part} version increment would overflow uint64"))
        })
    }

    fn compare(&self, name: &str, args: &[Value]) -> CallResult {
        let [Value::Object(other)] = args else {
            return Err(CallError::NoSuchMethod);
        };
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            return Err(CallError::NoSuchMethod);
        };
        let order = self.version.compare(&other.version);
        Ok(match name {
            "Compare" => Value::Int(order as i64),
            "Equal" => Value::Bool(order == Ordering::Equal),
            "LessThan" => Value::Bool(order == Ordering::Less),
            "LessThanEqual" => Value::Bool(order != Ordering::Greater),
            "GreaterThan" => Value::Bool(order == Ordering::Greater),
            _ => Value::Bool(order != Ordering::Less),
        })
    }

    fn changed(&self, name: &str, args: &[Value]) -> CallResult {
        let [Value::Str(part)] = args else {
            return Err(CallError::NoSuchMethod);
        };
        let part = part.to_text();
        let next = if name == "SetPrerelease" {
            self.version.with_prerelease(&part, self.edition)
        } else {
            self.version.with_metadata(&part, self.edition)
        };
        next.map(|version| self.plain(version))
            .map_err(|error| CallError::returned(error.message(self.edition)))
    }
}

const POINTER_METHODS: [&str; 6] = [
    "Compare",
    "Equal",
    "LessThan",
    "LessThanEqual",
    "GreaterThan",
    "GreaterThanEqual",
];
const VALUE_METHODS: [&str; 2] = ["SetPrerelease", "SetMetadata"];

impl Object for VersionObject {
    fn type_name(&self) -> &'static str {
        if self.is_pointer {
            "*semver.Version"
        } else {
            "semver.Version"
        }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer {
            Kind::Ptr
        } else {
            Kind::Struct
        }
    }

    fn field(&self, name: &str) -> Option<Value> {
        let version = &self.version;
        Some(match name {
            "Major" => Value::Uint64(version.major),
            "Minor" => Value::Uint64(version.minor),
            "Patch" => Value::Uint64(version.patch),
            "Prerelease" => Value::str(version.prerelease()),
            "Metadata" => Value::str(version.metadata()),
            "String" | "Value" => Value::str(version.to_string()),
            "Original" if self.is_pointer => Value::str(version.original()),
            "IncMajor" | "IncMinor" | "IncPatch" => self.call_method(name, &[]).ok()?,
            "MarshalText" => byte_list(version.to_string().as_bytes()),
            "MarshalJSON" => byte_list(format!("\"{version}\"").as_bytes()),
            _ => return None,
        })
    }

    fn struct_fields(&self) -> Option<Vec<StructField>> {
        let version = &self.version;
        let number = |name, number| StructField::new(name, Json::Unexported, Value::Uint64(number));
        let text = |name, text: &str| StructField::new(name, Json::Unexported, Value::str(text));
        Some(vec![
            number("major", version.major),
            number("minor", version.minor),
            number("patch", version.patch),
            text("pre", version.prerelease()),
            text("metadata", version.metadata()),
            text("original", version.original()),
        ])
    }

    fn formats_itself(&self) -> bool {
        true
    }

    fn has_method(&self, name: &str) -> bool {
        name.starts_with("Inc")
            || VALUE_METHODS.contains(&name)
            || (self.is_pointer && POINTER_METHODS.contains(&name))
    }

    fn signature(&self, name: &str) -> Option<Signature> {
        let params: &[Ty] = match name {
            name if name.starts_with("Inc") => &[],
            name if VALUE_METHODS.contains(&name) => &[STR],
            _ => &[Ty::Named("*semver.Version")],
        };
        Some(Signature {
            params,
            variadic: false,
        })
    }

    fn call_method(&self, name: &str, args: &[Value]) -> CallResult {
        match name {
            "IncMajor" => self.incremented(self.version.inc_major(), "major"),
            "IncMinor" => self.incremented(self.version.inc_minor(), "minor"),
            "IncPatch" => self.incremented(self.version.inc_patch(), "patch"),
            name if VALUE_METHODS.contains(&name) => self.changed(name, args),
            name if self.is_pointer && POINTER_METHODS.contains(&name) => self.compare(name, args),
            _ => Err(CallError::NoSuchMethod),
        }
    }

    fn to_plain(&self) -> Value {
        Value::str(self.version.to_string())
    }

    fn display(&self) -> String {
        self.version.to_string()
    }

    fn deep_equals(&self, other: &dyn Object) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| self.version == other.version)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn byte_list(bytes: &[u8]) -> Value {
    let items = bytes.iter().map(|byte| Value::Uint8(*byte)).collect();
    Value::List(List::new(Element::Byte, items))
}
