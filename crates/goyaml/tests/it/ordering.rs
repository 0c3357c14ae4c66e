//! The order of keys.

use std::cmp::Ordering;

use outrigger_goyaml::{natural_order, pretty_order, sort_natural};

#[test]
fn natural_order_compares_digit_runs_by_value() {
    // The order of Helm's toYaml.
    let sorted = [
        "", "_x", "~", "1", "1.5", "2", "10", "Ab", "B", "Z9", "Z10", "a", "a-b", "a_b", "a1",
        "a1b", "a01", "a2", "a10", "aB", "ab", "é",
    ];
    for pair in sorted.windows(2) {
        assert_eq!(natural_order(pair[0], pair[1]), Ordering::Less, "{pair:?}");
    }
}

#[test]
fn the_two_orders_differ_after_a_digit() {
    assert_eq!(natural_order("1a", "1-"), Ordering::Greater);
    assert_eq!(pretty_order("1a", "1-"), Ordering::Less);
    assert_eq!(pretty_order("xa", "x-"), Ordering::Greater);
}

#[test]
fn sorts_keys_whose_order_is_not_transitive() {
    assert_eq!(natural_order("2x", "10"), Ordering::Less);
    assert_eq!(natural_order("10", "1a"), Ordering::Less);
    assert_eq!(natural_order("1a", "2x"), Ordering::Less);
    let mut keys: Vec<String> = (0..200)
        .flat_map(|n| [format!("{n}x"), n.to_string(), format!("{n}a")])
        .collect();
    sort_natural(&mut keys, natural_order, |key| key);
    assert_eq!(keys.len(), 600);
}
