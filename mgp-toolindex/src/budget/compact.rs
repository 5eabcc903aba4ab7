//! JSON without white space between its parts.

use mgp_types::RawJson;

/// Appends a value without the white space between its parts.
pub(super) fn write(out: &mut Vec<u8>, value: &RawJson) {
    let (mut in_string, mut escaped) = (false, false);
    for &byte in value.as_bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
}

/// Returns a value without the white space between its parts.
pub(super) fn value(value: &RawJson) -> RawJson {
    let mut out = Vec::with_capacity(value.as_bytes().len());
    write(&mut out, value);
    RawJson::from_written(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_except_within_strings() {
        let spaced = RawJson::parse("{ \"a b\" : [ 1 ,\n 2 ], \"c\\\" \\\\\": \" x \" }").unwrap();
        assert_eq!(value(&spaced).as_bytes(), br#"{"a b":[1,2],"c\" \\":" x "}"#);
    }
}
