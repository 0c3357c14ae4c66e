//! `github.com/shopspring/decimal`, for `addf` and the other functions on decimals.

use num_bigint::{BigInt, Sign};

use crate::fmt;
use crate::function::CallError;
use crate::value::Value;

/// `decimal.DivisionPrecision`: the digits of a quotient after the decimal point.
const DIVISION_PRECISION: i64 = 16;

/// `value * 10^exponent`
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    value: BigInt,
    exponent: i64,
}

fn ten_to(power: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(0))
}

impl Decimal {
    /// The shortest decimal that parses back to `x`.
    pub(super) fn from_float(x: f64) -> Result<Self, CallError> {
        if !x.is_finite() {
            let number = fmt::display_text(&Value::Float(x));
            return Err(CallError::returned(format!(
                "Cannot create a Decimal from {number}"
            )));
        }
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let value = format!("{whole}{fraction}").parse().unwrap_or_default();
        let places = i64::try_from(fraction.len()).unwrap_or(0);
        let exponent = exponent.parse::<i64>().unwrap_or(0) - places;
        Ok(Self { value, exponent })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// Both values with the smaller exponent.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |d: &Self| &d.value * ten_to(d.exponent - exponent);
        (scaled(self), scaled(other), exponent)
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, CallError> {
        let (a, b, exponent) = self.aligned(other);
        Ok(Self {
            value: a + b,
            exponent,
        })
    }

    pub(super) fn sub(&self, other: &Self) -> Result<Self, CallError> {
        let (a, b, exponent) = self.aligned(other);
        Ok(Self {
            value: a - b,
            exponent,
        })
    }

    pub(super) fn mul(&self, other: &Self) -> Result<Self, CallError> {
        Ok(Self {
            value: &self.value * &other.value,
            exponent: self.exponent + other.exponent,
        })
    }

    /// Rounds to sixteen digits after the decimal point, halves away from zero.
    pub(super) fn div(&self, other: &Self) -> Result<Self, CallError> {
        if other.value.sign() == Sign::NoSign {
            return Err(CallError::returned("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + DIVISION_PRECISION;
        let (dividend, divisor) = if shift < 0 {
            (self.value.clone(), &other.value * ten_to(-shift))
        } else {
            (&self.value * ten_to(shift), other.value.clone())
        };
        let quotient = &dividend / &divisor;
        let remainder = &dividend - &quotient * &divisor;
        let is_half_or_more = remainder.magnitude() * 2_u32 >= *divisor.magnitude();
        let is_negative = (self.value.sign() == Sign::Minus) != (other.value.sign() == Sign::Minus);
        let step = match (is_half_or_more, is_negative) {
            (false, _) => 0,
            (true, true) => -1,
            (true, false) => 1,
        };
        Ok(Self {
            value: quotient + step,
            exponent: -DIVISION_PRECISION,
        })
    }
}
