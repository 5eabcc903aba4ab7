//! The rows of `docs/ledger.csv`.

use anyhow::{Context, Result, bail, ensure};

/// A requirement of the specification.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) level: String,
    pub(super) side: String,
    pub(super) requirement: String,
}

impl Row {
    /// Returns whether the row can fail; a row that only informs cannot.
    pub(super) fn is_testable(&self) -> bool {
        self.level != "info"
    }

    /// Returns whether the row binds this side, alone or with others (`C+S`).
    pub(super) fn binds(&self, side: &str) -> bool {
        self.side.split('+').any(|one| one == side)
    }
}

/// Reads the rows of the CSV file, in its order.
pub(super) fn rows(csv: &str) -> Result<Vec<Row>> {
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

/// Splits one line into its cells; a quoted cell may hold commas, and quotes written twice.
pub(super) fn cells(line: &str) -> Result<Vec<String>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
