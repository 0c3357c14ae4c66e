//! Query parameters.

use std::borrow::Cow;

use outrigger_apimachinery::status::Status;
use outrigger_gostd::time::Duration;

/// How many pairs are parsed at most.
const MAX_PAIRS: usize = 256;

/// Decoded pairs in the order of the request. Empty pairs are skipped.
#[derive(Debug, Default)]
pub(crate) struct Query<'q> {
    pairs: Vec<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'q> Query<'q> {
    pub(crate) fn parse(text: &'q str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.take(MAX_PAIRS).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self {
            pairs: pairs.collect(),
        }
    }

    /// The first value of a parameter; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(key, _)| key == name)
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| &**value)
    }

    /// A boolean as apimachinery converts it: everything but `false` and `0` is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        let value = self.all(name).next()?;
        Some(!matches!(
            value.to_ascii_lowercase().as_str(),
            "false" | "0"
        ))
    }

    /// Rejects a `timeout` that is not a duration. Requests that take long have other limits.
    pub(crate) fn check_timeout(&self) -> Result<(), Status> {
        let timeout = self.text("timeout");
        if timeout.is_empty() {
            return Ok(());
        }
        match Duration::parse(timeout.as_bytes()) {
            Ok(_) => Ok(()),
            Err(why) => Err(Status::bad_request(format!(
                "invalid timeout specified in the request URL - {why}"
            ))),
        }
    }

    /// An integer, or the real server's error.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(value) = self.all(name).next() else {
            return Ok(None);
        };
        match value.parse() {
            Ok(number) => Ok(Some(number)),
            Err(error) => {
                let quoted = outrigger_apimachinery::status::field::quote(value);
                let why = match error.kind() {
                    std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                        "value out of range"
                    }
                    _ => "invalid syntax",
                };
                let message = format!("strconv.ParseInt: parsing {quoted}: {why}");
                Err(Status::bad_request(message))
            }
        }
    }
}

/// Decodes `%` and `+`. Invalid escapes are kept.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('+', " ");
    Cow::Owned(percent_decoded(&text).into_owned())
}

/// Decodes percent-encoding. Invalid escapes are kept.
pub(super) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        match after.split_first_chunk() {
            Some((digits, after))
                if *first == b'%'
                    && let Some(byte) = hex_byte(*digits) =>
            {
                decoded.push(byte);
                rest = after;
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

fn hex_byte(digits: [u8; 2]) -> Option<u8> {
    let digits = std::str::from_utf8(&digits).ok()?;
    u8::from_str_radix(digits, 16).ok()
}
