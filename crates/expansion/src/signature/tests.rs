//! Signatures that count, and each way in which one does not.

use super::*;

const ROOT: &[u8] = b"{\"name\": \"demo\"}";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-06-01T00:00:00Z")
}

fn key() -> PrivateKey {
    PrivateKey::generate().unwrap()
}

fn signed(existing: Option<&str>, key: &PrivateKey, expires: Option<&str>) -> String {
    sign(existing.map(str::as_bytes), ROOT, key, expires.map(at)).unwrap()
}

#[track_caller]
fn refusal(document: &str, root: &[u8], trusted: &[PublicKey]) -> Error {
    verify(Some(document.as_bytes()), root, trusted, now()).unwrap_err()
}

#[test]
fn a_signature_of_a_trusted_key_counts_until_it_expires() {
    let (one, two) = (key(), key());
    let document = signed(None, &one, Some("2026-06-01T00:00:01Z"));
    let trusted = [two.public(), one.public()];
    let verified = verify(Some(document.as_bytes()), ROOT, &trusted, now()).unwrap();
    assert_eq!(verified[0].key, one.public().id());
    assert_eq!(verified[0].expires.as_deref(), Some("2026-06-01T00:00:01Z"));
    let expired = signed(None, &one, Some("2026-06-01T00:00:00Z"));
    assert!(matches!(
        refusal(&expired, ROOT, &trusted),
        Error::Expired { .. }
    ));
}

#[test]
fn each_reason_not_to_trust_a_package_is_an_error_of_its_own() {
    let (one, two) = (key(), key());
    let document = signed(None, &one, None);
    let trusted = [one.public()];
    let unsigned = verify(None, ROOT, &trusted, now()).unwrap_err();
    assert!(matches!(unsigned, Error::Unsigned));
    let unknown = refusal(&document, ROOT, &[two.public()]);
    let expected = format!(
        "the package is signed by unknown keys only: {}",
        one.public().id()
    );
    assert_eq!(unknown.to_string(), expected);
    assert!(matches!(
        refusal(&document, b"{}", &trusted),
        Error::OtherDocument { .. }
    ));
    let forged = document.replace(&one.public().id(), &two.public().id());
    assert!(matches!(
        refusal(&forged, ROOT, &[two.public()]),
        Error::Invalid { .. }
    ));
    assert!(matches!(refusal("{", ROOT, &trusted), Error::Document(_)));
    let empty = "{\"formatVersion\": 1, \"envelopes\": []}";
    assert!(matches!(refusal(empty, ROOT, &trusted), Error::Unsigned));
}

/// The time until which a signature counts is part of what is signed.
#[test]
fn a_statement_cannot_be_changed() {
    let one = key();
    let document = signed(None, &one, Some("2026-01-01T00:00:00Z"));
    let mut parsed = parse(document.as_bytes()).unwrap();
    let statement = Statement {
        root: Digest::of(ROOT),
        expires: None,
    };
    parsed.envelopes[0].payload = STANDARD.encode(serde_json::to_vec(&statement).unwrap());
    let changed = text(&parsed);
    assert!(matches!(
        refusal(&changed, ROOT, &[one.public()]),
        Error::Invalid { .. }
    ));
}

#[test]
fn keys_sign_beside_each_other_and_the_same_key_once() {
    let (one, two) = (key(), key());
    let both = signed(Some(&signed(None, &one, None)), &two, None);
    assert_eq!(both, signed(Some(&signed(None, &two, None)), &one, None));
    for key in [&one, &two] {
        let trusted = [key.public()];
        assert!(verify(Some(both.as_bytes()), ROOT, &trusted, now()).is_ok());
    }
    assert_eq!(signed(Some(&both), &one, None), both);
    // A signature that expired does not harm another one.
    let both = signed(Some(&both), &one, Some("2026-01-01T00:00:00Z"));
    let trusted = [one.public(), two.public()];
    let verified = verify(Some(both.as_bytes()), ROOT, &trusted, now()).unwrap();
    assert_eq!(verified.len(), 1);
}
