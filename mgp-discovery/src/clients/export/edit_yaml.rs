//! Edits of YAML, by whole lines.

use super::{
    DocumentNode, DocumentValue, ExportError,
    edit::{EditTarget, Splice, splice},
    edit_json::written_inline,
};

/// Removes members, or the items of those names, from the servers.
pub(super) fn remove(target: &EditTarget<'_>, names: &[&str]) -> Result<String, ExportError> {
    let Some(servers) = target.root.at(target.home) else { return Ok(target.text.to_owned()) };
    let goes = |name: &str| names.contains(&name);
    let members = servers.members().iter().filter(|member| goes(&member.key));
    let items =
        servers.items().iter().filter(|item| item.get("name").and_then(DocumentNode::text).is_some_and(goes));
    let parts = members
        .map(|member| member.key_span.start..member.node.span.end.max(member.key_span.end))
        .chain(items.map(|item| item.span.clone()));
    let mut splices: Vec<Splice> = Vec::new();
    for part in parts {
        if is_flow(target, servers) {
            return Err(target.by_hand(part.start));
        }
        let end = part.start + target.text[part.clone()].trim_end().len();
        splices.push((target.line_start(part.start)..target.line_end(end), String::new()));
    }
    Ok(splice(target.text, splices))
}

pub(super) fn put(target: &EditTarget<'_>, name: &str, entry: &DocumentNode) -> Result<String, ExportError> {
    let Some(home) = target.home.first() else { return Err(target.by_hand(0)) };
    let listed = target.listed;
    let newline = target.newline();
    let Some(member) = target.root.members().iter().find(|member| member.key == *home) else {
        if is_flow(target, target.root) {
            return Err(target.by_hand(target.root.span.start));
        }
        let missing = if target.text.is_empty() || target.text.ends_with('\n') { "" } else { newline };
        return Ok(format!(
            "{}{missing}{home}:{newline}{}",
            target.text,
            block(listed, name, entry, 2, newline)
        ));
    };
    let servers = &member.node;
    let last = servers.members().last().map(|member| member.node.span.end.max(member.key_span.end));
    let last = last.or_else(|| servers.items().last().map(|item| item.span.end));
    Ok(match last {
        Some(last) if is_flow(target, servers) => {
            let entry = written_inline(entry);
            let name = written_inline(&DocumentNode::made_text(name));
            let text = if listed { format!(", {entry}") } else { format!(", {name}: {entry}") };
            splice(target.text, vec![(last..last, text)])
        }
        Some(last) => {
            let column = servers.span.start - target.line_start(servers.span.start);
            let dash = target.text[target.line_start(servers.span.start)..].find('-').unwrap_or(column);
            let column = if listed { dash } else { column };
            let end = target.text[..last].trim_end().len();
            after_line(target, end, Vec::new(), &block(listed, name, entry, column, newline))
        }
        None => {
            // An empty value, `{}` or `[]` is removed.
            let old = servers.span.clone();
            let blank = target.text[..old.start].trim_end_matches(' ').len();
            let gone: Vec<Splice> =
                if old.is_empty() { Vec::new() } else { vec![(blank..old.end, String::new())] };
            let column = member.key_span.start - target.line_start(member.key_span.start) + 2;
            after_line(target, old.end, gone, &block(listed, name, entry, column, newline))
        }
    })
}

/// Puts lines behind the line in which `at` lies.
fn after_line(target: &EditTarget<'_>, at: usize, mut splices: Vec<Splice>, lines: &str) -> String {
    let end = target.line_end(at);
    let missing = if target.text[..end].ends_with('\n') { "" } else { target.newline() };
    splices.push((end..end, format!("{missing}{lines}")));
    splice(target.text, splices)
}

fn is_flow(target: &EditTarget<'_>, node: &DocumentNode) -> bool {
    target.text[node.span.clone()].starts_with(['{', '['])
}

/// Returns the entry on lines that begin at a column.
fn block(listed: bool, name: &str, entry: &DocumentNode, column: usize, newline: &str) -> String {
    let indent = " ".repeat(column);
    let mut lines = Vec::new();
    if !listed {
        lines.push(format!("{indent}{}:", written(&DocumentNode::made_text(name))));
    }
    for (index, member) in entry.members().iter().enumerate() {
        let start = if listed && index == 0 { "- " } else { "  " };
        let key = written(&DocumentNode::made_text(&member.key));
        lines.push(format!("{indent}{start}{key}: {}", written(&member.node)));
    }
    lines.push(String::new());
    lines.join(newline)
}

fn written(node: &DocumentNode) -> String {
    let DocumentValue::Text(text) = &node.value else { return written_inline(node) };
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    if plain { text.clone() } else { written_inline(node) }
}
