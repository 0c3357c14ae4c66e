//! Sizes in bytes, as users write and read them: `50Gi`, `12.3 MiB`.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(u64);

#[derive(Debug, thiserror::Error)]
#[error("not a size; use a number of bytes, or one with Ki, Mi, Gi or Ti")]
pub(crate) struct InvalidSize;

impl Size {
    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

impl From<u64> for Size {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let units = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)];
        let unit = units
            .iter()
            .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
        let (number, shift) = unit.unwrap_or((text, 0));
        let number: u64 = number.parse().map_err(|_| InvalidSize)?;
        number.checked_mul(1 << shift).map(Self).ok_or(InvalidSize)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tenths = self.0.saturating_mul(10);
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if tenths < 10_240 {
                return match unit {
                    "B" => write!(f, "{} B", self.0),
                    _ => write!(f, "{}.{} {unit}", tenths / 10, tenths % 10),
                };
            }
            tenths /= 1024;
        }
        write!(f, "{}.{} TiB", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_printed() {
        let bytes = |text: &str| text.parse::<Size>().ok().map(Size::bytes);
        assert_eq!(bytes("50Gi"), Some(50 << 30));
        assert_eq!(bytes("12"), Some(12));
        for text in ["", "Gi", "-1", "1.5Gi", "18446744073709551615Ki", "1GB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        let printed =
            [0, 1023, 1024, 1_500_000, 5 << 30].map(|bytes| Size::from(bytes).to_string());
        assert_eq!(printed, ["0 B", "1023 B", "1.0 KiB", "1.4 MiB", "5.0 GiB"]);
    }
}
