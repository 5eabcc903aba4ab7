//! The names of the members of MGP's messages, and the members that this version does not know.

use std::sync::LazyLock;

use crate::Object;
use crate::json::ObjectWriter;

/// The members of `_mgp`, and of the params and results of MGP's methods.
///
/// One list serves all messages: no two names in it differ by capitals only.
pub(crate) static NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("members.txt").split_whitespace().collect());

/// Returns the members of `object` that are not among `known`, in order, in bytes of their own.
///
/// A copy is needed because a value that outlives its request must not keep the frame alive.
pub(crate) fn leftover(object: &Object, known: &[&str]) -> Object {
    let mut out = ObjectWriter::new();
    out.others(object, known);
    out.finish()
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
