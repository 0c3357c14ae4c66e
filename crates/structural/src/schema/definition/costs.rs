//! Keeps the estimated costs of the rules of a definition within their limits.

use outrigger_apimachinery::status::field;

/// What an expression may cost.
const EXPRESSION_LIMIT: u64 = 10_000_000;
/// What all expressions of a version may cost together.
const TOTAL_LIMIT: u64 = 100_000_000;
/// How many expressions are named if all together are too expensive.
const MAX_NAMED: usize = 4;

/// The estimated costs of the expressions of a version.
#[derive(Debug, Default)]
pub(super) struct Costs {
    total: u64,
    /// The most expensive expressions.
    most_expensive: Vec<(u64, String)>,
}

impl Costs {
    /// Adds the cost of an expression. Returns an error if the expression alone is too expensive.
    pub(super) fn observe(&mut self, name: &str, path: &str, cost: u64) -> Option<field::Error> {
        self.total = self.total.saturating_add(cost);
        if cost >= TOTAL_LIMIT / 100 {
            self.most_expensive.push((cost, path.to_owned()));
            self.most_expensive
                .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.most_expensive.truncate(MAX_NAMED);
        }
        (cost > EXPRESSION_LIMIT)
            .then(|| field::Error::forbidden(path, message(name, cost, EXPRESSION_LIMIT)))
    }

    /// The errors if all expressions together are too expensive.
    pub(super) fn finish(self, path: &str) -> Vec<field::Error> {
        if self.total <= TOTAL_LIMIT {
            return Vec::new();
        }
        let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let named = self.most_expensive.iter();
        let mut errors: Vec<_> = named
            .map(|(_, path)| field::Error::forbidden(path.as_str(), detail))
            .collect();
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let detail = message(name, self.total, TOTAL_LIMIT);
        errors.push(field::Error::forbidden(path, detail));
        errors
    }
}

#[expect(clippy::cast_precision_loss, reason = "the factor is approximate")]
fn message(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
