//! Edits of files, as far as their arguments tell what is left of the file.

use serde_json::Value;

/// Returns whether an edit among the arguments leaves nothing of a file of `size` bytes: a text as long as the file goes, and
/// none comes.
pub(super) fn empties(arguments: &Value, size: u64) -> bool {
    match arguments {
        Value::Array(values) => values.iter().any(|value| empties(value, size)),
        Value::Object(members) => {
            let texts = || members.values().filter_map(Value::as_str);
            let goes = texts().any(|text| size > 0 && text.len() as u64 * 10 >= size * 9);
            goes && texts().any(|text| text.trim().is_empty())
                || members.values().any(|value| empties(value, size))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_that_leaves_nothing_empties_its_file() {
        let edit =
            |old: &str, new: &str| json!({"path": "/w/a", "edits": [{"oldText": old, "newText": new}]});
        assert!(empties(&edit("a\nb\nc\n", ""), 6));
        assert!(!empties(&edit("a\n", ""), 6) && !empties(&edit("a\nb\nc\n", "d"), 6));
        assert!(!empties(&edit("", ""), 0));
    }
}
