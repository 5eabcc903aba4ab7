use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{Permission, ResolvedTool};

use super::PathAccess;
use crate::tool::{ArgumentNature, NameManner, words};
use crate::validator::call::CallArgument;

/// How sure it is that an argument is a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathLikeness {
    /// Its name or its schema says so, or it is a `file:` address.
    Named,
    /// It is written as one: it begins at a root, in a home or in a directory above.
    Written,
    /// It is one word, and so perhaps the name of a file.
    Perhaps,
}

/// Returns how sure it is that `text`, one reading of `argument`, is a path; `None` for what is none.
pub(crate) fn likeness(argument: &CallArgument, text: &str) -> Option<PathLikeness> {
    let line = text.trim();
    let is_line = !line.is_empty() && line.len() <= MAX_BYTES && !line.contains('\n');
    let is_file_address = is_line && line.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    match argument.nature {
        ArgumentNature::Path => Some(PathLikeness::Named),
        ArgumentNature::Text | ArgumentNature::Sql | ArgumentNature::Command | ArgumentNature::HttpMethod => {
            None
        }
        _ if is_file_address => Some(PathLikeness::Named),
        // Some take a path where they take an address.
        ArgumentNature::Url => (is_line && !line.contains("://")).then_some(PathLikeness::Perhaps),
        _ if !is_line || leaves_out(&argument.name) => None,
        nature => {
            let is_word = !line.contains(char::is_whitespace);
            if begins_like_a_path(line) && (is_word || nature == ArgumentNature::Unknown) {
                Some(PathLikeness::Written)
            } else {
                is_word.then_some(PathLikeness::Perhaps)
            }
        }
    }
}

/// Returns what a call of `tool` does with the file that `argument` names.
pub(crate) fn access(tool: &ResolvedTool, argument: &CallArgument) -> PathAccess {
    let of_tool = access_of_tool(tool);
    let words = words(&argument.name);
    let has = |table: &[&str]| words.iter().any(|word| table.contains(&word.as_str()));
    let is_place = words.last().is_some_and(|last| PLACES.contains(&last.as_str())) || has(&["working"]);
    // Where a program runs is read, and a file that is copied stays as it was.
    if is_place || (of_tool == PathAccess::Write && has(SOURCES)) { PathAccess::Read } else { of_tool }
}

/// Its name decides; what the server says of it beside that counts only where the name says nothing.
fn access_of_tool(tool: &ResolvedTool) -> PathAccess {
    let name =
        tool.definition.text("name").map_or_else(|| tool.name.to_string(), std::borrow::Cow::into_owned);
    if words(&name).iter().any(|word| REMOVES.contains(&word.as_str())) {
        return PathAccess::Remove;
    }
    let writes = tool.security.permissions.contains(&Permission::FilesystemWrite);
    let says_it_reads = || {
        let annotations = tool.definition.get("annotations");
        let annotations: Option<ToolAnnotations> = annotations.and_then(|raw| raw.to().ok());
        annotations.and_then(|annotations| annotations.read_only_hint) == Some(true)
    };
    match NameManner::of(&name) {
        NameManner::Reads if !writes => PathAccess::Read,
        NameManner::Unclear if !writes && says_it_reads() => PathAccess::Read,
        _ => PathAccess::Write,
    }
}

fn begins_like_a_path(text: &str) -> bool {
    let has_drive =
        matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    has_drive
        || ["/", "\\", "~", "./", "../", ".\\", "..\\", "$", "%"].iter().any(|start| text.starts_with(start))
}

/// Whether the argument says what is not meant, as in `exclude: [".env"]`.
fn leaves_out(name: &str) -> bool {
    const WORDS: [&str; 8] =
        ["exclude", "excludes", "excluded", "ignore", "ignored", "ignores", "skip", "except"];
    words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Words of tools that take files away.
const REMOVES: &[&str] = &[
    "delete", "remove", "move", "rename", "unlink", "rmdir", "trash", "purge", "wipe", "erase", "destroy",
    "rm", "mv",
];
/// Last words of arguments that say where something runs.
const PLACES: &[&str] = &["cwd", "workdir", "workspace", "pwd"];
/// Words of arguments that name what is copied, packed or sent.
const SOURCES: &[&str] = &["source", "sources", "src", "from", "input", "inputs"];

/// As long as Linux takes a path.
const MAX_BYTES: usize = 4096;
