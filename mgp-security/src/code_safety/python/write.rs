//! Rules for what readonly refuses beyond strict: changes of a file, a database, a service or the machine.

use mgp_types::mgp::SafetyLevel::Readonly;

use super::Check;
use super::call::{keyword, positional};
use super::names::{OPENERS, OS_WRITES, WRITING_METHODS};
use crate::code_safety::identifier::plain;
use crate::code_safety::path_text;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn writing_call(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function") else { return };
        let paths = self.code.paths(function);
        let name = match function.kind() {
            "attribute" => function.field("attribute").map(|name| plain(name.text())).unwrap_or_default(),
            _ => plain(function.text()),
        };
        let by_path = paths.iter().find(|path| self.writes_by_path(path, node));
        if let Some(path) = by_path {
            let shown =
                path.strip_prefix("builtins.").map_or_else(|| path.to_string(), |name| format!("{name}("));
            return self.findings.pattern(Readonly, &shown, node.at());
        }
        if function.kind() == "attribute" && self.writes_by_method(&name, function, node) {
            self.findings.pattern(Readonly, &format!("{name}("), node.at());
        }
    }

    /// Returns whether the call makes or changes a file at an absolute path, outside of the working directory.
    pub(super) fn writes_elsewhere(&self, path: &str, node: Node<'t>) -> bool {
        let file = match path {
            "sqlite3.connect" => positional(node).next().or_else(|| keyword(node, "database")),
            "logging.FileHandler" => positional(node).next().or_else(|| keyword(node, "filename")),
            "logging.basicConfig" => keyword(node, "filename"),
            _ if OPENERS.contains(path) && self.opens_for_writing(node) => positional(node).next(),
            _ => None,
        };
        file.and_then(|file| self.code.text(file)).is_some_and(|file| path_text::is_absolute(&file))
    }

    fn opens_for_writing(&self, node: Node<'t>) -> bool {
        let mode = keyword(node, "mode").or_else(|| positional(node).nth(1));
        mode.is_some_and(|mode| self.code.text(mode).is_none_or(|mode| mode.contains(['w', 'a', 'x', '+'])))
    }

    fn writes_by_path(&self, path: &str, node: Node<'t>) -> bool {
        if OPENERS.contains(path) {
            return self.opens_for_writing(node);
        }
        let (root, rest) = path.split_once('.').unwrap_or((path, ""));
        match root {
            "os" => OS_WRITES.contains(rest),
            "tempfile" => !matches!(rest, "gettempdir" | "gettempprefix" | "gettempdirb"),
            "shutil" => !matches!(rest, "which" | "disk_usage" | "get_terminal_size"),
            "requests" | "httpx" | "aiohttp" | "urllib3"
                if rest.ends_with("request") || rest.ends_with("stream") =>
            {
                let verb = positional(node).next().or_else(|| keyword(node, "method"));
                verb.and_then(|verb| self.code.text(verb)).is_none_or(|verb| !is_reading_verb(&verb))
            }
            "urllib" => {
                rest == "request.urlopen" && (keyword(node, "data").is_some() || positional(node).count() > 1)
            }
            "logging" => {
                matches!(rest, "FileHandler")
                    || (rest == "basicConfig" && keyword(node, "filename").is_some())
            }
            "numpy" => matches!(rest, "save" | "savez" | "savez_compressed" | "savetxt" | "memmap"),
            "builtins" => {
                rest == "print" && keyword(node, "file").is_some_and(|file| !file.text().contains("std"))
            }
            _ => false,
        }
    }

    fn writes_by_method(&self, name: &str, function: Node<'t>, node: Node<'t>) -> bool {
        let object = function.field("object").map(|object| self.code.paths(object)).unwrap_or_default();
        let is_of =
            |roots: &[&str]| object.iter().any(|path| roots.iter().any(|root| path.starts_with(root)));
        match name {
            "open" => {
                let mode = keyword(node, "mode").or_else(|| positional(node).next());
                let text = mode.and_then(|mode| self.code.text(mode));
                text.is_some_and(|mode| mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+']))
            }
            "write" | "writelines" => !is_of(IN_MEMORY),
            "post" | "put" | "patch" | "delete" => true,
            "request" | "stream" => positional(node)
                .next()
                .and_then(|verb| self.code.text(verb))
                .is_some_and(|verb| !is_reading_verb(&verb)),
            "execute" | "executemany" | "executescript" => positional(node)
                .next()
                .and_then(|statement| self.code.text(statement))
                .is_none_or(|text| !is_query(&text)),
            "rename" | "replace" => is_of(&["pathlib."]),
            "dump" => is_of(&["json", "yaml", "pickle", "toml", "plistlib"]),
            _ => WRITING_METHODS.contains(name),
        }
    }
}

fn is_reading_verb(verb: &str) -> bool {
    matches!(&*verb.to_uppercase(), "GET" | "HEAD" | "OPTIONS")
}

/// Returns whether a statement only reads; a `WITH` may lead up to a change, so it does not count as reading.
fn is_query(statement: &str) -> bool {
    let statement = statement.trim_start().to_uppercase();
    let reads = statement.starts_with("SELECT") || statement.starts_with("EXPLAIN SELECT");
    let rest = statement.trim_end().trim_end_matches(';');
    reads && !rest.contains(';') && !statement.contains(" INTO ")
}

/// The targets that stay within the code, or go to where its output goes anyway.
const IN_MEMORY: &[&str] =
    &["io.StringIO()", "io.BytesIO()", "sys.stdout", "sys.stderr", "StringIO()", "BytesIO()"];
