//! The cost of an evaluation, and what limits it.

use std::collections::HashMap;
use std::sync::Arc;

use outrigger_gostd::regexp::Regexp;

use crate::allowance;
use crate::error::Error;

/// How many elements an evaluation may create and compare. The cost of cel-go does not cover all of them.
const MAX_WORK: u64 = 2 << 20;
/// How many bytes are copied as fast as one element is compared.
const BYTES_PER_WORK: usize = 8;
/// How many bytes are read as fast as one element is compared.
const SCANNED_BYTES_PER_WORK: usize = 64;
/// The work of compiling a regular expression.
const REGEX_WORK: usize = 1 << 15;
/// The maximum size of a compiled regular expression that is not a literal.
const MAX_REGEX: usize = 256 << 10;

/// Counts the cost of an evaluation.
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
    work: u64,
    regexes: HashMap<Arc<str>, Arc<Regexp>>,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            cost: 0,
            limit,
            work: 0,
            regexes: HashMap::new(),
        }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds a cost.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Error> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit {
            return Err(Error::CostLimitExceeded);
        }
        allowance::take(cost)
    }

    /// The cost that may still be charged.
    pub(crate) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.cost)
    }

    /// Counts bytes before they are copied.
    pub(crate) fn copy(&mut self, bytes: usize) -> Result<(), Error> {
        self.work(bytes.div_ceil(BYTES_PER_WORK))
    }

    /// Counts bytes before they are read.
    pub(crate) fn scan(&mut self, bytes: usize) -> Result<(), Error> {
        self.work(bytes / SCANNED_BYTES_PER_WORK)
    }

    /// Counts elements before they are created or compared.
    pub(crate) fn work(&mut self, amount: usize) -> Result<(), Error> {
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        self.work = self.work.saturating_add(amount);
        if self.work > MAX_WORK {
            return Err(Error::TooLarge);
        }
        allowance::take(amount)
    }

    /// Counts an iteration of a comprehension.
    pub(crate) fn iteration(&mut self) -> Result<(), Error> {
        self.work(1)
    }

    /// Compiles a regular expression, or returns the one that was compiled before.
    pub(crate) fn regex(&mut self, pattern: &str) -> Result<Arc<Regexp>, String> {
        if let Some(regex) = self.regexes.get(pattern) {
            return Ok(regex.clone());
        }
        self.work(REGEX_WORK).map_err(|error| error.to_string())?;
        let regex = Regexp::compile_within(pattern.as_bytes(), MAX_REGEX);
        let regex = Arc::new(regex.map_err(|error| error.to_string())?);
        self.regexes.insert(pattern.into(), regex.clone());
        Ok(regex)
    }
}
