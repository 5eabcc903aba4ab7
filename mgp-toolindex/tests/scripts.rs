//! Tools and questions in Japanese and Chinese, with the built-in embedder.
//!
//! ```sh
//! cargo test -p mgp-toolindex --test scripts -- --nocapture
//! ```
//!
//! prints the figures.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod set;

use mgp_toolindex::Search;
use mgp_types::mgp::SearchStrategy;

use self::set::Set;
use self::set::evaluation::evaluate;

/// The R@5 at least, among the tools of all languages together.
const FOUND: f64 = 0.85;

fn japanese() -> Set {
    Set::read(include_str!("../data/tools_ja.jsonl"), include_str!("../data/questions_ja.jsonl"))
}

fn chinese() -> Set {
    Set::read(include_str!("../data/tools_zh.jsonl"), include_str!("../data/questions_zh.jsonl"))
}

/// Returns the recall of questions in one language among the tools of all.
async fn recall(asked: Set, strategy: SearchStrategy) -> f64 {
    let servers = [Set::english(), japanese(), chinese()].iter().flat_map(Set::servers).collect();
    let index = set::index(servers).await;
    let report = evaluate(&index, &asked.questions, "all languages", strategy, 5).await;
    print!("{report}");
    assert_eq!(report.unknown, Vec::<String>::new());
    report.quality.recall_5
}

#[tokio::test]
async fn japanese_tools_are_found_by_japanese_questions() {
    let reached = recall(japanese(), SearchStrategy::Hybrid).await;
    assert!(reached >= FOUND, "R@5 is {reached:.3}");
}

#[tokio::test]
async fn chinese_tools_are_found_by_chinese_questions() {
    let reached = recall(chinese(), SearchStrategy::Hybrid).await;
    assert!(reached >= FOUND, "R@5 is {reached:.3}");
}

#[tokio::test]
async fn words_alone_find_tools_whose_script_has_no_spaces() {
    let index = japanese().index().await;
    for (text, tool) in [
        ("領収書", "denpyo.scan_receipt"),
        ("レシピ", "daidokoro.find_recipe"),
        ("ﾚｼﾋﾟ", "daidokoro.find_recipe"),
        ("ごみ収集", "madoguchi.garbage_calendar"),
    ] {
        let found = index.search(&Search::new(text).strategy(SearchStrategy::Keyword)).await;
        assert_eq!(found.hits.first().map(|hit| hit.tool.id()).as_deref(), Some(tool), "{text}");
    }
    let index = chinese().index().await;
    for (text, tool) in [
        ("快递单号", "kuaidi.track_parcel"),
        ("成语", "xuexi.idiom_lookup"),
        ("发票", "caiwu.verify_invoice"),
    ] {
        let found = index.search(&Search::new(text).strategy(SearchStrategy::Keyword)).await;
        assert_eq!(found.hits.first().map(|hit| hit.tool.id()).as_deref(), Some(tool), "{text}");
    }
}

#[tokio::test]
async fn names_in_latin_letters_are_found_within_other_scripts() {
    let index = japanese().index().await;
    let found = index.search(&Search::new("scan_receipt を使って").strategy(SearchStrategy::Keyword)).await;
    assert_eq!(found.hits.first().map(|hit| hit.tool.id()).as_deref(), Some("denpyo.scan_receipt"));
}
