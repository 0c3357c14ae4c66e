//! The functions of Sprig, and Helm's functions for JSON and TOML.
//!
//! The functions of text/template are in `builtins`, those of Helm that need the engine in `rendering` and `yaml`.

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

use crate::function::{Body, Call, CallError, CallResult, Function, Ty};
use crate::value::Value;

pub use crypto::rsa_key;
pub use reflection::deep_equal;

/// The maximum length of a string that a function returns.
pub const MAX_TEXT: usize = 64 << 20;

/// The maximum length of a list that a function returns.
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

/// All functions of this module. `mustToToml` exists in Helm 4 only.
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

/// A variadic function.
const fn variadic(name: &'static str, params: &'static [Ty], result: Ty, body: Body) -> Function {
    Function {
        name,
        params,
        variadic: true,
        result,
        body,
    }
}

/// The error for a result that exceeds a limit.
fn too_large() -> CallError {
    CallError::returned(format!(
        "exceeded maximum size of a value ({MAX_TEXT} bytes)"
    ))
}

/// The release of the semver library that the dialect's Helm uses.
fn edition(call: &Call<'_>) -> Edition {
    if call.dialect.must_to_functions {
        Edition::V3_5
    } else {
        Edition::V3_3
    }
}
