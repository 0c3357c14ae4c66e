//! Time zones, from the database compiled into the program.

use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::function::Host;

#[derive(Debug, Clone)]
pub(super) enum Zone {
    Utc,
    /// A zone of the database; the local one is called `Local`.
    Named {
        name: Rc<str>,
        rules: TimeZone,
    },
    /// A fixed offset that a parsed date brought along; its name may be empty.
    Fixed {
        name: Rc<str>,
        offset: i64,
    },
}

impl Zone {
    pub(super) fn local(host: &dyn Host) -> Self {
        match Self::by_name(host.local_zone()) {
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

    /// Go's `time.LoadLocation`.
    pub(super) fn load(name: &str, host: &dyn Host) -> Option<Self> {
        match name {
            "Local" => Some(Self::local(host)),
            name => Self::by_name(name),
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        if name.is_empty() || name == "UTC" {
            return Some(Self::Utc);
        }
        let rules = TimeZoneDatabase::bundled().get(name).ok()?;
        // Go looks for a file of this name, so the case must agree.
        if rules.iana_name() != Some(name) {
            return None;
        }
        Some(Self::Named {
            name: name.into(),
            rules,
        })
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Utc => "UTC",
            Self::Named { name, .. } | Self::Fixed { name, .. } => name,
        }
    }

    /// Seconds east of UTC and the abbreviation in force at a time.
    pub(super) fn at(&self, seconds: i64) -> (i64, String) {
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

    /// The offset of an abbreviation such as `EST` in this zone, near a time.
    pub(super) fn offset_of(&self, abbreviation: &str, seconds: i64) -> Option<i64> {
        let (offset, name) = self.at(seconds);
        if name == abbreviation {
            return Some(offset);
        }
        // The other half of the year has the other of two abbreviations.
        let half_year = 182 * 86_400;
        [seconds - half_year, seconds + half_year]
            .into_iter()
            .map(|seconds| self.at(seconds))
            .find(|(_, name)| name == abbreviation)
            .map(|(offset, _)| offset)
    }
}
