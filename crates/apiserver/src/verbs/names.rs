//! Generated names and uids.

use outrigger_apimachinery::status::Status;

/// The alphabet of Kubernetes' `rand.String`: without vowels, so that no words appear.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// The longest name that `generateName` produces.
const MAX_NAME_LENGTH: usize = 63;

/// The operating system has no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("failed to read random bytes")]
pub(crate) struct RandomError(#[source] getrandom::Error);

impl From<RandomError> for Status {
    fn from(error: RandomError) -> Self {
        Self::internal(error)
    }
}

/// Five random characters.
pub(crate) fn random_suffix() -> Result<String, RandomError> {
    let bytes = random_bytes::<SUFFIX_LENGTH>(getrandom::fill)?;
    let characters = bytes
        .iter()
        .filter_map(|byte| ALPHABET.iter().cycle().nth(usize::from(*byte)))
        .map(|letter| char::from(*letter));
    Ok(characters.collect())
}

/// A name for an object with `generateName`.
pub(super) fn generate(prefix: &str) -> Result<String, RandomError> {
    let end = prefix.floor_char_boundary(MAX_NAME_LENGTH - SUFFIX_LENGTH);
    Ok(format!("{}{}", &prefix[..end], random_suffix()?))
}

/// A random UUID (RFC 9562, version 4).
pub(crate) fn random_uid() -> Result<String, RandomError> {
    let mut bytes = random_bytes::<16>(getrandom::fill)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    Ok(parts.join("-"))
}

fn random_bytes<const N: usize>(
    fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>,
) -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    fill(&mut bytes).map_err(RandomError)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_the_prefix_of_a_generated_name() {
        assert_eq!(generate("web-").unwrap().len(), 9);
        assert_eq!(generate(&"x".repeat(100)).unwrap().len(), MAX_NAME_LENGTH);
    }

    #[test]
    fn generates_distinct_version_4_uuids() {
        let uid = random_uid().unwrap();
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert_ne!(uid, random_uid().unwrap());
    }

    #[test]
    fn returns_an_internal_error_if_the_random_source_fails() {
        let failing = |_: &mut [u8]| Err(getrandom::Error::UNSUPPORTED);
        let error = random_bytes::<16>(failing).unwrap_err();
        assert_eq!(Status::from(error).code(), 500);
    }
}
