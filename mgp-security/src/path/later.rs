//! Files that are run or followed after they were written: by a build, a test, an editor, a shell, or an agent that reads its
//! instructions.
//!
//! What takes up a file cannot be listed; what only people read can. So each file counts as one that is run later, unless its
//! type is one for people, and neither its name nor its folder is one that tools look for.

use std::io::ErrorKind;
use std::path::Path;

/// Returns whether a file at this path may be run or followed later.
pub(crate) fn is_run_later(path: &Path) -> bool {
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

/// Returns whether there may be a file at a path. A path that is relative to a folder of the server, or cannot be looked
/// at, may have one.
pub(crate) fn may_be_there(path: &Path) -> bool {
    !path.is_absolute()
        || path.metadata().map_or_else(|error| error.kind() != ErrorKind::NotFound, |found| !found.is_dir())
}

/// The types of files that only people read.
const FOR_PEOPLE: &str = "txt md rst adoc org csv tsv log srt html css pdf doc docx odt rtf xls xlsx ods ppt pptx odp epub png jpg \
                          jpeg gif webp svg bmp ico mp3 wav ogg flac mp4 webm mov";

#[cfg(test)]
mod tests {
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
}
