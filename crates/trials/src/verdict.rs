//! What was measured beside what was promised.
#![expect(clippy::print_stdout, reason = "the figures are this program's result")]

use anyhow::bail;

/// Lines of figures, and the promises that do not hold.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    missed: Vec<String>,
}

/// Prints a figure that nothing was promised of.
pub(crate) fn tell(what: &str, figure: f64, unit: &str) {
    println!("{what:52} {figure:>10.2} {unit}");
}

impl Verdict {
    /// Prints a figure that must not be above a limit.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, limit: f64, unit: &str) {
        self.line(
            what,
            figure,
            unit,
            figure <= limit,
            &format!("at most {limit} {unit}"),
        );
    }

    /// Prints a figure that must not be below a limit.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, limit: f64, unit: &str) {
        self.line(
            what,
            figure,
            unit,
            figure >= limit,
            &format!("at least {limit} {unit}"),
        );
    }

    fn line(&mut self, what: &str, figure: f64, unit: &str, holds: bool, promise: &str) {
        println!("{what:52} {figure:>10.2} {unit:4} {promise}");
        if !holds {
            self.missed
                .push(format!("{what}: {figure:.2} {unit}, promised {promise}"));
        }
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        if self.missed.is_empty() {
            return Ok(());
        }
        bail!("not as promised:\n  {}", self.missed.join("\n  "));
    }
}
