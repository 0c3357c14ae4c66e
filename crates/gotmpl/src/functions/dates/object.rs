//! The methods of `time.Time`, `time.Duration`, `time.Month` and `time.Weekday` that templates can call.

use std::any::Any;
use std::rc::Rc;

use outrigger_gostd::time::{Duration, Location, MONTHS, RFC3339_NANO, Time, WEEKDAYS};

use crate::function::{CallError, Signature, Ty};
use crate::functions::CallResult;
use crate::value::memory::Charge;
use crate::value::{Kind, Object, Value};

/// `time.Time`
#[derive(Debug)]
pub(super) struct TimeObject(
    Time,
    #[expect(dead_code, reason = "counts its memory")] Charge,
);

impl TimeObject {
    pub(super) fn value(time: Time) -> Value {
        Value::Object(Rc::new(Self(time, Charge::new(size_of::<Self>()))))
    }

    pub(super) fn time_of(value: &Value) -> Option<Time> {
        match value {
            Value::Object(object) => object
                .as_any()
                .downcast_ref::<Self>()
                .map(|time| time.0.clone()),
            _ => None,
        }
    }

    fn compare(&self, name: &str, other: &Time) -> Value {
        let (own, other) = (self.0.total_nanos(), other.total_nanos());
        match name {
            "Before" => Value::Bool(own < other),
            "After" => Value::Bool(own > other),
            "Equal" => Value::Bool(own == other),
            _ => Value::Int(own.cmp(&other) as i64),
        }
    }
}

const TIME_METHODS: [&str; 10] = [
    "Format", "Add", "AddDate", "Sub", "Before", "After", "Equal", "Compare", "Truncate", "Round",
];

impl Object for TimeObject {
    fn type_name(&self) -> &'static str {
        "time.Time"
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn field(&self, name: &str) -> Option<Value> {
        let civil = self.0.civil();
        let since_1970 = |unit: i128| {
            let count = self.0.total_nanos().div_euclid(unit);
            Value::Int64(i64::try_from(count).unwrap_or(0))
        };
        Some(match name {
            "Year" => Value::Int(civil.year),
            "Month" => NamedInt::value("time.Month", &MONTHS, civil.month, civil.month - 1),
            "Day" => Value::Int(civil.day),
            "Hour" => Value::Int(civil.hour),
            "Minute" => Value::Int(civil.minute),
            "Second" => Value::Int(civil.second),
            "Nanosecond" => Value::Int(i64::from(self.0.nanos)),
            "YearDay" => Value::Int(civil.year_day),
            "Weekday" => NamedInt::value("time.Weekday", &WEEKDAYS, civil.weekday, civil.weekday),
            "Unix" => Value::Int64(self.0.seconds),
            "UnixMilli" => since_1970(1_000_000),
            "UnixMicro" => since_1970(1000),
            "UnixNano" => since_1970(1),
            "UTC" => Self::value(self.0.in_location(Location::Utc)),
            "IsZero" => Value::Bool(self.0.is_zero()),
            "String" => Value::str(self.display()),
            "Location" => Value::str(self.0.location.name()),
            _ => return None,
        })
    }

    fn has_method(&self, name: &str) -> bool {
        TIME_METHODS.contains(&name)
    }

    fn signature(&self, name: &str) -> Option<Signature> {
        let params: &[Ty] = match name {
            "Format" => &[Ty::String],
            "AddDate" => &[Ty::Int, Ty::Int, Ty::Int],
            "Sub" | "Before" | "After" | "Equal" | "Compare" => &[Ty::Named("time.Time")],
            // A duration may also be an untyped constant.
            _ => return None,
        };
        Some(Signature {
            params,
            variadic: false,
        })
    }

    fn call_method(&self, name: &str, args: &[Value]) -> CallResult {
        match (name, args) {
            ("Format", [Value::Str(layout)]) => Ok(Value::str(self.0.format(layout.as_bytes()))),
            ("AddDate", [Value::Int(years), Value::Int(months), Value::Int(days)]) => {
                let civil = self.0.civil();
                let limit = |n: &i64| (*n).clamp(-1_000_000, 1_000_000);
                let date = (
                    civil.year + limit(years),
                    civil.month + limit(months),
                    civil.day + limit(days),
                );
                let seconds = (civil.hour * 60 + civil.minute) * 60 + civil.second;
                Ok(Self::value(Time::from_civil(
                    date,
                    seconds,
                    self.0.nanos,
                    self.0.location.clone(),
                )))
            }
            ("Add" | "Truncate" | "Round", [duration]) => {
                let duration = DurationObject::duration_of(duration)
                    .ok_or_else(|| wrong_type("time.Duration", duration))?;
                Ok(Self::value(match name {
                    "Add" => self.0.add(duration),
                    _ => self.0.truncate(duration, name == "Round"),
                }))
            }
            ("Sub" | "Before" | "After" | "Equal" | "Compare", [other]) => {
                let other = Self::time_of(other).ok_or_else(|| wrong_type("time.Time", other))?;
                Ok(match name {
                    "Sub" => DurationObject::value(self.0.sub(&other)),
                    _ => self.compare(name, &other),
                })
            }
            _ => Err(CallError::NoSuchMethod),
        }
    }

    fn to_plain(&self) -> Value {
        Value::str(self.0.format(RFC3339_NANO))
    }

    fn display(&self) -> String {
        self.0.to_string()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn wrong_type(wanted: &str, found: &Value) -> CallError {
    CallError::returned(format!(
        "wrong type for value; expected {wanted}; got {}",
        found.type_name()
    ))
}

/// `time.Duration`
#[derive(Debug)]
struct DurationObject(
    Duration,
    #[expect(dead_code, reason = "counts its memory")] Charge,
);

impl DurationObject {
    fn value(duration: Duration) -> Value {
        Value::Object(Rc::new(Self(duration, Charge::new(size_of::<Self>()))))
    }

    fn duration_of(value: &Value) -> Option<Duration> {
        match value {
            Value::Object(object) => object
                .as_any()
                .downcast_ref::<Self>()
                .map(|duration| duration.0),
            Value::Int(nanos) => Some(Duration(*nanos)),
            _ => None,
        }
    }
}

impl Object for DurationObject {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind(&self) -> Kind {
        Kind::Int64
    }

    fn field(&self, name: &str) -> Option<Value> {
        let nanos = self.0.0;
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        let parts =
            |unit: i64| Value::Float((nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64);
        Some(match name {
            "Hours" => parts(3_600_000_000_000),
            "Minutes" => parts(60_000_000_000),
            "Seconds" => parts(1_000_000_000),
            "Milliseconds" => Value::Int64(nanos / 1_000_000),
            "Microseconds" => Value::Int64(nanos / 1000),
            "Nanoseconds" => Value::Int64(nanos),
            "Abs" => Self::value(Duration(nanos.saturating_abs())),
            "String" => Value::str(self.display()),
            _ => return None,
        })
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "Round" | "Truncate")
    }

    fn call_method(&self, name: &str, args: &[Value]) -> CallResult {
        let [unit] = args else {
            return Err(CallError::NoSuchMethod);
        };
        let unit = Self::duration_of(unit).ok_or_else(|| wrong_type("time.Duration", unit))?;
        Ok(Self::value(match name {
            "Round" => self.0.round(unit),
            "Truncate" => self.0.truncate(unit),
            _ => return Err(CallError::NoSuchMethod),
        }))
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int64(self.0.0))
    }

    fn to_plain(&self) -> Value {
        Value::Int64(self.0.0)
    }

    fn display(&self) -> String {
        self.0.to_string()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `time.Month` or `time.Weekday`, which print as names.
#[derive(Debug)]
struct NamedInt {
    type_name: &'static str,
    name: &'static str,
    number: i64,
    _memory: Charge,
}

impl NamedInt {
    fn value(type_name: &'static str, names: &[&'static str], number: i64, at: i64) -> Value {
        let name = usize::try_from(at)
            .ok()
            .and_then(|at| names.get(at))
            .unwrap_or(&"");
        Value::Object(Rc::new(Self {
            type_name,
            name,
            number,
            _memory: Charge::new(size_of::<Self>()),
        }))
    }
}

impl Object for NamedInt {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Int
    }

    fn field(&self, name: &str) -> Option<Value> {
        (name == "String").then(|| Value::str(self.name))
    }

    fn scalar(&self) -> Option<Value> {
        Some(Value::Int(self.number))
    }

    fn to_plain(&self) -> Value {
        Value::Int(self.number)
    }

    fn display(&self) -> String {
        self.name.to_owned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
