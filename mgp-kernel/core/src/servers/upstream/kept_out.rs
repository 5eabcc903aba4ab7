//! What the confinement of a server kept it from, as far as the result of a failed call tells, and the command that opens it.

use std::path::{Path, PathBuf};

use mgp_security::path::usable_folder;
use mgp_types::mgp::ServerId;
use mgp_types::{Object, RawJson, Response};
use serde_json::json;

/// Adds a line to the result of a failed call of a confined server if the system refused the server a file.
pub(super) fn advise(server: &ServerId, response: &mut Response) {
    let Some(advice) = advice(server, &response.result.to_string()) else { return };
    let Ok(mut result) = Object::from_raw(&response.result) else { return };
    let Some(Ok(mut content)) = result.get("content").map(|content| content.to::<Vec<RawJson>>()) else {
        return;
    };
    let Ok(line) = RawJson::from_value(&json!({ "type": "text", "text": advice })) else { return };
    content.push(line);
    if let Ok(content) = RawJson::from_value(&content) {
        result.set("content", content);
        response.result = result.to_raw().into();
    }
}

/// Returns what to do about a refusal of the system that `said` tells of.
fn advice(server: &ServerId, said: &str) -> Option<String> {
    let at = REFUSALS.iter().filter_map(|refusal| said.find(refusal)).min()?;
    let around = [said.get(at..).unwrap_or_default(), said.get(..at).unwrap_or_default()];
    let path = around.into_iter().find_map(named_path);
    let folder = path.as_deref().and_then(|path| path.ancestors().find(|folder| folder.is_dir()));
    Some(match folder.and_then(usable_folder) {
        Some(folder) => format!(
            "mgp confines `{server}` to open folders. If it is to use {0}: `mgp open {0}`, then `mgp restart {server}`",
            folder.display()
        ),
        None => format!(
            "mgp confines `{server}` to open folders. What else it is to use is named in its entry: `folders = true` and \
             `read` or `write` under `[servers.confinement]`"
        ),
    })
}

/// Returns the first absolute path that a text names.
fn named_path(text: &str) -> Option<PathBuf> {
    let ends = |c: char| c.is_whitespace() || "\"'`,;:()<>\\".contains(c);
    text.split(ends)
        .find(|word| word.len() > 1 && word.starts_with('/'))
        .map(|word| Path::new(word).to_owned())
}

/// The words by which systems and runtimes refuse a file, without the first letter where some write it large.
const REFUSALS: [&str; 6] =
    ["EACCES", "EPERM", "EROFS", "ermission denied", "peration not permitted", "ead-only file system"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_folder_and_the_commands_that_open_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let said = |text: String| advice(&"notes".into(), &text);
        for text in [
            format!("EACCES: permission denied, open '{}/new.txt'", path.display()),
            format!("cat: {}/new.txt: Permission denied", path.display()),
            format!("[Errno 30] Read-only file system: '{}/new.txt'", path.display()),
        ] {
            let line = said(text).unwrap();
            let commands = format!("`mgp open {}`, then `mgp restart notes`", path.display());
            assert!(line.contains(&commands), "{line}");
        }
        assert!(said("Permission denied".into()).unwrap().contains("[servers.confinement]"));
        assert_eq!(said(format!("no such file: {}", path.display())), None);
    }

    #[test]
    fn the_line_follows_what_the_server_said() {
        let said = r#"{"content":[{"type":"text","text":"EPERM"}],"isError":true}"#;
        let mut response = Response::new(RawJson::parse(said).unwrap());
        advise(&"notes".into(), &mut response);
        let content = Object::from_raw(&response.result).unwrap().get("content").unwrap();
        let content: Vec<serde_json::Value> = content.to().unwrap();
        assert_eq!((content.len(), &content[0]["text"]), (2, &json!("EPERM")));
    }
}
