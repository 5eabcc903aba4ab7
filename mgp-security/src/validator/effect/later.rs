//! Files that are run or followed after they were written: by a build, a test, an editor, a shell, or an agent that reads its
//! instructions.
//!
//! What takes up a file cannot be listed; what only people read can. So each file counts as one that is run later, unless its
//! type is one for people, and neither its name nor its folder is one that tools look for.

use std::path::Path;

use serde_json::Value;

/// Returns whether a file at this path may be run or followed later.
pub(super) fn is_run_later(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_for_people = || match path.extension().and_then(|kind| kind.to_str()) {
        Some(kind) => FOR_PEOPLE.split(' ').any(|known| known == kind.to_ascii_lowercase()),
        // As `Makefile` and not as `docs`, which may be a folder or any other thing with a path.
        None => !name.ends_with("file"),
    };
    let begins_with_dot = |part: &str| part.starts_with('.') && !part.starts_with(".tmp");
    let in_hidden = || path.iter().any(|part| part.to_str().is_some_and(begins_with_dot));
    // As `AGENTS.md` and `CMakeLists.txt`.
    let is_in_capitals = || name.len() > 1 && name.bytes().take(2).all(|byte| byte.is_ascii_uppercase());
    !path.is_dir() && (!is_for_people() || is_in_capitals() || in_hidden())
}

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

/// The types of files that only people read.
const FOR_PEOPLE: &str = "txt md rst adoc org csv tsv log srt html css pdf doc docx odt rtf xls xlsx ods ppt pptx odp epub png jpg \
                          jpeg gif webp svg bmp ico mp3 wav ogg flac mp4 webm mov";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_tools_and_agents_look_for_is_run_later_and_what_people_read_is_not() {
        for path in [
            "/w/conftest.py",
            "/w/package.json",
            "/w/Makefile",
            "/w/.github/workflows/ci.yml",
            "/w/CLAUDE.md",
            "/w/.github/copilot-instructions.md",
            "/w/random.py",
            "/w/a.desktop",
            "/w/CMakeLists.txt",
            "run.ts",
        ] {
            assert!(is_run_later(Path::new(path)), "{path}");
        }
        for path in [
            "/w/notes.md", "/w/docs/plan.txt", "/w/sales.csv", "/w/picture.PNG", "report.html", "/w/docs",
            "Receipts",
        ] {
            assert!(!is_run_later(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn an_edit_that_leaves_nothing_empties_its_file() {
        let edit =
            |old: &str, new: &str| json!({"path": "/w/a", "edits": [{"oldText": old, "newText": new}]});
        assert!(empties(&edit("a\nb\nc\n", ""), 6));
        assert!(!empties(&edit("a\n", ""), 6) && !empties(&edit("a\nb\nc\n", "d"), 6));
        assert!(!empties(&edit("", ""), 0));
    }
}
