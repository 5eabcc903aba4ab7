//! A JSON value as a tree whose members are in canonical order and whose numbers are in canonical spelling.

use std::collections::BTreeMap;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::CanonicalError;
use crate::RawJson;

/// A JSON value in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by JSON")]
pub enum CanonicalTree {
    /// The value `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number, in its canonical spelling.
    Number(String),
    /// A string, without its escapes.
    Text(String),
    /// The items of an array, in their order.
    Array(Vec<Self>),
    /// The members, in the order of their UTF-16 code units, as RFC 8785 sorts.
    Object(Vec<(String, Self)>),
}

impl CanonicalTree {
    /// Reads the tree of `value`.
    ///
    /// # Errors
    /// Fails if the value has no canonical form: see [`CanonicalError`].
    pub fn read(value: &RawJson) -> Result<Self, CanonicalError> {
        // A `RawJson` that serde made has not been scanned: it may have any depth and repeated members.
        let scanned = RawJson::parse(value.to_bytes()).map_err(|_| CanonicalError::NotJson)?;
        let text = std::str::from_utf8(scanned.as_bytes()).map_err(|_| CanonicalError::NotJson)?;
        Self::of_scanned(text)
    }

    /// Reads the tree of a text whose depth and member names were checked.
    fn of_scanned(text: &str) -> Result<Self, CanonicalError> {
        let text = text.trim_ascii();
        match text.as_bytes() {
            b"null" => Ok(Self::Null),
            b"true" => Ok(Self::Bool(true)),
            b"false" => Ok(Self::Bool(false)),
            [b'"', ..] => read(text).map(Self::Text),
            [b'[', ..] => {
                let items: Vec<&RawValue> = read(text)?;
                items
                    .into_iter()
                    .map(|item| Self::of_scanned(item.get()))
                    .collect::<Result<_, _>>()
                    .map(Self::Array)
            }
            [b'{', ..] => {
                let members: BTreeMap<String, &RawValue> = read(text)?;
                let read = |(name, value): (String, &RawValue)| Ok((name, Self::of_scanned(value.get())?));
                let mut members: Vec<_> = members.into_iter().map(read).collect::<Result<_, _>>()?;
                members.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                Ok(Self::Object(members))
            }
            _ => canonical_number(text).map(Self::Number),
        }
    }

    /// Returns the member of this name, if the value is an object that has one.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// Returns the canonical bytes.
    #[expect(clippy::missing_panics_doc, reason = "a tree can be written")]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a tree can be written")
    }
}

impl Serialize for CanonicalTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Number(spelling) => {
                let number: &RawValue = serde_json::from_str(spelling).map_err(S::Error::custom)?;
                number.serialize(serializer)
            }
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, CanonicalError> {
    serde_json::from_str(text).map_err(|_| CanonicalError::NotJson)
}

/// Returns `literal`, a JSON number, in its canonical spelling.
///
/// The canonical spelling is that of RFC 8785 if a double holds the number exactly as it is written, and otherwise all its digits
/// with an exponent, like `9007199254740993e0`. Either spelling, read as a decimal number, is the number itself, so two
/// numbers that differ are never written alike.
fn canonical_number(literal: &str) -> Result<String, CanonicalError> {
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

    fn canonical(json: &str) -> String {
        String::from_utf8(CanonicalTree::read(&RawJson::parse(json.to_owned()).unwrap()).unwrap().to_bytes())
            .unwrap()
    }

    #[test]
    fn members_are_sorted_by_their_utf_16_units() {
        // U+1F600 is written with surrogates, which sort before U+FB33 although the code point is larger.
        let json = r#"{"\ufb33":1,"😀":2,"\u20ac":3,"1":4,"\r":5,"ö":6,"\u0080":7}"#;
        assert_eq!(
            canonical(json),
            "{\"\\r\":5,\"1\":4,\"\u{80}\":7,\"ö\":6,\"€\":3,\"😀\":2,\"\u{fb33}\":1}"
        );
    }

    #[test]
    fn escapes_are_undone_and_white_space_is_dropped() {
        assert_eq!(
            canonical("[ \"\\u0041\\/\\\"\\\\\" , null,true ,false,{ } , [ ], 1e1 ]"),
            r#"["A/\"\\",null,true,false,{},[],10]"#
        );
    }

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
            assert_eq!(canonical_number(literal).unwrap(), expected, "{literal}");
        }
    }

    #[test]
    fn a_number_beyond_doubles_keeps_its_digits() {
        assert_eq!(canonical_number("9007199254740993").unwrap(), "9007199254740993e0");
        assert_eq!(canonical_number("9223372036854775807.0").unwrap(), "9223372036854775807e0");
        assert_eq!(canonical_number("-18446744073709551615").unwrap(), "-18446744073709551615e0");
        assert_eq!(canonical_number("333333333.33333329").unwrap(), "33333333333333329e-8");
        assert_eq!(canonical_number("1e400").unwrap(), "1e400");
        assert_eq!(canonical_number("10e399").unwrap(), "1e400");
        assert_eq!(canonical_number("1e-400").unwrap(), "1e-400");
    }

    #[test]
    fn an_exponent_beyond_reason_is_refused() {
        assert_eq!(canonical_number("1e99999999999999999999"), Err(CanonicalError::NumberTooLarge));
        assert_eq!(canonical_number("10e9223372036854775807"), Err(CanonicalError::NumberTooLarge));
        assert_eq!(canonical_number("0e99999999999999999999").unwrap(), "0");
    }
}
