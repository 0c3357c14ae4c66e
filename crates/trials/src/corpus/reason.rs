//! Do two programs refuse a chart for the same reason?

/// What Helm says before the name of an object that the server did not take.
const NOT_TAKEN: &str = "server-side apply failed for object ";

/// Whether two texts give one reason. If Helm names objects, ours names each of them and has all words of its cause.
/// Else all words of the second half of Helm's are in ours. The order is no matter: the server itself tells several
/// troubles of one object in any order.
pub(super) fn is_same(theirs: &str, ours: &str) -> bool {
    // A status cuts what is too long.
    let is_cut = ours.ends_with('…');
    let not_taken: Option<Vec<_>> = theirs.split(NOT_TAKEN).skip(1).map(complaint).collect();
    if let Some(complaints) = not_taken.filter(|complaints| !is_cut && !complaints.is_empty()) {
        let known = words(ours);
        return complaints.iter().all(|(object, cause)| {
            ours.contains(object.as_str()) && words(cause).iter().all(|word| known.contains(word))
        });
    }
    let (theirs, ours) = (words(theirs), words(ours));
    let (told, known) = if is_cut {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let cause = &told[told.len() / 2..];
    // The last word may be cut, too.
    let cause = &cause[..cause.len() - usize::from(is_cut && !cause.is_empty())];
    !cause.is_empty() && cause.iter().all(|word| known.contains(word))
}

/// An object and what is wrong with it, from `NAMESPACE/NAME VERSION, Kind=KIND: CAUSE`.
fn complaint(text: &str) -> Option<(String, &str)> {
    let (object, cause) = text.split_once(": ")?;
    let (place, kind) = object.split_once(' ')?;
    let (_, kind) = kind.split_once("Kind=")?;
    let place = place.trim_start_matches('/');
    Some((format!("{kind}/{place}"), cause))
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
    fn a_reason_is_known_again_in_other_words_around_it_and_another_one_is_not() {
        let theirs = "Error: INSTALLATION FAILED: server-side apply failed for object x: [a.b: must be set, c.d: is unknown]";
        let ours = "failed to apply x: [c.d: is unknown, a.b: must be set]";
        assert!(is_same(theirs, ours));
        assert!(!is_same(theirs, "failed to apply x: [c.d: is unknown]"));
        assert!(!is_same(theirs, ""));
    }

    #[test]
    fn all_objects_that_helm_names_are_named_with_their_causes() {
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
