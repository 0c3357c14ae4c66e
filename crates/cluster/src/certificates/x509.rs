//! Reads the subject and the end of the validity of an X.509 certificate (RFC 5280). Signatures are not checked.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
/// `id-at-commonName`, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// It is not a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not an X.509 certificate")]
pub struct Malformed;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The common name; empty if there is none.
    pub(super) subject: String,
    pub(super) not_after: Timestamp,
}

/// Parses a certificate in DER.
pub(super) fn parse(der: &[u8]) -> Result<Parsed, Malformed> {
    let mut certificate = Reader(Reader(der).expect(SEQUENCE)?);
    let mut fields = Reader(certificate.expect(SEQUENCE)?);
    let (tag, _) = fields.next()?;
    // The serial number follows the version, which the first ones do not have.
    if tag == VERSION {
        fields.expect(INTEGER)?;
    } else if tag != INTEGER {
        return Err(Malformed);
    }
    // Algorithm and issuer.
    fields.expect(SEQUENCE)?;
    fields.expect(SEQUENCE)?;
    let mut validity = Reader(fields.expect(SEQUENCE)?);
    validity.next()?;
    let (tag, time) = validity.next()?;
    Ok(Parsed {
        not_after: parse_time(tag, time)?,
        subject: common_name(fields.expect(SEQUENCE)?)?,
    })
}

fn common_name(name: &[u8]) -> Result<String, Malformed> {
    let mut sets = Reader(name);
    while !sets.0.is_empty() {
        let mut attributes = Reader(sets.expect(SET)?);
        while !attributes.0.is_empty() {
            let mut attribute = Reader(attributes.expect(SEQUENCE)?);
            let kind = attribute.expect(OID)?;
            let (_, value) = attribute.next()?;
            if kind == COMMON_NAME {
                return Ok(String::from_utf8_lossy(value).into_owned());
            }
        }
    }
    Ok(String::new())
}

/// `YYMMDDHHMMSSZ`, of 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
fn parse_time(tag: u8, text: &[u8]) -> Result<Timestamp, Malformed> {
    let text = std::str::from_utf8(text).map_err(|_| Malformed)?;
    let text = match tag {
        UTC_TIME if text < "5" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return Err(Malformed),
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", &text).map_err(|_| Malformed)?;
    let time = time.to_zoned(TimeZone::UTC).map_err(|_| Malformed)?;
    Ok(time.timestamp())
}

/// The elements of an element.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The tag and the content of the next element.
    fn next(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let (tag, rest) = self.0.split_first().ok_or(Malformed)?;
        let (first, rest) = rest.split_first().ok_or(Malformed)?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            // The length has its own length. Three bytes are more than any certificate.
            0x81..=0x83 => {
                let (length, rest) = rest
                    .split_at_checked(usize::from(first & 0x7f))
                    .ok_or(Malformed)?;
                let length = length
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                (length, rest)
            }
            _ => return Err(Malformed),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    /// The content of the next element, which has this tag.
    fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.next()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Malformed),
        }
    }
}
