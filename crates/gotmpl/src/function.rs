//! How a function is declared: its Go signature, which the executor checks before the call, and its body.
//!
//! A body is a plain function over values whose types were already checked against the signature, so it never
//! checks arity or types again. What a body needs from outside (time, randomness, a cluster) is in [`Host`].

mod still_host;

use crate::value::Value;

pub use still_host::StillHost;

/// A Go parameter or result type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// `interface {}`
    Any,
    Bool,
    Int,
    Int64,
    Float64,
    String,
    /// `map[string]interface {}`
    Map,
    /// `[]interface {}`
    List,
    /// `[]string`
    Strings,
    /// `reflect.Value`: the builtins that look at the raw argument.
    Reflect,
    /// Any other Go type, by the name that `%T` prints, such as `time.Time`.
    Named(&'static str),
}

impl Ty {
    /// The type as `%T` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::String => "string",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Strings => "[]string",
            Self::Reflect => "reflect.Value",
            Self::Named(name) => name,
        }
    }
}

/// The parameters of a method.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    pub params: &'static [Ty],
    pub variadic: bool,
}

/// One function that templates can call.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub name: &'static str,
    /// Declared parameters; if `variadic`, the last one is the element type of the rest.
    pub params: &'static [Ty],
    pub variadic: bool,
    pub result: Ty,
    pub body: Body,
}

/// What runs when a function is called: `args` agree with the signature.
pub type Body = fn(&mut Call<'_>, &[Value]) -> Result<Value, CallError>;

/// What a body may use besides its arguments.
#[derive(Debug)]
pub struct Call<'a> {
    pub host: &'a dyn Host,
    pub dialect: &'a Dialect,
}

/// Which Go and which Helm a template believes to run under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// `range 5` works (Go 1.24 and later).
    pub range_over_int: bool,
    /// `mustToYaml`, `mustToToml` and the failing `mustToJson` exist (Helm 4).
    pub must_to_functions: bool,
}

impl Dialect {
    /// Helm 3.17, built with Go 1.23.
    pub const HELM_3: Self = Self {
        range_over_int: false,
        must_to_functions: false,
    };
    /// Helm 4.2, built with Go 1.26.
    pub const HELM_4: Self = Self {
        range_over_int: true,
        must_to_functions: true,
    };
}

/// The world outside a template.
pub trait Host: std::fmt::Debug {
    /// Now, in nanoseconds since 1970 UTC.
    fn now(&self) -> i128;
    /// The time zone that `date` and `toDate` use, by its IANA name; Go takes it from `TZ`.
    #[expect(clippy::unnecessary_literal_bound, reason = "a host may own the name")]
    fn local_zone(&self) -> &str {
        "UTC"
    }
    fn fill_random(&self, bytes: &mut [u8]);
    /// `lookup APIVERSION KIND NAMESPACE NAME`; without a cluster the answer is an empty map.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, CallError>;
    /// `getHostByName`; empty unless the user allowed DNS.
    fn host_by_name(&self, name: &str) -> String;
    /// A private RSA key of so many bits, PKCS#1 DER. A host may have made it ahead of time.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError>;
    /// Whether the run has taken too long or is no longer wanted. Asked every few thousand steps.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Why a call failed. The executor adds the function's name and the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The function returned a Go error: `error calling NAME: MESSAGE`.
    #[error("{0}")]
    Returned(String),
    /// `fail` and `required`: the message stands alone as `execution error at (FILE:L:C): MESSAGE`.
    #[error("{0}")]
    Failed(String),
    #[error("no such method")]
    NoSuchMethod,
}

impl CallError {
    pub fn returned(message: impl Into<String>) -> Self {
        Self::Returned(message.into())
    }
}
