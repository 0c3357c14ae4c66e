//! Compares the errors with which Helm and the plugin controller reject a chart.

/// The text before the name of an object in Helm's error.
const APPLY_FAILED: &str = "server-side apply failed for object ";

/// Whether two errors have the same cause. If Helm's error names objects, ours must name them with all words of their
/// causes. Otherwise ours must have all words of the second half of Helm's. The order of words is ignored, since the
/// API server lists several causes in any order.
pub(super) fn is_same(theirs: &str, ours: &str) -> bool {
    // A status truncates long messages.
    let is_truncated = ours.ends_with('…');
    let failures: Option<Vec<_>> = theirs
        .split(APPLY_FAILED)
        .skip(1)
        .map(parse_failure)
        .collect();
    if let Some(failures) = failures.filter(|failures| !is_truncated && !failures.is_empty()) {
        let known = words(ours);
        return failures.iter().all(|(object, cause)| {
            ours.contains(object.as_str()) && words(cause).iter().all(|word| known.contains(word))
        });
    }
    let (theirs, ours) = (words(theirs), words(ours));
    let (words, known) = if is_truncated {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let cause = &words[words.len() / 2..];
    // The last word may be truncated, too.
    let cause = &cause[..cause.len() - usize::from(is_truncated && !cause.is_empty())];
    !cause.is_empty() && cause.iter().all(|word| known.contains(word))
}

/// Parses `NAMESPACE/NAME VERSION, Kind=KIND: CAUSE` into `KIND/NAMESPACE/NAME` and the cause.
fn parse_failure(text: &str) -> Option<(String, &str)> {
    let (object, cause) = text.split_once(": ")?;
    let (name, kind) = object.split_once(' ')?;
    let (_, kind) = kind.split_once("Kind=")?;
    let name = name.trim_start_matches('/');
    Some((format!("{kind}/{name}"), cause))
}

fn words(text: &str) -> Vec<String> {
    let is_edge = |c: char| !c.is_alphanumeric();
    let words = text.split_whitespace();
    let plain = words.map(|word| word.trim_matches(is_edge).to_owned());
    plain.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_the_same_cause_in_a_different_message() {
        let theirs = "Error: INSTALLATION FAILED: server-side apply failed for object x: [a.b: must be set, c.d: is unknown]";
        let ours = "failed to apply x: [c.d: is unknown, a.b: must be set]";
        assert!(is_same(theirs, ours));
        assert!(!is_same(theirs, "failed to apply x: [c.d: is unknown]"));
        assert!(!is_same(theirs, ""));
    }

    #[test]
    fn requires_every_object_that_helm_names_with_its_cause() {
        let theirs = "Error: INSTALLATION FAILED: server-side apply failed for object far/a /v1, Kind=ServiceAccount: namespaces \"far\" not found\n\
            server-side apply failed for object far/a rbac.authorization.k8s.io/v1, Kind=Role: namespaces \"far\" not found";
        let both = "ServiceAccount/far/a: namespaces \"far\" not found\nRole/far/a: namespaces \"far\" not found";
        assert!(is_same(theirs, both));
        assert!(!is_same(
            theirs,
            "ServiceAccount/far/a: namespaces \"far\" not found"
        ));
        assert!(!is_same(
            theirs,
            "ServiceAccount/far/a and Role/far/a: no rights"
        ));
    }
}
