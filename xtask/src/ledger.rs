//! `cargo xtask ledger`: the requirements of `docs/ledger.csv`, and whether tests prove them.
//!
//! A test names the rows that it covers in a line of its own (`claims`), and where it lies tells what it runs. A row is
//! covered by a test that runs the side which the row binds (`evidence`): a row of the kernel by one that runs the
//! kernel, a row of servers or clients by one in which a server or client of the SDKs has a peer. So a row about a name on
//! the wire is covered only by a frame that one of them wrote, never by a type that is written and read back.
//!
//! A row that nothing fulfills yet is in `docs/ledger-open.csv` with the reason (`open`); no test may claim it. Every
//! other row has to be covered.
//!
//! A test that claims more than ten rows can hardly assert each of them, and is named as well.

mod claims;
mod evidence;
mod open;
mod rows;
mod sections;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use self::claims::{Claim, claims};
use self::evidence::Evidence;
use self::open::{OpenRows, claimed, open_rows};
use self::rows::{Row, rows};
use self::sections::{Selection, parts, section};
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Sections to show and to demand, such as MGP-2, MGP-2.*, MGP-14.2..14.5 or P-*; all when left out
    #[arg(long, value_delimiter = ',')]
    sections: Vec<String>,
    /// Sides whose rows are shown and demanded: B all, C client, S server, K kernel, D documents; all when left out
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let read =
        |name| fs::read_to_string(workspace.root.join(name)).with_context(|| format!("cannot read {name}"));
    let rows = rows(&read("docs/ledger.csv")?)?;
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let open = open_rows(&read("docs/ledger-open.csv")?, &known)?;
    let claims = claims(workspace, &known)?;
    let best = best(&claims);

    let wanted = selections(&args.sections, &rows)?;
    let shown: Vec<Judged<'_>> = rows
        .iter()
        .filter(|row| row.is_testable())
        .filter(|row| args.sides.is_empty() || args.sides.iter().any(|side| row.binds(side)))
        .filter(|row| wanted.is_empty() || wanted.iter().any(|wanted| wanted.holds(&row.id)))
        .map(|row| Judged { row, best: best.get(row.id.as_str()).copied() })
        .collect();

    by_section(&shown, &open);
    by_weakness(&shown);
    let crowded = crowded(&claims);
    let missing =
        shown.iter().filter(|judged| !judged.is_covered() && !open.contains_key(&judged.row.id)).count();
    ensure!(missing == 0, "{missing} requirements lack a test");
    let claimed = claimed(&open, &claims);
    ensure!(claimed.is_empty(), "{}", claimed.join("\n"));
    if !crowded.is_empty() {
        bail!("{} tests claim more than {MAX_ROWS} rows; split them", crowded.len());
    }
    Ok(())
}

/// The rows that one test may claim.
const MAX_ROWS: usize = 10;

fn selections<'a, T: AsRef<str>>(texts: &'a [T], rows: &[Row]) -> Result<Vec<Selection<'a>>> {
    let mut selections = Vec::new();
    for text in texts {
        let selection = Selection::new(text.as_ref())?;
        ensure!(
            rows.iter().any(|row| selection.holds(&row.id)),
            "`{}` selects no row of the ledger",
            selection.text
        );
        selections.push(selection);
    }
    Ok(selections)
}

/// Returns the strongest evidence that some test claims to give for each row.
fn best(claims: &[Claim]) -> BTreeMap<&str, Evidence> {
    let mut best = BTreeMap::new();
    for claim in claims {
        for id in &claim.ids {
            let strongest = best.entry(id.as_str()).or_insert(claim.evidence);
            *strongest = claim.evidence.max(*strongest);
        }
    }
    best
}

/// A row, and the strongest evidence for it.
struct Judged<'a> {
    row: &'a Row,
    best: Option<Evidence>,
}

impl Judged<'_> {
    fn is_covered(&self) -> bool {
        self.best >= Some(Evidence::needed_by(self.row))
    }
}

/// Prints how many rows of each section are covered, and those that are not, open ones with the reason.
fn by_section(shown: &[Judged<'_>], open: &OpenRows) {
    let mut sections: BTreeMap<_, Vec<&Judged<'_>>> = BTreeMap::new();
    for judged in shown {
        sections.entry(parts(section(&judged.row.id))).or_default().push(judged);
    }
    for rows in sections.values() {
        let lacking: Vec<_> = rows.iter().filter(|judged| !judged.is_covered()).collect();
        println!("{:10} {:3} of {:3}", section(&rows[0].row.id), rows.len() - lacking.len(), rows.len());
        for Judged { row, best } in lacking {
            let lack = best.map_or("no test", Evidence::too_weak);
            let why = open.get(&row.id).map_or_else(|| lack.to_owned(), |reason| format!("open: {reason}"));
            println!("    {:12} {:6} {:4} {} ({why})", row.id, row.level, row.side, row.requirement);
        }
    }
    let covered = shown.iter().filter(|judged| judged.is_covered()).count();
    let open = shown.iter().filter(|judged| open.contains_key(&judged.row.id)).count();
    println!("{covered} of {} requirements are covered, {open} are open", shown.len());
}

/// Prints the rows whose tests fall short in ways that are easily missed.
fn by_weakness(shown: &[Judged<'_>]) {
    let weak = || shown.iter().filter(|judged| !judged.is_covered());
    let of_types = weak().filter(|judged| judged.best == Some(Evidence::Types));
    tell("rows are claimed by tests of types alone", of_types);
    let of_kernel = weak().filter(|judged| judged.row.binds("K") && judged.best.is_some());
    tell("rows of the kernel are claimed only by tests that do not run it", of_kernel);
}

fn tell<'a>(what: &str, weak: impl Iterator<Item = &'a Judged<'a>>) {
    let ids: Vec<_> = weak.map(|judged| judged.row.id.as_str()).collect();
    println!("{} {what}{}{}", ids.len(), if ids.is_empty() { "" } else { ": " }, ids.join(" "));
}

/// Returns the tests that claim more rows than one test can assert, and prints them.
fn crowded(claims: &[Claim]) -> Vec<&Claim> {
    let crowded: Vec<_> = claims.iter().filter(|claim| claim.ids.len() > MAX_ROWS).collect();
    for claim in &crowded {
        println!("{} claims {} rows", claim.test, claim.ids.len());
    }
    crowded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_covered_by_evidence_that_is_strong_enough() {
        let row = rows("id,level,side,requirement\nMGP-1-01,wire,K,x\n").unwrap().remove(0);
        for (best, is_covered) in [
            (None, false),
            (Some(Evidence::Types), false),
            (Some(Evidence::Peers), false),
            (Some(Evidence::Kernel), true),
        ] {
            assert_eq!(Judged { row: &row, best }.is_covered(), is_covered, "{best:?}");
        }
    }

    #[test]
    fn the_strongest_claim_counts() {
        let claim = |evidence, id: &str| Claim {
            test: "a.rs:1 a".into(),
            evidence,
            ids: BTreeSet::from([id.to_owned()]),
        };
        let claims =
            [claim(Evidence::Types, "A-1"), claim(Evidence::Kernel, "A-1"), claim(Evidence::Part, "A-1")];
        assert_eq!(best(&claims), BTreeMap::from([("A-1", Evidence::Kernel)]));
    }
}
