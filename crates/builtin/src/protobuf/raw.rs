//! JSON text inside protobuf: field sets of managers, default values of schemas, data of controllers.
//!
//! It is weighed before it is read, since a few bytes of text can make a large value.

use serde_json::Value;

use super::error::Fault;
use super::tree::Budget;

/// Reads text that will stand at a depth of the whole object.
pub(super) fn parse(text: &[u8], depth: usize, budget: &mut Budget) -> Result<Value, Fault> {
    weigh(text, depth, budget)?;
    serde_json::from_slice(text).map_err(|_| Fault::Json)
}

/// Counts what opens or separates values. Whether the text is valid does not matter here.
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
                depth += 1;
            }
            b'[' => {
                Budget::level(depth)?;
                depth += 1;
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
    fn text_that_nests_too_deeply_or_is_no_json_is_refused() {
        assert_eq!(check(r#"{"a,{[\"":[1]}"#).unwrap()["a,{[\""][0], 1);
        assert_eq!(check("{").unwrap_err(), Fault::Json);
        assert_eq!(check("").unwrap_err(), Fault::Json);
        assert_eq!(check(&"[".repeat(200)).unwrap_err(), Fault::TooDeep);
        assert_eq!(check(&"{}".repeat(200_000)).unwrap_err(), Fault::TooLarge);
    }
}
