//! Measurements of an index of some size.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::time::Duration;

use crate::evaluation::{Latency, micros_since};
use mgp_toolindex::embed::{EmbedError, Embedder, EmbedderChoice};
use mgp_toolindex::{Index, Search, ServerTools};
use mgp_types::mgp::SearchStrategy;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::invent::{self, Chance, Servers};

/// The figures of one size.
#[derive(Serialize, Deserialize)]
pub(crate) struct Figures {
    tools: usize,
    /// The mean size of a definition in bytes.
    definition_bytes: usize,
    tools_per_second: f64,
    /// The time in which the embedder makes the vector of a query of ten words, in microseconds.
    ten_words_us: Latency,
    hybrid_us: Latency,
    keyword_us: Latency,
    semantic_us: Latency,
    /// The time from a change of one tool until a search finds it, in milliseconds.
    change_ms: Worst,
    /// The latency of a search while tools change, in microseconds.
    search_beside_changes_us: Latency,
    /// The resident memory, less that of the program and the embedder, in MB.
    index_mb: f64,
    /// The peak of the memory while the index was filled, in MB.
    peak_mb: f64,
    /// The memory of the embedder, in MB.
    embedder_mb: f64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Worst {
    half: f64,
    most: f64,
}

const AT_MOST: &str = "VmHWM:";
const NOW: &str = "VmRSS:";

/// Fills an index, and measures it.
pub(crate) async fn figures(
    tools: usize,
    queries: usize,
    embedder: &EmbedderChoice,
) -> Result<Figures, EmbedError> {
    let empty = resident_mb(NOW);
    let embedder = embedder.try_open().await?;
    warm_up(&*embedder).await;
    let with_embedder = resident_mb(NOW);
    let ten_words_us = ten_words(&*embedder, queries).await?;

    let index = Index::new(embedder);
    let mut spent = Duration::ZERO;
    for server in Servers::with(tools) {
        let began = Instant::now();
        index.put_server(server).await;
        spent += began.elapsed();
    }
    let began = Instant::now();
    index.embedded().await;
    spent += began.elapsed();
    let (filled, peak) = (resident_mb(NOW), resident_mb(AT_MOST));

    let definitions: usize = index.snapshot().tools().map(|tool| tool.definition.as_bytes().len()).sum();
    let hybrid_us = latency(&index, queries, SearchStrategy::Hybrid).await;
    let keyword_us = latency(&index, queries, SearchStrategy::Keyword).await;
    let semantic_us = latency(&index, queries, SearchStrategy::Semantic).await;
    let (change_ms, search_beside_changes_us) = changes(&index).await;
    Ok(Figures {
        tools,
        definition_bytes: definitions / tools.max(1),
        tools_per_second: ratio(tools, spent),
        ten_words_us,
        hybrid_us,
        keyword_us,
        semantic_us,
        change_ms,
        search_beside_changes_us,
        index_mb: filled - with_embedder,
        peak_mb: peak - with_embedder,
        embedder_mb: with_embedder - empty,
    })
}

/// Returns a table of all sizes.
pub(crate) fn table(curve: &[Figures]) -> String {
    let mut table = String::from(
        "| tools | tools/s | hybrid p50 µs | p95 | p99 | keyword p50 | p99 | semantic p50 | p99 | change ms | at most \
         | search beside changes p99 µs | index MB | at most | embedder MB |\n",
    );
    table.push_str(&"|---".repeat(15));
    table.push_str("|\n");
    for f in curve {
        let (hybrid, keyword, semantic) = (f.hybrid_us, f.keyword_us, f.semantic_us);
        let _written = writeln!(
            table,
            "| {} | {:.0} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {:.1} |",
            f.tools,
            f.tools_per_second,
            hybrid.p50,
            hybrid.p95,
            hybrid.p99,
            keyword.p50,
            keyword.p99,
            semantic.p50,
            semantic.p99,
            f.change_ms.half,
            f.change_ms.most,
            f.search_beside_changes_us.p99,
            f.index_mb,
            f.peak_mb,
            f.embedder_mb,
        );
    }
    if let Some(Latency { p50, p99, .. }) = curve.first().map(|f| f.ten_words_us) {
        let _written =
            writeln!(table, "\na query of ten words becomes a vector in {p50} µs (p50) and {p99} µs (p99)");
    }
    table
}

const WARM_UP: usize = 200;

/// Touches the memory of the embedder, which is read only when it is used.
async fn warm_up(embedder: &dyn Embedder) {
    let mut chance = Chance::new(1);
    for number in 0..WARM_UP {
        let text = invent::query(&mut chance, number);
        if embedder.embed_now(&text).is_none() {
            let _unused = black_box(embedder.embed(vec![text]).await);
        }
    }
}

async fn ten_words(embedder: &dyn Embedder, queries: usize) -> Result<Latency, EmbedError> {
    let mut chance = Chance::new(4);
    let mut micros = Vec::with_capacity(queries);
    for _ in 0..queries {
        let text = invent::ten_words(&mut chance);
        let began = Instant::now();
        if black_box(embedder.embed_now(&text)).is_none() {
            black_box(embedder.embed(vec![text]).await?);
        }
        micros.push(micros_since(began));
    }
    Ok(Latency::of(micros))
}

async fn latency(index: &Index, queries: usize, strategy: SearchStrategy) -> Latency {
    let mut chance = Chance::new(2);
    let mut micros = Vec::with_capacity(queries);
    for number in 0..queries + WARM_UP {
        let text = invent::query(&mut chance, number);
        let search = Search::new(&text).strategy(strategy);
        let began = Instant::now();
        black_box(index.search(&search).await);
        if number >= WARM_UP {
            micros.push(micros_since(began));
        }
    }
    Latency::of(micros)
}

const GIVEN_UP: Duration = Duration::from_secs(5);
const CHANGES: usize = 100;

/// Changes one tool after the other, and searches for each until it is found.
async fn changes(index: &Index) -> (Worst, Latency) {
    let mut chance = Chance::new(3);
    let (mut visible, mut searches) = (Vec::new(), Vec::new());
    for number in 0..CHANGES {
        // The word is unique, so that this tool is the first with it.
        let word = format!("quorzal{number}x");
        let tool = invent::named(&mut chance, &word);
        let began = Instant::now();
        index.put_server(ServerTools::new("changing", vec![tool])).await;
        loop {
            let search = Search::new(&word).strategy(SearchStrategy::Keyword);
            let searching = Instant::now();
            let found = index.search(&search).await;
            searches.push(micros_since(searching));
            if found.hits.first().is_some_and(|hit| hit.tool.name.as_str() == word) {
                break;
            }
            if began.elapsed() > GIVEN_UP {
                break;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        visible.push(began.elapsed().as_secs_f64() * 1e3);
    }
    visible.sort_by(f64::total_cmp);
    let worst = Worst { half: visible[CHANGES / 2], most: visible[CHANGES - 1] };
    (worst, Latency::of(searches))
}

/// Returns the memory of this process, or its peak, by the system's figures; 0 where the system has none.
fn resident_mb(which: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kilobytes: f64 =
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    kilobytes * 1024.0 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer tools than 2^52")]
fn ratio(tools: usize, spent: Duration) -> f64 {
    tools as f64 / spent.as_secs_f64()
}
