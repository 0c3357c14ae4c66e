//! Compares the decoding of request bodies with recorded responses.

use outrigger_apimachinery::GroupVersion;
use outrigger_structural::go_types;
use outrigger_structural::schema::{DecodeError, Schema, builtin, coerce, strict};
use serde_json::Value;

#[test]
fn decoding_matches_the_recording() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
    let read = |name: &str| fs_err::read_to_string(format!("{folder}{name}")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&read("decode.json")).unwrap();
    let schemas: Value = serde_json::from_str(&read("schemas.json")).unwrap();
    let custom = Schema::structural(&schemas["Widget"]["example.com/v1"]).unwrap();
    for case in &cases {
        let (code, raw) = (
            case["code"].as_u64().unwrap(),
            case["raw"].as_str().unwrap(),
        );
        let real = case["message"].as_str().unwrap_or_default();
        let is_about_type = real.contains("cannot unmarshal array into Go value of type struct")
            || real.contains("cannot unmarshal string into Go value of type struct");
        if code == 422 || is_about_type {
            continue;
        }
        let ours = match case["kind"].as_str().unwrap() {
            "Widget" => decode_custom(raw, &custom),
            kind => decode_built_in(raw, case["apiVersion"].as_str().unwrap(), kind),
        };
        check(case, ours, real);
    }
}

type Decoded = Result<Vec<String>, DecodeError>;

fn decode_built_in(raw: &str, api_version: &str, kind: &str) -> Decoded {
    let schema = builtin::schema(api_version, kind).unwrap().root();
    let (mut value, strict_errors) = strict::parse_typed(raw.as_bytes(), schema)?;
    let id = go_types::of_kind(GroupVersion::parse(api_version), kind).unwrap();
    go_types::decode(id, &mut value)?;
    Ok(strict_errors)
}

fn decode_custom(raw: &str, schema: &Schema) -> Decoded {
    let (mut value, mut strict_errors) = strict::parse(raw.as_bytes())?;
    let unknown = coerce(&mut value, schema.root())?;
    strict_errors.extend(
        unknown
            .iter()
            .map(|field| format!("unknown field \"{field}\"")),
    );
    Ok(strict_errors)
}

fn check(case: &Value, ours: Decoded, real: &str) {
    let name = &case["raw"];
    match (ours, case["validation"].as_str()) {
        (Err(error), _) => assert!(
            real.contains(&error.to_string()),
            "{name}: {error} but {real}"
        ),
        (Ok(strict_errors), Some("Strict")) if !strict_errors.is_empty() => {
            let ours = format!("strict decoding error: {}", strict_errors.join(", "));
            assert!(real.ends_with(&ours), "{name}: {ours} but {real}");
        }
        (Ok(_), Some("Ignore")) => assert_eq!(case["code"], 201, "{name}"),
        (Ok(strict_errors), _) => {
            assert_eq!(case["code"], 201, "{name}: {real}");
            let warnings = case["warnings"].as_array().into_iter().flatten();
            let warnings: Vec<_> = warnings.filter_map(Value::as_str).collect();
            assert_eq!(strict_errors, warnings, "{name}");
        }
    }
}
