//! `cargo xtask ledger`: which requirements of `docs/ledger.csv` a test covers.
//!
//! A test says what it covers in a line of its own, with single ids and ranges:
//!
//! ```text
//! // covers: MGP-2.1-02, MGP-2.2-04..15
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Sections to demand, such as MGP-2, MGP-2.*, MGP-14.2..14.5 or BASE-*; all are shown when left out
    #[arg(long, value_delimiter = ',')]
    sections: Vec<String>,
    /// Sides whose rows are demanded: B both, C client, S server, K kernel, D documents; all when left out
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let csv =
        fs::read_to_string(workspace.root.join("docs/ledger.csv")).context("cannot read docs/ledger.csv")?;
    let rows = rows(&csv)?;
    let known: BTreeSet<&str> = rows.iter().map(|r| r.id.as_str()).collect();
    let covered = covered(workspace, &known)?;

    let wanted: Vec<Selection<'_>> =
        args.sections.iter().map(|s| Selection::new(s)).collect::<Result<_>>()?;
    for selection in &wanted {
        ensure!(
            rows.iter().any(|r| selection.holds(&r.id)),
            "`{}` selects no row of the ledger",
            selection.text
        );
    }
    let shown = rows.iter().filter(|r| {
        r.testable()
            && (args.sides.is_empty() || args.sides.contains(&r.side))
            && (wanted.is_empty() || wanted.iter().any(|w| w.holds(&r.id)))
    });
    let mut sections: BTreeMap<Vec<Part<'_>>, Vec<&Row>> = BTreeMap::new();
    for row in shown {
        sections.entry(parts(section(&row.id))).or_default().push(row);
    }

    let (mut total, mut missing) = (0, 0);
    for rows in sections.values() {
        let open: Vec<_> = rows.iter().filter(|r| !covered.contains(&r.id)).collect();
        println!("{:10} {:3} of {:3}", section(&rows[0].id), rows.len() - open.len(), rows.len());
        for row in &open {
            println!("    {:12} {:6} {:4} {}", row.id, row.level, row.side, row.requirement);
        }
        total += rows.len();
        missing += open.len();
    }
    println!("{} of {total} requirements are covered", total - missing);
    if !wanted.is_empty() && missing > 0 {
        bail!("{missing} requirements of {} lack a test", args.sections.join(", "));
    }
    Ok(())
}

/// One requirement.
#[derive(Debug, PartialEq)]
struct Row {
    id: String,
    level: String,
    side: String,
    requirement: String,
}

impl Row {
    /// Returns whether the row can fail; a row that only informs cannot.
    fn testable(&self) -> bool {
        self.level != "info"
    }
}

/// The ids that some test names; an id that the ledger lacks is an error.
fn covered(workspace: &Workspace, known: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let mut named = BTreeSet::new();
    for file in workspace.files()? {
        let comment = match file.extension().and_then(|e| e.to_str()) {
            Some("rs" | "mjs") => "// covers:",
            Some("py") => "# covers:",
            _ => continue,
        };
        let text = fs::read_to_string(workspace.root.join(&file))?;
        for (number, line) in text.lines().enumerate() {
            let Some(list) = line.trim_start().strip_prefix(comment) else { continue };
            for id in ids_of(list).with_context(|| format!("{}:{}", file.display(), number + 1))? {
                if !known.contains(id.as_str()) {
                    bail!("{}:{}: the ledger has no row {id}", file.display(), number + 1);
                }
                named.insert(id);
            }
        }
    }
    Ok(named)
}

/// The ids of one `covers` line, ranges spelled out.
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

/// The rows of the CSV file, in its order.
fn rows(csv: &str) -> Result<Vec<Row>> {
    let mut lines = csv.lines();
    ensure!(lines.next() == Some("id,level,side,requirement"), "the ledger begins with another header");
    let mut rows: Vec<Row> = Vec::new();
    for (number, line) in lines.enumerate() {
        let cells = cells(line).with_context(|| format!("docs/ledger.csv:{}", number + 2))?;
        let [id, level, side, requirement] = <[String; 4]>::try_from(cells).map_err(|cells| {
            anyhow::anyhow!("docs/ledger.csv:{}: {} cells, not 4", number + 2, cells.len())
        })?;
        if rows.iter().any(|r| r.id == id) {
            bail!("docs/ledger.csv:{}: {id} stands twice", number + 2);
        }
        rows.push(Row { id, level, side, requirement });
    }
    Ok(rows)
}

/// The cells of one line; a quoted cell may hold commas, and quotes written twice.
fn cells(line: &str) -> Result<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let cell = cells.last_mut().expect("it starts with one cell and only grows");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    ensure!(!quoted, "a quote is not closed");
    Ok(cells)
}

/// The id without its number: `MGP-2.2-04` stands in `MGP-2.2`.
fn section(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(section, _)| section)
}

/// A run of digits counts as a number, so that §2 comes before §14.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Number(u32),
    Word(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    text.split(['-', '.']).map(|p| p.parse().map_or(Part::Word(p), Part::Number)).collect()
}

/// A choice of rows: everything below a heading, or a range of headings.
#[derive(Debug)]
struct Selection<'a> {
    text: &'a str,
    first: Vec<Part<'a>>,
    last: Vec<Part<'a>>,
}

impl<'a> Selection<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let trimmed = text.strip_suffix(['*']).unwrap_or(text).trim_end_matches(['.', '-']);
        let Some((first, last)) = trimmed.split_once("..") else {
            return Ok(Self { text, first: parts(trimmed), last: parts(trimmed) });
        };
        let (family, _) =
            first.split_once('-').with_context(|| format!("`{text}` is not a range of sections"))?;
        let first = parts(first);
        let last = [parts(family), parts(last.strip_prefix(family).unwrap_or(last).trim_start_matches('-'))]
            .concat();
        ensure!(first.len() == last.len() && first <= last, "`{text}` is not a range such as MGP-14.2..14.5");
        Ok(Self { text, first, last })
    }

    fn holds(&self, id: &str) -> bool {
        let mut head = parts(id);
        head.truncate(self.first.len());
        self.first <= head && head <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(selection: &str, id: &str) -> bool {
        Selection::new(selection).unwrap().holds(id)
    }

    #[test]
    fn a_range_names_each_of_its_ids() {
        assert_eq!(
            ids_of(" BASE-07, MGP-2.2-09..11").unwrap(),
            ["BASE-07", "MGP-2.2-09", "MGP-2.2-10", "MGP-2.2-11"]
        );
    }

    #[test]
    fn a_range_without_sense_is_refused() {
        for list in ["MGP-2.2-15..04", "MGP-2.2-04..MGP-2.2-15", "04..15", ""] {
            assert!(ids_of(list).is_err(), "{list}");
        }
    }

    #[test]
    fn quoted_cells_hold_commas_and_quotes() {
        assert_eq!(
            cells(r#"A-1,wire,B,"one, ""two"", three""#).unwrap(),
            ["A-1", "wire", "B", "one, \"two\", three"]
        );
        assert!(cells("A-1,\"open").is_err());
    }

    #[test]
    fn rows_need_four_cells_and_one_id_each() {
        assert_eq!(rows("id,level,side,requirement\nA-1,rule,B,x\n").unwrap().len(), 1);
        assert!(rows("id,level,side,requirement\nA-1,rule,B\n").is_err());
        assert!(rows("id,level,side,requirement\nA-1,rule,B,x\nA-1,rule,B,y\n").is_err());
        assert!(rows("id,requirement\n").is_err());
    }

    #[test]
    fn a_heading_selects_what_is_below_it() {
        for selection in ["MGP-2", "MGP-2.*", "MGP-2.2", "MGP-2.2-*", "MGP-*"] {
            assert!(selected(selection, "MGP-2.2-04"), "{selection}");
        }
        assert!(!selected("MGP-1.*", "MGP-14.2-01"));
        assert!(!selected("MGP-2.2", "MGP-2.3-01"));
        assert!(selected("BASE-*", "BASE-30"));
        assert!(selected("BASE", "BASE-30"));
    }

    #[test]
    fn a_range_of_headings_includes_both_ends() {
        assert!(selected("MGP-14.2..14.5", "MGP-14.2-01"));
        assert!(selected("MGP-14.2..14.5", "MGP-14.5-15"));
        assert!(!selected("MGP-14.2..14.5", "MGP-14.6-01"));
        assert!(!selected("MGP-14.2..14.5", "MGP-14.1-01"));
        assert!(selected("MGP-14.2..MGP-14.5", "MGP-14.3-19"));
        assert!(Selection::new("MGP-14.5..14.2").is_err());
    }

    #[test]
    fn sections_sort_by_number() {
        assert!(parts("MGP-2.4") < parts("MGP-14.1"));
    }
}
