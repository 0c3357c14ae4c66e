//! Ranges of sizes and costs.

use crate::evaluate::cost;

/// The minimum and maximum cost of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostEstimate {
    pub min: u64,
    pub max: u64,
}

/// The minimum and maximum number of characters or elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeEstimate {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl CostEstimate {
    pub(crate) const fn fixed(cost: u64) -> Self {
        Self {
            min: cost,
            max: cost,
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(crate) fn factor(self, factor: f64) -> Self {
        Self {
            min: cost::factor(self.min, factor),
            max: cost::factor(self.max, factor),
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

impl SizeEstimate {
    pub(crate) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(crate) const fn fixed(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    /// The size of no element, which is the neutral element of the union.
    pub(super) const fn none(is_empty: bool) -> Self {
        Self {
            min: if is_empty { 0 } else { u64::MAX },
            max: 0,
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// The cost of reading this many characters or elements.
    pub(crate) fn factor(self, factor: f64) -> CostEstimate {
        self.as_cost().factor(factor)
    }

    pub(crate) fn as_cost(self) -> CostEstimate {
        CostEstimate {
            min: self.min,
            max: self.max,
        }
    }

    pub(crate) fn times(self, cost: CostEstimate) -> CostEstimate {
        self.as_cost().multiply(cost)
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}
