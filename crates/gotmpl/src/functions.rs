//! The functions of Sprig and Helm, each with its Go signature, in one table.
//!
//! Go's own builtins and the functions that need the template engine (`include`, `tpl`, `required`, `fail`,
//! `lookup` and those for YAML) are not here.

#![expect(clippy::unnecessary_wraps, reason = "all bodies have the type `Body`")]

mod args;
mod crypto;
mod dates;
mod defaults;
mod dicts;
mod encoding;
mod lists;
mod merge;
mod network;
mod numeric;
mod paths;
mod random;
mod reflection;
mod regex;
mod serialization;
mod strings;
mod toml;
mod urls;
mod versions;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::LazyLock;

use outrigger_gostd::semver::Edition;

use crate::function::{Body, Call, CallError, Function, Ty};
use crate::value::Value;

pub use crypto::rsa_key;
pub use reflection::deep_equal;

/// What a body returns.
type Outcome = Result<Value, CallError>;

/// No function makes a text longer than this, however large its arguments.
pub const MAX_TEXT: usize = 64 << 20;

/// No function makes a list longer than this.
pub const MAX_ITEMS: usize = MAX_TEXT / size_of::<Value>();

static TABLE: LazyLock<Vec<Function>> = LazyLock::new(|| {
    [
        crypto::FUNCTIONS,
        dates::FUNCTIONS,
        defaults::FUNCTIONS,
        dicts::FUNCTIONS,
        encoding::FUNCTIONS,
        lists::FUNCTIONS,
        network::FUNCTIONS,
        numeric::FUNCTIONS,
        paths::FUNCTIONS,
        random::FUNCTIONS,
        reflection::FUNCTIONS,
        regex::FUNCTIONS,
        serialization::FUNCTIONS,
        strings::FUNCTIONS,
        urls::FUNCTIONS,
        versions::FUNCTIONS,
    ]
    .concat()
});

/// Every function of this module. `mustToToml` is for Helm 4 only.
pub fn table() -> &'static [Function] {
    &TABLE
}

/// A function with a fixed number of arguments.
const fn fixed(name: &'static str, params: &'static [Ty], result: Ty, body: Body) -> Function {
    Function {
        name,
        params,
        variadic: false,
        result,
        body,
    }
}

/// A function whose last parameter may come any number of times.
const fn variadic(name: &'static str, params: &'static [Ty], result: Ty, body: Body) -> Function {
    Function {
        name,
        params,
        variadic: true,
        result,
        body,
    }
}

/// The error of a function whose result would be too large.
fn too_large() -> CallError {
    CallError::returned(format!("result is larger than {} MiB", MAX_TEXT >> 20))
}

/// The semver library of the Helm that the dialect stands for.
fn edition(call: &Call<'_>) -> Edition {
    if call.dialect.must_to_functions {
        Edition::V3_5
    } else {
        Edition::V3_3
    }
}
