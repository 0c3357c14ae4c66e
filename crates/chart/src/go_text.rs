//! Values printed with Go's verbs.

use outrigger_gotmpl::fmt;
use outrigger_gotmpl::value::Value;

/// `%v`
pub(crate) fn display(value: &Value) -> String {
    String::from_utf8_lossy(&fmt::sprint(std::slice::from_ref(value))).into_owned()
}

/// `%t`, which for anything but a boolean says what it got instead.
pub(crate) fn not_bool(value: &Value) -> String {
    let text = fmt::sprintf(b"%t", std::slice::from_ref(value));
    String::from_utf8_lossy(&text).into_owned()
}
