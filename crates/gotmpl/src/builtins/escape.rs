//! `html`, `js` and `urlquery`.

use std::borrow::Cow;

use outrigger_gostd::{template, url};

use crate::fmt;
use crate::function::{Call, CallResult};
use crate::value::Value;

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn html(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(template::html_escape(&text(args))))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn js(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(template::js_escape(&text(args))))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
pub(super) fn urlquery(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(url::query_escape(&text(args))))
}

/// `evalArgs`: the arguments as `print` formats them; a missing value is `<no value>`.
fn text(args: &[Value]) -> Cow<'_, [u8]> {
    if let [Value::Str(text)] = args {
        return Cow::Borrowed(text.as_bytes());
    }
    let shown = args.iter().map(|arg| match arg {
        Value::Nil => Value::str("<no value>"),
        other => other.clone(),
    });
    Cow::Owned(fmt::sprint(&shown.collect::<Vec<_>>()))
}
