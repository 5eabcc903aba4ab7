//! The tool index: what it finds beside the searches of others, and how it grows. Driven by its examples `rank` and
//! `scale`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::gates::number;
use super::head;
use super::stream::Figure;
use crate::workspace::{Features, Profile, Workspace};
use crate::{fastembed, process, table::Table};

/// Measures searches. The names of the figures that are missed.
pub(super) fn run(workspace: &Workspace, folder: &Path, quick: bool) -> Result<Vec<String>> {
    process::require("python3", "the package `python3` of your system")?;
    let folder = workspace.root.join(folder);
    let scorer = folder.join("score.py");
    ensure!(
        scorer.exists(),
        "there is no score.py in {}; name its folder with --search-dir",
        folder.display()
    );
    let encoder = fastembed::encoder(workspace)?.display().to_string();
    let rank = workspace.build_example("mgp-toolindex", "rank", Features::Default, Profile::Dist)?;
    let scale = workspace.build_example("mgp-toolindex", "scale", Features::Default, Profile::Dist)?;

    let vectors = workspace.target.join("vectors");
    let bench = Bench { scorer, rank, scale, vectors, encoder, quick };
    let mut missed = bench.quality()?;
    missed.extend(bench.growth()?);
    Ok(missed)
}

struct Bench {
    scorer: PathBuf,
    rank: PathBuf,
    scale: PathBuf,
    /// The folder in which vectors are kept from one search to the next.
    vectors: PathBuf,
    /// The folder of a sentence encoder.
    encoder: String,
    quick: bool,
}

/// The scores of a set, or the means of all sets.
#[derive(Debug, Clone, Default, Deserialize)]
struct Score {
    #[serde(rename = "R@1")]
    recall_1: f64,
    #[serde(rename = "R@5")]
    recall_5: f64,
    #[serde(rename = "R@10")]
    recall_10: f64,
    #[serde(rename = "C@5")]
    complete_5: f64,
    #[serde(rename = "N@5")]
    ndcg_5: f64,
    #[serde(rename = "MRR")]
    mrr: f64,
}

type Scores = BTreeMap<String, Score>;

/// Hybrid search with an embedder, and its two sides.
struct Fusion {
    embedder: &'static str,
    hybrid: Scores,
    keyword: Scores,
    semantic: Scores,
    /// The least R@5 and NDCG@5 in the mean of eight sets.
    targets: [f64; 2],
    /// The least R@5 and R@1 of everyday questions.
    everyday_targets: [f64; 2],
}

impl Bench {
    /// Measures the quality of searches, set by set.
    fn quality(&self) -> Result<Vec<String>> {
        println!("scoring searches");
        let rivals = [
            ("BM25 of four fields, as Anthropic documents it", self.score("--as anthropic-bm25")?),
            ("BM25 with Ratel's settings", self.score("--as ratel")?),
        ];
        let keyword = self.score("--strategy keyword")?;
        let encoder = format!("encoder:{}", self.encoder);
        let fusions = [
            self.fusion("static", "static", &keyword, [0.685, 0.625], [0.62, 0.32])?,
            self.fusion("MiniLM", &encoder, &keyword, [0.70, 0.635], [0.70, 0.40])?,
        ];

        println!("\n{}", head(COMMAND, self.quick)?);
        let mut table =
            Table::new(["search", "R@1", "R@5", "R@10", "C@5", "NDCG@5", "MRR", "target", "verdict"]);
        let mut missed = Vec::new();
        for (name, scores) in &rivals {
            table.row(row(name, mean(scores)?, None).0);
        }
        table.row(row("keyword only", mean(&keyword)?, None).0);
        for Fusion { embedder, hybrid, semantic, targets, .. } in &fusions {
            table.row(row(&format!("semantic only, {embedder}"), mean(semantic)?, None).0);
            let name = format!("hybrid, {embedder}");
            let (cells, met) = row(&name, mean(hybrid)?, Some(*targets));
            table.row(cells);
            if !met {
                missed.push(name);
            }
        }
        println!("{table}\nThe mean of eight sets; R@5 and NDCG@5 have targets.\n");
        missed.extend(everyday(&rivals, &keyword, &fusions)?);
        for fusion in &fusions {
            missed.extend(fusion.by_set(&rivals)?);
        }
        Ok(missed)
    }

    fn fusion(
        &self,
        name: &'static str,
        embedder: &str,
        keyword: &Scores,
        targets: [f64; 2],
        everyday_targets: [f64; 2],
    ) -> Result<Fusion> {
        let store = self.vectors.display();
        let by =
            |strategy| self.score(&format!("--embedder {embedder} --strategy {strategy} --store {store}"));
        Ok(Fusion {
            embedder: name,
            hybrid: by("hybrid")?,
            keyword: keyword.clone(),
            semantic: by("semantic")?,
            targets,
            everyday_targets,
        })
    }

    /// Lets the scorer run the example with these arguments, on the eight sets and on everyday questions.
    fn score(&self, arguments: &str) -> Result<Scores> {
        let mut scores = self.score_sets(arguments, &[])?;
        let everyday = self.score_sets(arguments, &["--sets", EVERYDAY])?;
        scores.extend(everyday.into_iter().filter(|(set, _)| set == EVERYDAY));
        Ok(scores)
    }

    fn score_sets(&self, arguments: &str, sets: &[&str]) -> Result<Scores> {
        let rank = self.rank.display();
        let command = format!("{rank} --tools {{tools}} --queries {{queries}} --top 20 {arguments}");
        let mut python = Command::new("python3");
        python.arg(&self.scorer).args(["--json", "--cmd", &command]).args(sets);
        if self.quick {
            python.args(["--cap", "50"]);
        }
        serde_json::from_str(&process::output(&mut python)?).context("the scorer printed no scores")
    }

    /// How time and memory grow with the number of tools.
    fn growth(&self) -> Result<Vec<String>> {
        println!("measuring how the index grows");
        let sizes: &[u32] =
            if self.quick { &[1_000, 10_000, 100_000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
        let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let curve = self.curve(&sizes.join(","), "static")?;
        let mut figures = targets(&curve)?;
        let encoded =
            if self.quick { Vec::new() } else { self.curve("1000", &format!("encoder:{}", self.encoder))? };
        if let Some(encoded) = encoded.first() {
            let p99 = encoded.hybrid_us.p99 / 1e3;
            figures.push(Figure::at_most("ms of a hybrid search, MiniLM, 1,000 tools, p99", p99, 12.0));
            let seconds = 1_000.0 / encoded.tools_per_second;
            figures.push(Figure::at_most("s until 1,000 tools have vectors, MiniLM", seconds, 60.0));
        }

        println!("\n{}", head(COMMAND, self.quick)?);
        println!("{}", table(curve.iter().chain(&encoded)));
        let mut table = Table::new(["figure", "ours", "target", "verdict"]);
        for figure in &figures {
            table.row(figure.cells());
        }
        println!("{table}");
        Ok(figures.iter().filter(|figure| !figure.reached()).map(|figure| figure.name.to_owned()).collect())
    }

    fn curve(&self, sizes: &str, embedder: &str) -> Result<Vec<Size>> {
        let mut scale = Command::new(&self.scale);
        scale.args(["--json", "--tools", sizes, "--embedder", embedder]);
        let lines = process::output(&mut scale)?;
        let sizes = lines
            .lines()
            .map(|line| Ok(Size { embedder: embedder.to_owned(), ..serde_json::from_str(line)? }));
        sizes.collect()
    }
}

/// Prints how everyday questions fare.
fn everyday(rivals: &[(&str, Scores)], keyword: &Scores, fusions: &[Fusion]) -> Result<Vec<String>> {
    let of = |scores: &Scores| scores.get(EVERYDAY).cloned().context("everyday questions were not scored");
    let mut table = Table::new(["search", "R@1", "R@5", "R@10", "C@5", "NDCG@5", "MRR", "target", "verdict"]);
    for (name, scores) in rivals {
        table.row(row(name, &of(scores)?, None).0);
    }
    table.row(row("keyword only", &of(keyword)?, None).0);
    let mut missed = Vec::new();
    for Fusion { embedder, hybrid, semantic, everyday_targets, .. } in fusions {
        table.row(row(&format!("semantic only, {embedder}"), &of(semantic)?, None).0);
        let (name, scores) = (format!("hybrid, {embedder}"), of(hybrid)?);
        let (mut cells, _) = row(&name, &scores, None);
        let [recall_5, recall_1] = *everyday_targets;
        let met = scores.recall_5 >= recall_5 && scores.recall_1 >= recall_1;
        cells[7] = format!("R@5 ≥ {recall_5}, R@1 ≥ {recall_1}");
        cells[8] = verdict(met);
        table.row(cells);
        if !met {
            missed.push(format!("{name}, everyday questions"));
        }
    }
    println!("{table}\nEveryday questions, the set {EVERYDAY}; R@5 and R@1 have targets.\n");
    Ok(missed)
}

impl Fusion {
    /// The R@5 of each set, and what hybrid search loses to the better of its sides.
    fn by_set(&self, rivals: &[(&str, Scores); 2]) -> Result<Vec<String>> {
        let mut table = Table::new([
            "R@5", "Anthropic", "Ratel", "keyword", "semantic", "hybrid", "beside the better side", "target",
            "verdict",
        ]);
        let mut missed = Vec::new();
        for (set, hybrid) in self.hybrid.iter().filter(|(set, _)| *set != MEAN) {
            let of =
                |scores: &Scores| scores.get(set).map(|score| score.recall_5).context("a set was not scored");
            let [anthropic, ratel] = [of(&rivals[0].1)?, of(&rivals[1].1)?];
            let [keyword, semantic] = [of(&self.keyword)?, of(&self.semantic)?];
            let gain = hybrid.recall_5 - keyword.max(semantic);
            let met = gain >= -POINT;
            if !met {
                missed.push(format!("{set}, {}: hybrid beside the better side", self.embedder));
            }
            let shares =
                [anthropic, ratel, keyword, semantic, hybrid.recall_5].map(|share| format!("{share:.3}"));
            let [anthropic, ratel, keyword, semantic, hybrid] = shares;
            let (gain, target) = (format!("{gain:+.3}"), format!("≥ -{POINT}"));
            let verdict = verdict(met);
            table.row([set.clone(), anthropic, ratel, keyword, semantic, hybrid, gain, target, verdict]);
        }
        println!("Vectors: {}\n\n{table}", self.embedder);
        Ok(missed)
    }
}

/// The output of the example `scale` for an index of some size.
#[derive(Debug, Default, Deserialize)]
struct Size {
    #[serde(skip)]
    embedder: String,
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

fn table<'a>(sizes: impl Iterator<Item = &'a Size>) -> Table {
    let mut table = Table::new([
        "tools", "vectors", "bytes each", "tools/s", "hybrid µs p50", "p99", "keyword µs p50", "p99",
        "semantic µs p50", "p99", "change ms, half", "at most", "index MB", "while filling",
        "vectors' maker MB",
    ]);
    for size in sizes {
        let embedder = size.embedder.split(':').next().unwrap_or_default().to_owned();
        table.row([
            number(f64::from(size.tools)),
            embedder,
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

fn row(name: &str, score: &Score, targets: Option<[f64; 2]>) -> ([String; 9], bool) {
    let Score { recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr } = score;
    let met = targets.is_none_or(|[recall, ndcg]| *recall_5 >= recall && *ndcg_5 >= ndcg);
    let shares = [recall_1, recall_5, recall_10, complete_5, ndcg_5, mrr].map(|share| format!("{share:.3}"));
    let [one, five, ten, complete, ndcg, mrr] = shares;
    let target = targets.map(|[recall, ndcg]| format!("≥ {recall}, ≥ {ndcg}"));
    let verdict = if target.is_some() { verdict(met) } else { String::new() };
    ([name.to_owned(), one, five, ten, complete, ndcg, mrr, target.unwrap_or_default(), verdict], met)
}

fn mean(scores: &Scores) -> Result<&Score> {
    scores.get(MEAN).context("the scorer gave no mean")
}

fn verdict(met: bool) -> String {
    if met { "ok" } else { "MISSED" }.to_owned()
}

const COMMAND: &str = "cargo xtask bench --only search";

const MEAN: &str = "MACRO";

/// The set of everyday questions about servers that people run.
const EVERYDAY: &str = "real-servers";

/// The largest amount by which hybrid search may be worse in a set than the better of its sides.
const POINT: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scores_are_understood_and_held_against_targets() {
        let printed =
            r#"{"MACRO": {"R@1": 0.3, "R@5": 0.66, "R@10": 0.7, "C@5": 0.5, "N@5": 0.58, "MRR": 0.6}}"#;
        let scores: Scores = serde_json::from_str(printed).unwrap();
        let (cells, met) = row("hybrid", mean(&scores).unwrap(), Some([0.655, 0.585]));
        assert!(!met);
        assert_eq!(cells[2], "0.660");
        assert_eq!(cells[7..], ["≥ 0.655, ≥ 0.585", "MISSED"]);
        assert!(row("hybrid", mean(&scores).unwrap(), Some([0.655, 0.58])).1);
        assert!(mean(&Scores::new()).is_err());
    }

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
