//! `keyList.Less`: the order of keys in encoded maps, in which runs of digits compare by value.

use std::cmp::Ordering;

use outrigger_gostd::unicode::{is_digit, is_letter};

/// The order of go-yaml v2 (`toYaml`).
///
/// This is not a total order for keys that mix digits and letters: `2x` precedes `10`, `10` precedes `1a`, and `1a`
/// precedes `2x`. The sorts of the standard library may panic on such keys; use [`sort_natural`].
pub fn natural_order(a: &str, b: &str) -> Ordering {
    compare(a, b, false)
}

/// The order of go-yaml v3 (`toYamlPretty`): [`natural_order`], except that after a digit letters precede other
/// characters.
pub fn pretty_order(a: &str, b: &str) -> Ordering {
    compare(a, b, true)
}

fn compare(a: &str, b: &str, v3: bool) -> Ordering {
    let same = common_prefix(a, b);
    let (prefix, a) = a.split_at(same);
    let b = &b[same..];
    let (x, y) = match (a.chars().next(), b.chars().next()) {
        (Some(x), Some(y)) => (x, y),
        (None, None) => return Ordering::Equal,
        (None, Some(_)) => return Ordering::Less,
        (Some(_), None) => return Ordering::Greater,
    };
    match (is_letter(x), is_letter(y)) {
        (true, true) => x.cmp(&y),
        (false, false) => {
            let after_number = (x == '0' || y == '0') && ends_in_number(prefix);
            let (x_value, x_length) = number(a, after_number);
            let (y_value, y_length) = number(b, after_number);
            x_value
                .cmp(&y_value)
                .then(x_length.cmp(&y_length))
                .then(x.cmp(&y))
        }
        (x_is_letter, _) => {
            let after_digit = v3 && prefix.chars().next_back().is_some_and(is_digit);
            if x_is_letter == after_digit {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    }
}

/// The length of the common prefix.
fn common_prefix(a: &str, b: &str) -> usize {
    let pairs = a.bytes().zip(b.bytes());
    let mut same = pairs.take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(same) {
        same -= 1;
    }
    same
}

/// Whether the text ends with digits that are not all zero.
fn ends_in_number(prefix: &str) -> bool {
    prefix
        .chars()
        .rev()
        .take_while(|&c| is_digit(c))
        .any(|c| c != '0')
}

/// The value and the length of the leading digits, with Go's overflow.
fn number(text: &str, after_number: bool) -> (i64, usize) {
    let mut value = i64::from(after_number);
    let mut length = 0;
    for c in text.chars().take_while(|&c| is_digit(c)) {
        let digit = i64::from(u32::from(c)) - i64::from(u32::from('0'));
        value = value.wrapping_mul(10).wrapping_add(digit);
        length += 1;
    }
    (value, length)
}

/// Sorts by string keys in [`natural_order`] or [`pretty_order`]. Unlike the sorts of the standard library it accepts an
/// order that is not transitive.
pub fn sort_natural<T>(
    items: &mut Vec<T>,
    order: fn(&str, &str) -> Ordering,
    key: impl Fn(&T) -> &str,
) {
    let is_less_or_equal = |a: &T, b: &T| order(key(a), key(b)) != Ordering::Greater;
    if items
        .windows(2)
        .all(|pair| is_less_or_equal(&pair[0], &pair[1]))
    {
        return;
    }
    // A bottom-up merge sort: runs of one item, two, four.
    let mut run = 1;
    while run < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        let mut rest = std::mem::take(items).into_iter();
        while rest.len() > 0 {
            let mut left = rest
                .by_ref()
                .take(run)
                .collect::<Vec<_>>()
                .into_iter()
                .peekable();
            let mut right = rest
                .by_ref()
                .take(run)
                .collect::<Vec<_>>()
                .into_iter()
                .peekable();
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                let next = if is_less_or_equal(a, b) {
                    left.next()
                } else {
                    right.next()
                };
                merged.extend(next);
            }
            merged.extend(left);
            merged.extend(right);
        }
        *items = merged;
        run *= 2;
    }
}
