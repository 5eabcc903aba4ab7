use crate::Object;
use crate::json::write_string;

/// Returns the members of `object` that are not among `known`, in order, in bytes of their own.
///
/// A copy is needed because a value that outlives its request must not keep the frame alive.
pub(super) fn leftover(object: &Object, known: &[&str]) -> Object {
    let mut out = vec![b'{'];
    write_leftover(&mut out, object, known);
    if out.len() == 1 {
        return Object::new();
    }
    out.push(b'}');
    // Every name and value was scanned as part of `object`, so this scan finds nothing to refuse.
    Object::parse(out).unwrap_or_default()
}

/// Appends the members of `object` that are not among `known` to an object that was opened with `{`.
pub(super) fn write_leftover(out: &mut Vec<u8>, object: &Object, known: &[&str]) {
    for (name, value) in object.iter().filter(|(name, _)| !known.contains(&&**name)) {
        write_member(out, &name, value.as_bytes());
    }
}

/// Appends a member to an object that was opened with `{`.
pub(super) fn write_member(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_string(out, name);
    out.push(b':');
    out.extend_from_slice(value);
}

/// Appends a member that is a text to an object that was opened with `{`.
pub(super) fn write_text_member(out: &mut Vec<u8>, name: &str, text: &str) {
    write_member(out, name, b"");
    write_string(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_stay_in_order() {
        let object = Object::parse(r#"{ "z": {"b": 1}, "known": 1, "a\n": [2] }"#).unwrap();
        assert_eq!(leftover(&object, &["known"]).to_raw().as_bytes(), br#"{"z":{"b": 1},"a\n":[2]}"#);
        assert!(leftover(&object, &["z", "known", "a\n"]).is_empty());
    }
}
