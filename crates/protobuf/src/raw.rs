//! JSON inside protobuf: `fieldsV1`, defaults of schemas, data of `ControllerRevisions`.
//!
//! Its size is estimated before it is parsed, since few bytes of text can become a large value.

use serde_json::Value;

use crate::error::Fault;
use crate::tree::Budget;

/// Parses text at a nesting depth of the object.
pub(crate) fn parse(text: &[u8], depth: usize, budget: &mut Budget) -> Result<Value, Fault> {
    weigh(text, depth, budget)?;
    serde_json::from_slice(text).map_err(|_| Fault::Json)
}

/// Counts brackets and separators, without validating the text.
fn weigh(text: &[u8], depth: usize, budget: &mut Budget) -> Result<(), Fault> {
    let mut depth = depth;
    let mut bytes = text.iter();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            _ if in_string => {}
            b'{' => {
                budget.object(depth)?;
                depth = depth.saturating_add(1);
            }
            b'[' => {
                Budget::level(depth)?;
                depth = depth.saturating_add(1);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => budget.member()?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Value, Fault> {
        parse(text.as_bytes(), 3, &mut Budget::new())
    }

    #[test]
    fn rejects_deep_nesting_and_invalid_json() {
        assert_eq!(check(r#"{"a,{[\"":[1]}"#).unwrap()["a,{[\""][0], 1);
        assert_eq!(check("{").unwrap_err(), Fault::Json);
        assert_eq!(check("").unwrap_err(), Fault::Json);
        assert_eq!(check(&"[".repeat(200)).unwrap_err(), Fault::TooDeep);
        assert_eq!(check(&"{}".repeat(200_000)).unwrap_err(), Fault::TooLarge);
    }
}
