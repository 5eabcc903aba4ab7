//! The canonical spelling of numbers.

use super::CanonicalError;

/// Returns `literal`, a JSON number, in its canonical spelling.
///
/// That is the spelling of RFC 8785 if a double holds the number exactly as it is written, and otherwise all its digits
/// with an exponent, like `9007199254740993e0`. Either spelling, read as a decimal number, is the number itself, so two
/// numbers that differ are never written alike.
pub(super) fn canonical(literal: &str) -> Result<String, CanonicalError> {
    let decimal = Decimal::read(literal)?;
    let double: f64 = literal.parse().map_err(|_| CanonicalError::NotJson)?;
    if double.is_finite()
        && let Ok(shortest) = serde_json_canonicalizer::to_string(&double)
        && Decimal::read(&shortest)? == decimal
    {
        return Ok(shortest);
    }
    let sign = if decimal.negative { "-" } else { "" };
    Ok(format!("{sign}{}e{}", decimal.digits, decimal.exponent))
}

/// A decimal number: `digits`, without zeros at either end, times ten to the power of `exponent`.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn read(literal: &str) -> Result<Self, CanonicalError> {
        let (mantissa, power) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let power: i64 = power.parse().map_err(|_| CanonicalError::NumberTooLarge)?;
        let length = |text: &str| i64::try_from(text.len()).map_err(|_| CanonicalError::NumberTooLarge);
        let zeros = length(significant)? - length(digits)?;
        let exponent = power.checked_add(zeros - length(fraction)?).ok_or(CanonicalError::NumberTooLarge)?;
        Ok(Self { negative, digits: digits.to_owned(), exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_double_holds_is_written_as_rfc_8785_says() {
        for (literal, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e5", "0"),
            ("1.0", "1"),
            ("100e-2", "1"),
            ("1E30", "1e+30"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.1", "0.1"),
            ("1e-27", "1e-27"),
            ("9007199254740991", "9007199254740991"),
            ("9007199254740992", "9007199254740992"),
            ("5e-324", "5e-324"),
        ] {
            assert_eq!(canonical(literal).unwrap(), expected, "{literal}");
        }
    }

    #[test]
    fn a_number_beyond_doubles_keeps_its_digits() {
        assert_eq!(canonical("9007199254740993").unwrap(), "9007199254740993e0");
        assert_eq!(canonical("9223372036854775807.0").unwrap(), "9223372036854775807e0");
        assert_eq!(canonical("-18446744073709551615").unwrap(), "-18446744073709551615e0");
        assert_eq!(canonical("333333333.33333329").unwrap(), "33333333333333329e-8");
        assert_eq!(canonical("1e400").unwrap(), "1e400");
        assert_eq!(canonical("10e399").unwrap(), "1e400");
        assert_eq!(canonical("1e-400").unwrap(), "1e-400");
    }

    #[test]
    fn an_exponent_beyond_reason_is_refused() {
        assert_eq!(canonical("1e99999999999999999999"), Err(CanonicalError::NumberTooLarge));
        assert_eq!(canonical("10e9223372036854775807"), Err(CanonicalError::NumberTooLarge));
        assert_eq!(canonical("0e99999999999999999999").unwrap(), "0");
    }
}
