//! Floats as Go's `%v` and `strconv.FormatFloat(x, 'g', -1, 64)` print them.

/// The shortest digits that read back as `x`, with an exponent below 1e-04 and from 1e+06 on.
pub(crate) fn shortest(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{x:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{x}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    #[test]
    fn floats_print_as_in_go() {
        let cases = [
            (1.1, "1.1"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e-7, "-1.5e-07"),
            (123_456.5, "123456.5"),
        ];
        for (x, expected) in cases {
            assert_eq!(super::shortest(x), expected);
        }
    }
}
