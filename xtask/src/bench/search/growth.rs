//! How an index grows: time and memory by the number of tools, told by the example `scale`.

use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Bench, COMMAND};
use crate::bench::gates::number;
use crate::bench::origin::origin;
use crate::bench::stream::Figure;
use crate::process;
use crate::table::Table;

impl Bench {
    /// Measures how time and memory grow with the number of tools.
    pub(super) fn growth(&self) -> Result<Vec<String>> {
        println!("measuring how the index grows");
        let sizes: &[u32] =
            if self.quick { &[1_000, 10_000, 100_000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
        let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let curve = self.curve(&sizes.join(","))?;
        let figures = targets(&curve)?;

        println!("\n{}", origin(COMMAND, self.quick)?);
        println!("{}", table(&curve));
        let mut table = Table::new(["figure", "ours", "target", "verdict"]);
        for figure in &figures {
            table.row(figure.cells());
        }
        println!("{table}");
        Ok(figures.iter().filter(|figure| !figure.reached()).map(|figure| figure.name.to_owned()).collect())
    }

    fn curve(&self, sizes: &str) -> Result<Vec<Size>> {
        let mut scale = Command::new(&self.scale);
        scale.args(["--json", "--tools", sizes]);
        let lines = process::output(&mut scale)?;
        lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

/// The output of the example `scale` for an index of some size.
#[derive(Debug, Default, Deserialize)]
struct Size {
    tools: u32,
    definition_bytes: f64,
    tools_per_second: f64,
    hybrid_us: Latency,
    keyword_us: Latency,
    semantic_us: Latency,
    change_ms: Worst,
    search_beside_changes_us: Latency,
    index_mb: f64,
    peak_mb: f64,
    embedder_mb: f64,
}

#[derive(Debug, Default, Deserialize)]
struct Latency {
    p50: f64,
    p99: f64,
}

#[derive(Debug, Default, Deserialize)]
struct Worst {
    half: f64,
    most: f64,
}

fn targets(curve: &[Size]) -> Result<Vec<Figure>> {
    let of = |tools| {
        let size = curve.iter().find(|size| size.tools == tools);
        size.with_context(|| format!("{tools} tools were not measured"))
    };
    let (small, large) = (of(1_000)?, of(100_000)?);
    let resident = large.index_mb + large.embedder_mb;
    Ok(vec![
        Figure::at_most("ms of a hybrid search, 100,000 tools, p50", large.hybrid_us.p50 / 1e3, 3.0),
        Figure::at_most("ms of a hybrid search, 100,000 tools, p99", large.hybrid_us.p99 / 1e3, 10.0),
        Figure::at_most("µs of a hybrid search, 1,000 tools, p50", small.hybrid_us.p50, 150.0),
        Figure::at_least("tools indexed a second, 100,000 tools", large.tools_per_second, 20_000.0),
        Figure::at_most("ms until a change is seen, 100,000 tools, at most", large.change_ms.most, 60.0),
        Figure::at_most(
            "ms of a search beside changes, 100,000 tools, p99",
            large.search_beside_changes_us.p99 / 1e3,
            10.0,
        ),
        Figure::at_most("MB resident, 100,000 tools", resident, 250.0),
        Figure::at_most("MB resident over the table, 1,000 tools", small.index_mb, 15.0),
    ])
}

fn table(sizes: &[Size]) -> Table {
    let mut table = Table::new([
        "tools", "bytes each", "tools/s", "hybrid µs p50", "p99", "keyword µs p50", "p99", "semantic µs p50",
        "p99", "change ms, half", "at most", "index MB", "while filling", "vectors' maker MB",
    ]);
    for size in sizes {
        table.row([
            number(f64::from(size.tools)),
            number(size.definition_bytes),
            number(size.tools_per_second),
            number(size.hybrid_us.p50),
            number(size.hybrid_us.p99),
            number(size.keyword_us.p50),
            number(size.keyword_us.p99),
            number(size.semantic_us.p50),
            number(size.semantic_us.p99),
            number(size.change_ms.half),
            number(size.change_ms.most),
            number(size.index_mb),
            number(size.peak_mb),
            number(size.embedder_mb),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_of_the_sizes_they_name() {
        let size = |tools| Size { tools, tools_per_second: 30_000.0, ..Size::default() };
        assert!(targets(&[size(1_000)]).is_err());
        assert!(targets(&[size(1_000), size(100_000)]).unwrap().iter().all(Figure::reached));
        let slow = Size { hybrid_us: Latency { p50: 3_100.0, p99: 9_000.0 }, ..size(100_000) };
        let missed = targets(&[size(1_000), slow]).unwrap().iter().filter(|figure| !figure.reached()).count();
        assert_eq!(missed, 1);
    }
}
