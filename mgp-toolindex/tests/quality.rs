//! The quality of searches among the tools of the folder `data`, with the built-in embedder.
//!
//! ```sh
//! cargo test -p mgp-toolindex --test quality -- --nocapture
//! ```
//!
//! prints the figures.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod set;

use mgp_types::mgp::SearchStrategy;

use self::set::Set;
use self::set::evaluation::{Comparison, Report, evaluate};

/// The recorded R@5 of hybrid search; it may fall by less than a point.
const RECORDED: f64 = 0.737;

const POINT: f64 = 0.01;

async fn reports() -> [Report; 3] {
    let set = Set::english();
    let index = set.index().await;
    let report = async |name, strategy| {
        let report = evaluate(&index, &set.questions, name, strategy, 5).await;
        print!("{report}");
        report
    };
    [
        report("hybrid", SearchStrategy::Hybrid).await,
        report("keyword", SearchStrategy::Keyword).await,
        report("semantic", SearchStrategy::Semantic).await,
    ]
}

#[tokio::test]
async fn what_was_found_is_still_found() {
    let [hybrid, ..] = reports().await;
    assert_eq!(hybrid.unknown, Vec::<String>::new());
    assert_eq!(hybrid.fallback, None);
    let reached = hybrid.quality.recall_5;
    assert!(reached > RECORDED - POINT, "R@5 is {reached:.4}, it was {RECORDED}");
}

#[tokio::test]
async fn hybrid_search_is_no_worse_than_the_better_of_its_sides() {
    let [hybrid, keyword, semantic] = reports().await;
    print!("{}", Comparison::of(&keyword, &hybrid));
    print!("{}", Comparison::of(&semantic, &hybrid));
    let better = keyword.quality.recall_5.max(semantic.quality.recall_5);
    let reached = hybrid.quality.recall_5;
    assert!(reached >= better - POINT, "R@5 is {reached:.4}, of the better side {better:.4}");
    assert_eq!((keyword.fallback, semantic.fallback), (None, None));
}

#[tokio::test]
async fn a_tool_that_answers_alone_mostly_stands_in_front() {
    let set = Set::english();
    let index = set.index().await;
    let (single, several): (Vec<_>, Vec<_>) =
        set.questions.iter().cloned().partition(|question| question.needs.len() == 1);
    let single = evaluate(&index, &single, "one need", SearchStrategy::Hybrid, 5).await;
    let several = evaluate(&index, &several, "several needs", SearchStrategy::Hybrid, 5).await;
    print!("{single}{several}");
    assert!(single.quality.recall_1 >= 0.4, "R@1 is {:.4}", single.quality.recall_1);
    assert!(several.quality.recall_5 >= 0.5, "R@5 is {:.4}", several.quality.recall_5);
}
