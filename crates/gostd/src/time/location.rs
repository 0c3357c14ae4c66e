//! `time.Location`, with the time zone database that is compiled into the binary.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// `time.Location`
#[derive(Debug, Clone)]
pub enum Location {
    Utc,
    /// A location of the database. `time.Local` has the name `Local`.
    Named {
        name: Arc<str>,
        rules: TimeZone,
    },
    /// `time.FixedLocation`, which a parsed offset or abbreviation results in; the name may be empty.
    Fixed {
        name: Arc<str>,
        offset: i64,
    },
}

impl Location {
    /// `time.Local`, with the rules of the zone `name`; UTC if it does not exist.
    pub fn local(name: &str) -> Self {
        match Self::by_name(name) {
            Some(Self::Named { rules, .. }) => Self::Named {
                name: "Local".into(),
                rules,
            },
            _ => Self::Named {
                name: "Local".into(),
                rules: TimeZone::UTC,
            },
        }
    }

    /// `time.LoadLocation`; `local` is the name of the zone that `Local` refers to.
    pub fn load(name: &str, local: &str) -> Option<Self> {
        match name {
            "Local" => Some(Self::local(local)),
            name => Self::by_name(name),
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        if name.is_empty() || name == "UTC" {
            return Some(Self::Utc);
        }
        let rules = TimeZoneDatabase::bundled().get(name).ok()?;
        // Go opens the file of this name, so the case must match.
        if rules.iana_name() != Some(name) {
            return None;
        }
        Some(Self::Named {
            name: name.into(),
            rules,
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Utc => "UTC",
            Self::Named { name, .. } | Self::Fixed { name, .. } => name,
        }
    }

    /// The offset in seconds east of UTC, and the abbreviation, at `seconds` since 1970.
    pub fn lookup(&self, seconds: i64) -> (i64, String) {
        match self {
            Self::Utc => (0, "UTC".to_owned()),
            Self::Fixed { name, offset } => (*offset, name.to_string()),
            Self::Named { rules, .. } => {
                let clamped = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
                let timestamp = Timestamp::from_second(clamped).unwrap_or_default();
                let info = rules.to_offset_info(timestamp);
                (
                    i64::from(info.offset().seconds()),
                    info.abbreviation().to_owned(),
                )
            }
        }
    }

    /// `Location.lookupName`: the offset of an abbreviation such as `EST` near a time.
    pub fn lookup_name(&self, abbreviation: &str, seconds: i64) -> Option<i64> {
        let (offset, name) = self.lookup(seconds);
        if name == abbreviation {
            return Some(offset);
        }
        // Half a year earlier or later the other abbreviation of daylight saving time applies.
        let half_year = 182 * 86_400;
        [seconds - half_year, seconds + half_year]
            .into_iter()
            .map(|seconds| self.lookup(seconds))
            .find(|(_, name)| name == abbreviation)
            .map(|(offset, _)| offset)
    }
}
