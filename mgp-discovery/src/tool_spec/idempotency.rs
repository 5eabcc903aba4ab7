//! The statement whether a repeated call changes anything more.

/// Returns whether the first line of the section says that the tool is idempotent; `None` if it says neither.
///
/// The line contains "not idempotent" or "idempotent", or answers with "Yes" or "No", also behind `**Idempotent**:`.
pub(super) fn stated(line: &str) -> Option<bool> {
    let line = line.to_lowercase().replace(['*', '`', '_'], "");
    let answer = line.strip_prefix("idempotent:").unwrap_or(&line);
    match answer.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()) {
        Some("yes" | "true") => return Some(true),
        Some("no" | "false") => return Some(false),
        _ => {}
    }
    let is_denied =
        ["not idempotent", "non-idempotent", "isn't idempotent"].iter().any(|denial| line.contains(denial));
    if is_denied { Some(false) } else { line.contains("is idempotent").then_some(true) }
}
