//! Texts of clients' files with their secrets hidden.

use std::ops::Range;

use super::{ClientKind, DocumentNode, DocumentValue};
use crate::clients::secret;
use crate::document;

/// Returns the text with every secret as `***`, on as many lines as before.
pub(super) fn mask(kind: ClientKind, text: &str) -> String {
    let plain = document::without_bom(text);
    let offset = text.len() - plain.len();
    let mut found = Vec::new();
    if let Ok(root) = document::parse(kind.format(), plain) {
        walk(plain, "", &root, &mut found);
    }
    found.sort_by_key(|part: &Range<usize>| (part.start, part.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for part in found {
        let part = part.start + offset..part.end + offset;
        if part.start < done {
            // Overlapping parts are hidden as one.
            done = done.max(part.end);
            continue;
        }
        out.push_str(&text[done..part.start]);
        out.push_str(&stars(&text[part.clone()]));
        done = part.end;
    }
    out.push_str(&text[done..]);
    // A comment holds no value, but can hold a secret.
    out.split_inclusive('\n').map(secret::line_without_secrets).collect()
}

fn walk(text: &str, name: &str, node: &DocumentNode, found: &mut Vec<Range<usize>>) {
    match &node.value {
        DocumentValue::Map(members) => {
            for member in members {
                walk(text, &member.key, &member.node, found);
            }
        }
        DocumentValue::List(items) => {
            let mut option = name;
            for item in items {
                walk(text, option, item, found);
                option =
                    item.text().filter(|text| text.starts_with('-') && !text.contains('=')).unwrap_or(name);
            }
        }
        _ => {
            let Some(value) = node.scalar() else { return };
            for part in secret::find(name, &value) {
                let raw = &text[node.span.clone()];
                // A value that is written with escapes is hidden as a whole.
                match raw.find(&value[part.clone()]) {
                    Some(at) => found.push(node.span.start + at..node.span.start + at + part.len()),
                    None => found.push(node.span.clone()),
                }
            }
        }
    }
}

fn stars(part: &str) -> String {
    let lines: Vec<&str> =
        part.split('\n').map(|line| if line.trim().is_empty() { "" } else { "***" }).collect();
    lines.join("\n")
}
