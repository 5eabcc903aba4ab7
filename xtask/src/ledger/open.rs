//! The rows of `docs/ledger-open.csv`: requirements that nothing fulfills yet, each with the reason.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

use super::claims::{Claim, ids_of};
use super::rows::cells;

/// The reasons of the open rows, by their ids.
pub(super) type OpenRows = BTreeMap<String, String>;

/// Reads the open rows of the CSV file, whose first column has ids and ranges as `covers` lines have.
pub(super) fn open_rows(csv: &str, known: &BTreeSet<&str>) -> Result<OpenRows> {
    let mut lines = csv.lines();
    ensure!(lines.next() == Some("rows,reason"), "the open rows begin with another header");
    let mut open = OpenRows::new();
    for (number, line) in (2..).zip(lines) {
        let place = || format!("docs/ledger-open.csv:{number}");
        let cells = cells(line).with_context(place)?;
        let [ids, reason] = &cells[..] else { bail!("{}: {} cells, not 2", place(), cells.len()) };
        ensure!(!reason.is_empty(), "{}: the reason is missing", place());
        for id in ids_of(ids).with_context(place)? {
            ensure!(known.contains(id.as_str()), "{}: the ledger has no row {id}", place());
            if open.insert(id.clone(), reason.clone()).is_some() {
                bail!("{}: {id} is open twice", place());
            }
        }
    }
    Ok(open)
}

/// Returns a fault for each claim of an open row: the row is fulfilled, or the test does not prove it.
pub(super) fn claimed(open: &OpenRows, claims: &[Claim]) -> Vec<String> {
    let mut faults = Vec::new();
    for Claim { test, ids, .. } in claims {
        for id in ids.iter().filter(|id| open.contains_key(*id)) {
            faults.push(format!("{test} claims {id}, which docs/ledger-open.csv lists as open"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Evidence;
    use super::*;

    fn read(lines: &str) -> Result<OpenRows> {
        open_rows(&format!("rows,reason\n{lines}"), &BTreeSet::from(["A-01", "A-02", "A-03"]))
    }

    #[test]
    fn rows_are_open_alone_or_in_ranges_for_a_reason() {
        let open = read("A-01..02,\"not built, yet\"\nA-03,later\n").unwrap();
        assert_eq!(open["A-02"], "not built, yet");
        assert_eq!(open.len(), 3);
        for wrong in ["A-01", "A-01,", "A-04,unknown", "A-01,twice\nA-01,twice", ",none"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_claim_of_an_open_row_is_a_fault() {
        let claim = |ids: &[&str]| Claim {
            test: "a.rs:1 a".into(),
            evidence: Evidence::Kernel,
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        };
        let open = read("A-01,later").unwrap();
        assert!(claimed(&open, &[claim(&["A-02"])]).is_empty());
        let faults = claimed(&open, &[claim(&["A-01", "A-02"])]);
        assert_eq!(faults, ["a.rs:1 a claims A-01, which docs/ledger-open.csv lists as open"]);
    }
}
