//! The rows that tests say they cover, in a line of their own with single ids and ranges.
//!
//! ```text
//! // covers: MGP-2.1-02, MGP-2.2-04..15
//! #[test]
//! ```
//!
//! A function that no runner calls proves nothing, so a line above one is an error. What a chore does counts as a test.

use std::{collections::BTreeSet, fs};

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
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(workspace.root.join(&file))?;
        claims.extend(claims_of(&file.to_string_lossy().replace('\\', "/"), &text)?);
    }
    for claim in &claims {
        if let Some(id) = claim.ids.iter().find(|id| !known.contains(id.as_str())) {
            bail!("{}: the ledger has no row {id}", claim.test);
        }
    }
    Ok(claims)
}

fn claims_of(file: &str, text: &str) -> Result<Vec<Claim>> {
    let evidence = Evidence::of(file, text);
    let listed = listed(text);
    let mut claims = Vec::new();
    let mut open: Option<Open> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        if let Some(list) = line.strip_prefix("// covers:") {
            let ids = ids_of(list).with_context(|| format!("{file}:{number}"))?;
            open.get_or_insert_with(|| Open { number, ids: BTreeSet::new(), is_test: false }).ids.extend(ids);
        } else if let Some(open) = &mut open
            && is_test_attribute(line)
        {
            open.is_test = true;
        } else if let Some(name) = name_of(line)
            && let Some(Open { number, ids, is_test }) = open.take()
        {
            let is_called = is_test || listed.contains(name) || Evidence::is_of_chores(file);
            ensure!(is_called, "{file}:{number}: `{name}` is not a test");
            claims.push(Claim { test: format!("{file}:{number} {name}"), evidence, ids });
        }
    }
    if let Some(Open { number, .. }) = open {
        bail!("{file}:{number}: a `covers` line stands above no test");
    }
    Ok(claims)
}

/// The rows of a test whose name is still to come.
struct Open {
    number: usize,
    ids: BTreeSet<String>,
    is_test: bool,
}

/// Returns whether a line is `#[test]` or an attribute such as `#[tokio::test(start_paused = true)]`.
fn is_test_attribute(line: &str) -> bool {
    let path = line.strip_prefix("#[").and_then(|rest| rest.split(['(', ']']).next());
    path.is_some_and(|path| path == "test" || path.ends_with("::test"))
}

/// Returns the tests that a file gives to a runner of its own: `tests![one, another if some_condition]`.
fn listed(text: &str) -> BTreeSet<&str> {
    text.split_once("tests![")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or_else(BTreeSet::new, |(list, _)| {
            list.split(',').filter_map(|item| item.split_whitespace().next()).collect()
        })
}

/// Returns the name of the function that begins on this line.
fn name_of(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_start = before.split_whitespace().all(|word| word == "async" || word.starts_with("pub"));
    let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    (is_start && !name.is_empty()).then_some(name)
}

/// Returns the ids of a list of ids and ranges, ranges spelled out.
pub(super) fn ids_of(list: &str) -> Result<Vec<String>> {
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
    ensure!(!ids.is_empty(), "the list names no id");
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
            "tests![",
            "    other,",
            "    third if is_unix,",
            "];",
            "// covers: A-1",
            "#[tokio::test(start_paused = true)]",
            "// covers: A-2, A-3",
            "async fn one() {",
            "// covers: A-4",
            "    pub(crate) const NO: u8 = 1;",
            "fn other(a: u8) {}",
            "// covers: A-5",
            "async fn third() {}",
        ];
        let claims = claims_of("mgp-types/src/x.rs", &text.join("\n")).unwrap();
        let read: Vec<_> = claims.iter().map(|claim| (claim.test.as_str(), claim.ids.len())).collect();
        assert_eq!(
            read,
            [
                ("mgp-types/src/x.rs:5 one", 3),
                ("mgp-types/src/x.rs:9 other", 1),
                ("mgp-types/src/x.rs:12 third", 1)
            ]
        );
    }

    #[test]
    fn what_no_runner_calls_covers_nothing() {
        for below in ["const A: u8 = 1;", "fn helper() {}", "#[derive(Debug)]\nfn helper() {}", ""] {
            assert!(claims_of("a.rs", &format!("// covers: A-1\n{below}")).is_err(), "{below}");
        }
        assert!(claims_of("a.rs", "// covers: A-1\nfn helper() {}\n#[test]\nfn one() {}").is_err());
        let chore = "// covers: A-1\npub(super) fn run() {}";
        assert!(claims_of("xtask/src/servers/mod.rs", chore).is_ok());
        assert!(claims_of("xtask/src/table.rs", chore).is_err());
    }
}
