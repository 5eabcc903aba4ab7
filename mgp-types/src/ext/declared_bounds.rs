//! The bounds that a tool declares for its calls, checked before anything runs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{CostCategory, ErrorClass, StructuredError, ToolDeclaration};
use crate::mgp::{Recovery, code};
use crate::{Error, Object, RawJson};

impl ToolDeclaration {
    /// Checks that the arguments of a call have no more bytes than the tool takes, and its estimate no more units than
    /// the caller pays.
    ///
    /// A text of base64 counts as the bytes that it stands for, another text as its own, any other value as one byte.
    /// `max_units` is the caller's [`max_units`](super::max_units).
    ///
    /// # Errors
    ///
    /// 4000 with `PAYLOAD_TOO_LARGE` as the word of the error; 3002 for an estimate above the budget, and for a tool
    /// that has costs and no estimate.
    pub fn check_call(&self, arguments: &[u8], max_units: Option<f64>) -> Result<(), Error> {
        if let Some(most) = self.max_input_size_bytes {
            check_input(arguments, most)?;
        }
        max_units.map_or(Ok(()), |most| self.check_budget(most))
    }

    fn check_budget(&self, most: f64) -> Result<(), Error> {
        let Some(cost) = self.cost.as_ref().filter(|cost| cost.category != Some(CostCategory::Free)) else {
            return Ok(());
        };
        let label = cost.unit_label.as_deref().unwrap_or("units");
        let (units, message) = match cost.estimated_units {
            Some(units) if units <= most => return Ok(()),
            Some(units) => {
                (Some(units), format!("the call is estimated at {units} {label}, and its budget is {most}"))
            }
            None => (None, format!("nobody can say what the call costs, and its budget is {most} {label}")),
        };
        let message =
            format!("{message}; nothing was done: raise `_meta.budget.max_units`, or call a cheaper tool");
        let mut details = Object::new();
        let units = units.map(|units| ("estimated_units", units));
        for (name, number) in units.into_iter().chain([("max_units", most)]) {
            if let Ok(number) = RawJson::from_value(&number) {
                details.set(name, number);
            }
        }
        let recovery = Recovery::for_code(code::QUOTA_EXCEEDED).unwrap_or_default().with_details(&details);
        Err(Error::new(code::QUOTA_EXCEEDED, message).with_recovery(recovery))
    }
}

fn check_input(arguments: &[u8], most: u64) -> Result<(), Error> {
    let written = bytes(arguments.len());
    // The values are never longer than their JSON.
    if written <= most {
        return Ok(());
    }
    let size = serde_json::from_slice::<ValueSize>(arguments).map_or(written, |size| size.0);
    if size <= most {
        return Ok(());
    }
    let message = format!("the arguments have {size} bytes, and the tool takes {most} at most; send less");
    let mut details = Object::new();
    for (name, number) in [("size_bytes", size), ("max_input_size_bytes", most)] {
        if let Ok(number) = RawJson::from_value(&number) {
            details.set(name, number);
        }
    }
    let structured = StructuredError::new("PAYLOAD_TOO_LARGE", ErrorClass::InvalidInput, message.as_str())
        .with_details(&details);
    Err(Error::new(code::INVALID_TOOL_ARGS, message)
        .with_data(structured.to_object().to_raw())
        .with_recovery(Recovery::for_code(code::INVALID_TOOL_ARGS).unwrap_or_default()))
}

/// The bytes of the values in a JSON text, without the names of members.
struct ValueSize(u64);

impl<'de> Deserialize<'de> for ValueSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl<'de> Visitor<'de> for SizeVisitor {
    type Value = ValueSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<ValueSize, E> {
        Ok(ValueSize(bytes(decoded_len(text.as_bytes()))))
    }

    fn visit_bool<E>(self, _: bool) -> Result<ValueSize, E> {
        Ok(ValueSize(1))
    }

    fn visit_i64<E>(self, _: i64) -> Result<ValueSize, E> {
        Ok(ValueSize(1))
    }

    fn visit_u64<E>(self, _: u64) -> Result<ValueSize, E> {
        Ok(ValueSize(1))
    }

    fn visit_f64<E>(self, _: f64) -> Result<ValueSize, E> {
        Ok(ValueSize(1))
    }

    fn visit_unit<E>(self) -> Result<ValueSize, E> {
        Ok(ValueSize(1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ValueSize, A::Error> {
        let mut sum = 0_u64;
        while let Some(ValueSize(size)) = items.next_element()? {
            sum = sum.saturating_add(size);
        }
        Ok(ValueSize(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ValueSize, A::Error> {
        let mut sum = 0_u64;
        while let Some((IgnoredAny, ValueSize(size))) = members.next_entry()? {
            sum = sum.saturating_add(size);
        }
        Ok(ValueSize(sum))
    }
}

/// Returns the number of bytes that a text stands for: those behind its base64, else its own.
fn decoded_len(text: &[u8]) -> usize {
    let base64 = match text.strip_prefix(b"data:") {
        Some(rest) => rest
            .windows(SCHEME_END.len())
            .position(|part| part == SCHEME_END)
            .map(|at| &rest[at + SCHEME_END.len()..]),
        None => Some(text),
    };
    let Some(base64) = base64 else { return text.len() };
    let trimmed = base64.strip_suffix(b"==").or_else(|| base64.strip_suffix(b"=")).unwrap_or(base64);
    let is_padded = trimmed.len() < base64.len();
    let is_whole = base64.len().is_multiple_of(4) || (!is_padded && trimmed.len() % 4 != 1);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    if is_whole && trimmed.iter().all(is_digit) { trimmed.len() * 3 / 4 } else { text.len() }
}

/// The end of what stands in front of the base64 in a `data:` address.
const SCHEME_END: &[u8] = b";base64,";

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::Cost;
    use super::*;

    fn takes(most: u64) -> ToolDeclaration {
        ToolDeclaration { max_input_size_bytes: Some(most), ..ToolDeclaration::default() }
    }

    fn costs(cost: Cost) -> ToolDeclaration {
        ToolDeclaration { cost: Some(cost), ..ToolDeclaration::default() }
    }

    // covers: EXT-10-02
    #[test]
    fn binary_arguments_count_decoded_and_one_byte_more_is_too_much() {
        // Ten bytes, in base64 with padding, without, in the alphabet of addresses, and in an address.
        for text in [
            "AAECAwQFBgcICQ==",
            "AAECAwQFBgcICQ",
            "__79_Pv6-fj39g==",
            "data:image/png;base64,AAECAwQFBgcICQ==",
        ] {
            let arguments = format!(r#"{{"an image of some size":"{text}"}}"#);
            assert!(takes(10).check_call(arguments.as_bytes(), None).is_ok(), "{text}");
            let error = takes(9).check_call(arguments.as_bytes(), None).unwrap_err();
            assert_eq!(error.code(), code::INVALID_TOOL_ARGS);
            let told = StructuredError::read(error.data().unwrap()).unwrap();
            assert_eq!((&*told.code, told.category), ("PAYLOAD_TOO_LARGE", ErrorClass::InvalidInput));
            assert_eq!(
                told.details.unwrap().to_raw().as_bytes(),
                br#"{"size_bytes":10,"max_input_size_bytes":9}"#
            );
        }
    }

    #[test]
    fn texts_count_by_their_bytes_and_other_values_as_one() {
        let arguments = r#"{"a":"größe!\n","b":[1,-2.5,true,null],"c":{"d":"x y"}}"#.as_bytes();
        assert!(takes(9 + 4 + 3).check_call(arguments, None).is_ok());
        assert!(takes(9 + 4 + 2).check_call(arguments, None).is_err());
        assert!(takes(2).check_call(b"{}", None).is_ok());
    }

    // covers: EXT-03-07
    #[test]
    fn an_estimate_above_the_budget_is_refused() {
        let five = costs(Cost::metered(5.0, "credits"));
        assert!(five.check_call(b"{}", None).is_ok());
        assert!(five.check_call(b"{}", Some(5.0)).is_ok());
        let error = five.check_call(b"{}", Some(4.9)).unwrap_err();
        assert_eq!(error.code(), code::QUOTA_EXCEEDED);
        assert!(error.message().starts_with("the call is estimated at 5 credits, and its budget is 4.9;"));
        assert_eq!(StructuredError::of(&error).code, "QUOTA_EXHAUSTED");
    }

    #[test]
    fn a_budget_does_not_pay_for_costs_that_nobody_knows() {
        assert!(costs(Cost::new(CostCategory::Metered)).check_call(b"{}", Some(100.0)).is_err());
        assert!(costs(Cost::new(CostCategory::Free)).check_call(b"{}", Some(0.0)).is_ok());
        assert!(ToolDeclaration::default().check_call(b"{}", Some(0.0)).is_ok());
    }
}
