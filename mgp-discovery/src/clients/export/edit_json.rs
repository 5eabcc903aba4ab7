//! Edits of JSON. Comments, blanks and the order of all other members stay.

use super::{
    DocumentNode, DocumentValue, ExportError,
    edit::{EditTarget, Splice, splice},
};
use crate::clients::document::skip_trivia;

/// Removes members from the table of servers.
pub(super) fn remove(target: &EditTarget<'_>, names: &[&str]) -> String {
    let members = target.root.at(target.home).map(DocumentNode::members).unwrap_or_default();
    let goes = |name: &str| names.contains(&name);
    let mut splices: Vec<Splice> = Vec::new();
    for member in members.iter().filter(|member| goes(&member.key)) {
        let comma = comma_after(target, member.node.span.end);
        let mut start = member.key_span.start;
        let mut end = comma.map_or(member.node.span.end, |comma| comma + 1);
        // A member on a line of its own is removed with its line and the comment there.
        let line_start = target.line_start(start);
        let line_end = target.line_end(end);
        let rest = target.text[end..line_end].trim();
        let alone = target.text[line_start..start].trim().is_empty();
        if alone && (rest.is_empty() || rest.starts_with("//")) {
            start = line_start;
            end = line_end;
        }
        splices.push((start..end, String::new()));
    }
    // Without the members behind it, the last one that stays has a comma too many.
    if let Some(last) = members.last()
        && goes(&last.key)
        && comma_after(target, last.node.span.end).is_none()
        && let Some(kept) = members.iter().rev().find(|member| !goes(&member.key))
        && let Some(comma) = comma_after(target, kept.node.span.end)
    {
        splices.push((comma..comma + 1, String::new()));
    }
    splice(target.text, splices)
}

/// Puts a member into the table of servers, which is created if there is none.
pub(super) fn put(target: &EditTarget<'_>, name: &str, entry: &DocumentNode) -> Result<String, ExportError> {
    let unit = indent_unit(target);
    if target.text[target.root.span.clone()].is_empty() {
        let wrapped = wrap(target.home, name, entry.clone());
        return Ok(format!(
            "{}{}{}",
            target.text,
            written(&wrapped, &unit, "", target.newline()),
            target.newline()
        ));
    }
    let path: Vec<&str> = target.home.iter().copied().chain([name]).collect();
    let mut parent = target.root;
    for (depth, key) in path.iter().enumerate() {
        match parent.get(key) {
            Some(child) if depth + 1 < path.len() && matches!(child.value, DocumentValue::Map(_)) => {
                parent = child;
            }
            found => {
                let value = wrap(&path[depth + 1..path.len().max(depth + 2) - 1], name, entry.clone());
                let value = if depth + 1 == path.len() { entry.clone() } else { value };
                return Ok(match found {
                    Some(old) => replace(target, &unit, old, &value),
                    None => insert(target, &unit, parent, key, &value),
                });
            }
        }
    }
    Err(target.by_hand(parent.span.start))
}

/// Returns the entry within the tables that are still to be created.
fn wrap(tables: &[&str], name: &str, entry: DocumentNode) -> DocumentNode {
    let one = |key: &str, node| {
        DocumentNode::made(DocumentValue::Map(vec![super::DocumentMember::made(key, node)]))
    };
    tables.iter().rev().fold(one(name, entry), |node, key| one(key, node))
}

fn replace(target: &EditTarget<'_>, unit: &str, old: &DocumentNode, value: &DocumentNode) -> String {
    let indent = indent_of(target, old.span.start);
    splice(target.text, vec![(old.span.clone(), written(value, unit, indent, target.newline()))])
}

fn insert(
    target: &EditTarget<'_>,
    unit: &str,
    parent: &DocumentNode,
    key: &str,
    value: &DocumentNode,
) -> String {
    let newline = target.newline();
    let key = quoted(key);
    let Some(last) = parent.members().last() else {
        let indent = indent_of(target, parent.span.start);
        let inner = format!("{indent}{unit}");
        let value = written(value, unit, &inner, newline);
        // The entry goes behind the comments within the table.
        let (start, end) = (parent.span.start + 1, parent.span.end - 1);
        let at = start + target.text[start..end].trim_end().len();
        return splice(
            target.text,
            vec![(at..end, format!("{newline}{inner}{key}: {value}{newline}{indent}"))],
        );
    };
    let comma = comma_after(target, last.node.span.end);
    let end = comma.map_or(last.node.span.end, |comma| comma + 1);
    let first = &parent.members()[0];
    let indent = indent_of(target, first.key_span.start);
    let own_lines =
        target.text[target.line_start(first.key_span.start)..first.key_span.start].trim().is_empty();
    if !own_lines {
        let value = written_inline(value);
        let text = if comma.is_some() { format!(" {key}: {value},") } else { format!(", {key}: {value}") };
        return splice(target.text, vec![(end..end, text)]);
    }
    let value = written(value, unit, indent, newline);
    // A comment on the last line stays with the member there.
    let line_end = target.line_end(end);
    let comment = target.text[end..line_end].trim_start().starts_with("//");
    let at = if comment { end + target.text[end..line_end].trim_end().len() } else { end };
    let text = format!("{newline}{indent}{key}: {value}{}", if comma.is_some() { "," } else { "" });
    if comma.is_some() {
        splice(target.text, vec![(at..at, text)])
    } else if at == end {
        splice(target.text, vec![(at..at, format!(",{text}"))])
    } else {
        splice(target.text, vec![(end..end, ",".to_owned()), (at..at, text)])
    }
}

fn comma_after(target: &EditTarget<'_>, end: usize) -> Option<usize> {
    let next = skip_trivia(target.text, end);
    target.text[next..].starts_with(',').then_some(next)
}

/// Returns the blanks at the begin of the line.
fn indent_of<'a>(target: &EditTarget<'a>, at: usize) -> &'a str {
    let line = &target.text[target.line_start(at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the indentation of one level in the file.
fn indent_unit(target: &EditTarget<'_>) -> String {
    let first = target.root.members().first().map(|member| indent_of(target, member.key_span.start));
    first.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn scalar(node: &DocumentNode) -> String {
    match &node.value {
        DocumentValue::Null => "null".to_owned(),
        DocumentValue::Bool(yes) => yes.to_string(),
        DocumentValue::Number(number) => number.clone(),
        DocumentValue::Text(text) => quoted(text),
        DocumentValue::List(_) | DocumentValue::Map(_) => written_inline(node),
    }
}

/// Returns the node on one line. YAML can be written in this form, too.
pub(super) fn written_inline(node: &DocumentNode) -> String {
    match &node.value {
        DocumentValue::List(items) => {
            let items: Vec<String> = items.iter().map(written_inline).collect();
            format!("[{}]", items.join(", "))
        }
        DocumentValue::Map(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|member| format!("{}: {}", quoted(&member.key), written_inline(&member.node)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        _ => scalar(node),
    }
}

/// Returns the node on lines of their own, but for lists.
fn written(node: &DocumentNode, unit: &str, indent: &str, newline: &str) -> String {
    match &node.value {
        DocumentValue::Map(members) if !members.is_empty() => {
            let inner = format!("{indent}{unit}");
            let members: Vec<String> = members
                .iter()
                .map(|member| {
                    format!(
                        "{inner}{}: {}",
                        quoted(&member.key),
                        written(&member.node, unit, &inner, newline)
                    )
                })
                .collect();
            format!("{{{newline}{}{newline}{indent}}}", members.join(&format!(",{newline}")))
        }
        _ => written_inline(node),
    }
}
