//! Template functions: a Go signature and a body.
//!
//! The executor checks arguments against the signature before the call, so bodies check neither their number nor their
//! types. Bodies reach the outside (clock, randomness, a cluster) through [`Host`].

mod null_host;

use crate::exec::out_of_memory;
use crate::value::{Value, memory};

pub use null_host::NullHost;

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
    /// `reflect.Value`, which some built-in functions take.
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

/// The result of a function or method.
pub type CallResult = Result<Value, CallError>;

/// The implementation of a function. The arguments match its signature.
pub type Body = fn(&mut Call<'_>, &[Value]) -> CallResult;

/// The environment of a call.
#[derive(Debug)]
pub struct Call<'a> {
    pub host: &'a dyn Host,
    pub dialect: &'a Dialect,
    /// The maximum memory of all values.
    pub memory_bytes: usize,
}

impl Call<'_> {
    /// Fails unless `bytes` may be allocated. Functions whose result can be much larger than their arguments call this
    /// before they allocate.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), CallError> {
        if !memory::fits(bytes, self.memory_bytes) {
            return Err(CallError::Returned(out_of_memory(self.memory_bytes)));
        }
        Ok(())
    }

    /// [`Self::reserve`] for a list.
    pub(crate) fn reserve_items(&self, count: usize) -> Result<(), CallError> {
        self.reserve(count.saturating_mul(size_of::<Value>()))
    }

    /// Fails if the execution is to stop. Functions that may run for seconds call this in their loops.
    pub(crate) fn check_interrupt(&self) -> Result<(), CallError> {
        if self.host.interrupted() {
            return Err(CallError::returned(INTERRUPTED));
        }
        Ok(())
    }
}

/// The error of an execution that the host stopped.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The releases of Go and Helm whose behaviour applies.
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

/// What templates can reach outside: clock, randomness, cluster and DNS.
pub trait Host: std::fmt::Debug {
    /// The current time in nanoseconds since 1970 UTC.
    fn now(&self) -> i128;
    /// The IANA name of the local time zone, which Go takes from `TZ`.
    #[expect(clippy::unnecessary_literal_bound, reason = "a host may own the name")]
    fn local_zone(&self) -> &str {
        "UTC"
    }
    fn fill_random(&self, bytes: &mut [u8]);
    /// `lookup APIVERSION KIND NAMESPACE NAME`; an empty map without a cluster.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, CallError>;
    /// `getHostByName`; empty unless the user allowed DNS.
    fn host_by_name(&self, name: &str) -> String;
    /// An RSA private key as PKCS#1 DER. A host may generate keys in advance.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError>;
    /// Reports the message of `fail`, or of a `required` without a value, in lint mode, where neither fails.
    fn lint_message(&self, _text: &str) {}
    /// Whether to stop the execution. Called every few thousand steps.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Why a call failed. The executor adds the name of the function and the location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The function returned a Go error: `error calling NAME: MESSAGE`.
    #[error("{0}")]
    Returned(String),
    /// `fail` and `required`: Helm reports `execution error at (FILE:LINE:COLUMN): MESSAGE`.
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
