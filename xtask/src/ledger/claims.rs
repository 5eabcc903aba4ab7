//! The rows that tests say they cover, in a line of their own with single ids and ranges.
//!
//! ```text
//! // covers: MGP-2.1-02, MGP-2.2-04..15
//! ```

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::evidence::Evidence;
use crate::workspace::Workspace;

/// A test, and the rows that it says it covers.
#[derive(Debug)]
pub(super) struct Claim {
    /// The file, the line of the first row, and the name of the test.
    pub(super) test: String,
    pub(super) evidence: Evidence,
    pub(super) ids: BTreeSet<String>,
}

/// Reads the claims of all files; an id that the ledger lacks is an error.
pub(super) fn claims(workspace: &Workspace, known: &BTreeSet<&str>) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    for file in workspace.files()? {
        let Some(comment) = comment(&file) else { continue };
        let text = fs::read_to_string(workspace.root.join(&file))?;
        claims.extend(claims_of(&file.to_string_lossy().replace('\\', "/"), &text, comment)?);
    }
    for claim in &claims {
        if let Some(id) = claim.ids.iter().find(|id| !known.contains(id.as_str())) {
            bail!("{}: the ledger has no row {id}", claim.test);
        }
    }
    Ok(claims)
}

/// Returns how a line begins that names rows, in files that may have one.
fn comment(file: &Path) -> Option<&'static str> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("rs" | "mjs") => Some("// covers:"),
        Some("py") => Some("# covers:"),
        _ => None,
    }
}

fn claims_of(file: &str, text: &str, comment: &str) -> Result<Vec<Claim>> {
    let evidence = Evidence::of(file, text);
    let mut claims = Vec::new();
    let mut open: Option<(usize, BTreeSet<String>)> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        if let Some(list) = line.strip_prefix(comment) {
            let ids = ids_of(list).with_context(|| format!("{file}:{number}"))?;
            open.get_or_insert_with(|| (number, BTreeSet::new())).1.extend(ids);
        } else if let Some(name) = name_of(line)
            && let Some((number, ids)) = open.take()
        {
            claims.push(Claim { test: format!("{file}:{number} {name}"), evidence, ids });
        }
    }
    if let Some((number, _)) = open {
        bail!("{file}:{number}: a `covers` line stands above no test");
    }
    Ok(claims)
}

/// Returns the name of the function that begins on this line.
fn name_of(line: &str) -> Option<&str> {
    let (before, rest) = ["fn ", "def ", "function "].iter().find_map(|word| line.split_once(word))?;
    let is_start = before.split_whitespace().all(|word| matches!(word, "pub" | "async" | "export"));
    let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    (is_start && !name.is_empty()).then_some(name)
}

/// Returns the ids of one `covers` line, ranges spelled out.
fn ids_of(list: &str) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for item in list.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        let Some((start, end)) = item.split_once("..") else {
            ids.push(item.to_owned());
            continue;
        };
        let (section, from) =
            start.rsplit_once('-').with_context(|| format!("`{item}` is not a range of ids"))?;
        let (from, to) = (number(from, item)?, number(end, item)?);
        ensure!(from < to, "the range `{item}` runs backwards");
        ids.extend((from..=to).map(|n| format!("{section}-{n:02}")));
    }
    ensure!(!ids.is_empty(), "a `covers` line names no id");
    Ok(ids)
}

fn number(digits: &str, item: &str) -> Result<u32> {
    digits.parse().with_context(|| format!("`{item}` is not a range such as MGP-2.2-04..15"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_each_of_its_ids() {
        assert_eq!(
            ids_of(" BASE-07, MGP-2.2-09..11, P-1-09..10").unwrap(),
            ["BASE-07", "MGP-2.2-09", "MGP-2.2-10", "MGP-2.2-11", "P-1-09", "P-1-10"]
        );
    }

    #[test]
    fn a_range_without_sense_is_refused() {
        for list in ["MGP-2.2-15..04", "MGP-2.2-04..MGP-2.2-15", "04..15", ""] {
            assert!(ids_of(list).is_err(), "{list}");
        }
    }

    #[test]
    fn a_test_has_all_lines_above_it_and_none_of_another() {
        let text = [
            "// covers: A-1",
            "#[tokio::test]",
            "// covers: A-2, A-3",
            "async fn one() {",
            "// covers: A-4",
            "    pub(crate) const NO: u8 = 1;",
            "fn other(a: u8) {}",
        ];
        let text = text.join("\n");
        let claims = claims_of("mgp-types/src/x.rs", &text, "// covers:").unwrap();
        let read: Vec<_> = claims.iter().map(|claim| (claim.test.as_str(), claim.ids.len())).collect();
        assert_eq!(read, [("mgp-types/src/x.rs:1 one", 3), ("mgp-types/src/x.rs:5 other", 1)]);
        assert!(claims_of("a.rs", "// covers: A-1\nconst A: u8 = 1;", "// covers:").is_err());
    }
}
