//! The bounds that a tool declares: for its calls, checked before anything runs, and for its results.

use super::{CostCategory, ErrorClass, StructuredError, ToolDeclaration};
use crate::json::{Scanner, unescape};
use crate::mcp::{CallToolResult, Map, Meta};
use crate::mgp::{Recovery, code};
use crate::{Error, JsonError, Object, RawJson};

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

    /// Returns the failure in place of a result with more than `most` bytes, the
    /// [`max_output_size_bytes`](Self::max_output_size_bytes) of its tool; `None` for a result that may pass.
    ///
    /// The texts and the decoded data of the content count, or the values of the structured content if those are more. A
    /// failure of the tool passes, whatever its size.
    pub fn too_large(result: &RawJson, most: u64) -> Option<CallToolResult> {
        // The values are never longer than their JSON.
        if bytes(result.as_bytes().len()) <= most {
            return None;
        }
        let result = Object::from_raw(result).ok()?;
        let size = result_size(&result);
        if size <= most || result.bytes("isError") == Some(b"true") {
            return None;
        }
        let message = format!(
            "the call was made, but its result has {size} bytes, and the tool declares {most} at most; ask for less"
        );
        let structured = too_large_error(&message, ("size_bytes", size), ("max_output_size_bytes", most));
        let meta = Meta::new().with("error", structured.to_object().to_raw());
        Some(CallToolResult::error(message).with_meta(meta))
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
        let units = units.map(|units| ("estimated_units", units));
        let details: Map<f64> = units.into_iter().chain([("max_units", most)]).collect();
        let details = Object::from_value(&details).unwrap_or_default();
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
    let size = value_size(&mut Scanner::of_names(arguments)).unwrap_or(written);
    if size <= most {
        return Ok(());
    }
    let message = format!("the arguments have {size} bytes, and the tool takes {most} at most; send less");
    let structured = too_large_error(&message, ("size_bytes", size), ("max_input_size_bytes", most));
    Err(Error::new(code::INVALID_TOOL_ARGS, message)
        .with_data(structured.to_object().to_raw())
        .with_recovery(Recovery::for_code(code::INVALID_TOOL_ARGS).unwrap_or_default()))
}

fn too_large_error(message: &str, size: (&str, u64), most: (&str, u64)) -> StructuredError {
    let details = Object::from_value(&Map::from_iter([size, most])).unwrap_or_default();
    StructuredError::new("PAYLOAD_TOO_LARGE", ErrorClass::InvalidInput, message).with_details(&details)
}

fn result_size(result: &Object) -> u64 {
    let blocks: Vec<Object> = result.get("content").and_then(|content| content.to().ok()).unwrap_or_default();
    let content = blocks.iter().map(block_size).fold(0, u64::saturating_add);
    let structured = result.get("structuredContent");
    let structured = structured.and_then(|value| value_size(&mut Scanner::of_names(value.as_bytes())).ok());
    content.max(structured.unwrap_or(0))
}

/// Returns the bytes of a block of content: its text, or its decoded data.
fn block_size(block: &Object) -> u64 {
    let resource = block.object("resource").unwrap_or_default();
    let texts = [block.text("text"), resource.text("text")].into_iter().flatten().map(|text| text.len());
    let data = [block.text("data"), resource.text("blob")].into_iter().flatten();
    bytes(texts.chain(data.map(|data| decoded_len(data.as_bytes()))).sum())
}

/// Returns the bytes of the values in the JSON at which `scanner` stands, without the names of members.
fn value_size(scanner: &mut Scanner<'_>) -> Result<u64, JsonError> {
    let mut sum = 0_u64;
    match scanner.peek() {
        Some(b'{') => {
            let mut object = scanner.open_object()?;
            while scanner.next_key(&mut object)?.is_some() {
                sum = sum.saturating_add(value_size(scanner)?);
            }
            scanner.skip_space();
        }
        Some(b'[') => {
            let mut is_first = true;
            scanner.open_array()?;
            while scanner.next_element(&mut is_first)? {
                sum = sum.saturating_add(value_size(scanner)?);
            }
            scanner.skip_space();
        }
        Some(b'"') => {
            let quoted = scanner.value()?;
            let text = scanner.slice(&(quoted.start + 1..quoted.end - 1));
            let is_plain = memchr::memchr(b'\\', text).is_none();
            sum = bytes(if is_plain { decoded_len(text) } else { decoded_len(&unescape(text)) });
        }
        _ => {
            scanner.value()?;
            sum = 1;
        }
    }
    Ok(sum)
}

/// Returns the number of bytes that a text stands for: those behind its base64, else its own.
fn decoded_len(text: &[u8]) -> usize {
    let base64 = match text.strip_prefix(b"data:") {
        Some(rest) => memchr::memmem::find(rest, SCHEME_END).map(|at| &rest[at + SCHEME_END.len()..]),
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

    // covers: EXT-10-06
    #[test]
    fn a_result_of_more_bytes_than_declared_is_refused_and_one_of_as_many_passes() {
        for result in [
            r#"{"content":[{"type":"text","text":"ten \"bytes"}]}"#,
            r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAECAwQFBgcICQ=="}]}"#,
            r#"{"content":[{"type":"resource","resource":{"uri":"a://b","blob":"AAECAwQFBgcICQ=="}}]}"#,
            r#"{"content":[{"type":"text","text":"01234"}],"structuredContent":{"rows":["0123 56789"]}}"#,
        ] {
            let raw = RawJson::parse(result).unwrap();
            assert_eq!(ToolDeclaration::too_large(&raw, 10), None, "{result}");
            let refused = ToolDeclaration::too_large(&raw, 9).unwrap();
            let error = StructuredError::read(refused.meta.unwrap().get("error").unwrap()).unwrap();
            assert_eq!((&*error.code, refused.is_error), ("PAYLOAD_TOO_LARGE", Some(true)), "{result}");
            assert_eq!(
                error.details.unwrap().to_raw().as_bytes(),
                br#"{"size_bytes":10,"max_output_size_bytes":9}"#
            );
        }
        let failed =
            RawJson::parse(r#"{"content":[{"type":"text","text":"what went wrong"}],"isError":true}"#);
        assert_eq!(ToolDeclaration::too_large(&failed.unwrap(), 9), None);
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
            let structured = StructuredError::read(error.data().unwrap()).unwrap();
            assert_eq!(
                (&*structured.code, structured.category),
                ("PAYLOAD_TOO_LARGE", ErrorClass::InvalidInput)
            );
            assert_eq!(
                structured.details.unwrap().to_raw().as_bytes(),
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
