//! How a function is declared: its Go signature, which the executor checks before the call, and its body.
//!
//! A body is a plain function over values whose types were already checked against the signature, so it never
//! checks arity or types again. What a body needs from outside (time, randomness, a cluster) is in [`Host`].

use crate::value::Value;

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

/// The world outside a template.
pub trait Host: std::fmt::Debug {
    /// Now, in nanoseconds since 1970 UTC.
    fn now(&self) -> i128;
    /// The time zone that `date` and `toDate` use, by its IANA name; Go takes it from `TZ`.
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
