//! The references of clients to values outside of the file, translated to the forms of `mgp.toml`: `${NAME}` and
//! `${NAME:-otherwise}`.

use std::path::Path;

use crate::clients::ClientKind;
use crate::config::{literal, refers_to_secret};
use crate::document::DocumentNode;
use crate::names;

/// The facts about a file that its references need.
pub(super) struct ReferenceContext<'a> {
    pub(super) kind: ClientKind,
    /// The directory of the project that the client has open, if it is known.
    pub(super) project: Option<&'a Path>,
    /// The values that the client asks its user for: the `inputs` of VS Code.
    pub(super) inputs: Vec<&'a DocumentNode>,
}

/// Rewrites all references of a text. References that could not be carried over are reported to `note`.
pub(super) fn translate(context: &ReferenceContext<'_>, text: &str, note: &mut dyn FnMut(String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The start of a reference is one byte.
        let (done, len) = reference(context, rest, note).unwrap_or_else(|| (rest[..1].to_owned(), 1));
        out.push_str(&done);
        rest = &rest[len..];
    }
    out.push_str(rest);
    // No client has a spelling for the user's secrets, and a file from elsewhere must not reach them.
    if refers_to_secret(&out) {
        note(format!(
            "`{text}` is a plain text here, because a client's file cannot refer to secrets of mgp"
        ));
        return literal(text);
    }
    out
}

/// Returns the reference at the start of the text in our spelling, and its length in the client's.
fn reference(
    context: &ReferenceContext<'_>,
    text: &str,
    note: &mut dyn FnMut(String),
) -> Option<(String, usize)> {
    if let Some(inner) = enclosed(text, "${{", "}}") {
        let name = inner.trim().rsplit('.').next().unwrap_or_default();
        return Some((format!("${{{}}}", names::variable(name)), inner.len() + 5));
    }
    if let Some(inner) = enclosed(text, "${", "}") {
        return Some((translated(context, inner, note), inner.len() + 3));
    }
    if context.kind == ClientKind::Opencode {
        let inner = enclosed(text, "{", "}")?;
        if let Some(name) = inner.strip_prefix("env:") {
            return Some((format!("${{{}}}", names::variable(name)), inner.len() + 2));
        }
        if inner.starts_with("file:") {
            note(format!("`{{{inner}}}` stands for the contents of a file: put them into a variable"));
        }
        return None;
    }
    if context.kind == ClientKind::Crush && text.starts_with('$') {
        if text.starts_with("$(") {
            note("`$(…)` would be run by a shell: put its output into a variable".to_owned());
            return None;
        }
        let len = text[1..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = &text[1..=len];
        return names::is_variable(name).then(|| (format!("${{{name}}}"), len + 1));
    }
    None
}

fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(open)?;
    inner.find(close).map(|end| &inner[..end])
}

fn translated(context: &ReferenceContext<'_>, inner: &str, note: &mut dyn FnMut(String)) -> String {
    if let Some(name) = inner.strip_prefix("env:") {
        return format!("${{{name}}}");
    }
    if let Some(id) = inner.strip_prefix("input:") {
        return input(context, id, note);
    }
    match inner {
        "userHome" => return "${HOME}".to_owned(),
        "pathSeparator" | "/" => return std::path::MAIN_SEPARATOR_STR.to_owned(),
        "workspaceFolder" | "workspaceRoot" | "PROJECT_ROOT" => {
            if let Some(project) = context.project.and_then(Path::to_str) {
                return project.to_owned();
            }
            note(format!("`${{{inner}}}` is the project that the client has open: set `WORKSPACE_FOLDER`"));
            return "${WORKSPACE_FOLDER}".to_owned();
        }
        _ => {}
    }
    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
    if !names::is_variable(name) && !inner.starts_with("secret:") {
        note(format!("`${{{inner}}}` is an unknown reference and was left as it is"));
    }
    format!("${{{inner}}}")
}

/// Turns a value that the client asks its user for into a variable.
fn input(context: &ReferenceContext<'_>, id: &str, note: &mut dyn FnMut(String)) -> String {
    let name = names::variable(id);
    let known = context.inputs.iter().find(|input| input.get("id").and_then(DocumentNode::text) == Some(id));
    let said = |key| {
        known.and_then(|input| input.get(key)).and_then(DocumentNode::text).filter(|text| !text.contains('}'))
    };
    let description = said("description").map(|text| format!(" ({text})")).unwrap_or_default();
    note(format!("`${{input:{id}}}` is asked for by the client: set `{name}` instead{description}"));
    match said("default").filter(|_| known.is_some_and(|input| input.get("password").is_none())) {
        Some(default) => format!("${{{name}:-{default}}}"),
        None => format!("${{{name}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(kind: ClientKind, text: &str) -> (String, usize) {
        let mut notes = 0;
        let context = ReferenceContext { kind, project: None, inputs: Vec::new() };
        (translate(&context, text, &mut |_| notes += 1), notes)
    }

    #[test]
    fn references_of_clients_become_ours() {
        for (kind, theirs, ours, notes) in [
            (ClientKind::Cursor, "a${A}b${B:-c}", "a${A}b${B:-c}", 0),
            (ClientKind::Cursor, "${env:TOKEN}/${userHome}", "${TOKEN}/${HOME}", 0),
            (ClientKind::VsCode, "Bearer ${input:api-key}", "Bearer ${API_KEY}", 1),
            (ClientKind::VsCode, "${workspaceFolder}/x", "${WORKSPACE_FOLDER}/x", 1),
            (ClientKind::Opencode, "{env:K} {x} {file:~/k}", "${K} {x} {file:~/k}", 1),
            (ClientKind::Crush, "$KEY-$$(cat x)", "${KEY}-$$(cat x)", 1),
            (ClientKind::Continue, "${{ secrets.KEY }}", "${KEY}", 0),
            (ClientKind::Kiro, "${keyring:gh}", "${keyring:gh}", 1),
            (ClientKind::Cursor, "Bearer ${secret:X}", "Bearer $${secret:X}", 1),
            (ClientKind::Cursor, "$${secret:X} ${env:secret:X}", "$$$${secret:X} $${env:secret:X}", 1),
            (ClientKind::Kiro, "$ { ${ é$", "$ { ${ é$", 0),
        ] {
            assert_eq!(translated(kind, theirs), (ours.to_owned(), notes), "{theirs}");
        }
    }

    #[test]
    fn a_known_project_is_put_in() {
        let project = Some(Path::new("/p"));
        let context = ReferenceContext { kind: ClientKind::Cursor, project, inputs: Vec::new() };
        let text = translate(&context, "${workspaceFolder}/x", &mut |_| {});
        assert_eq!(text, "/p/x");
    }
}
