//! Tests of each search strategy, through the whole index.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod set;

use std::collections::BTreeSet;

use mgp_toolindex::category::CategoryPath;
use mgp_toolindex::{Index, Search, SearchResult, ServerTools, Tool, ToolListing, VisibleTools};
use mgp_types::mgp::{RiskLevel, SearchStrategy, ServerState, ToolFilter, ToolHints};
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;

use self::set::Set;

const STRATEGIES: [SearchStrategy; 4] =
    [SearchStrategy::Hybrid, SearchStrategy::Keyword, SearchStrategy::Semantic, SearchStrategy::Category];

fn tool(name: &str, description: &str) -> ToolListing {
    set::listing(&json!({ "name": name, "description": description, "inputSchema": { "type": "object" } }))
}

fn in_categories(tool: ToolListing, categories: &[&str]) -> ToolListing {
    let mut hints = ToolHints::default();
    hints.categories = categories.iter().map(|category| (*category).to_owned()).collect();
    tool.hints(hints)
}

fn office() -> Vec<ServerTools> {
    let tools = [
        ("files", "read_file", "Read the contents of a file at the given path", "storage/files"),
        ("files", "write_file", "Write text to a file, replacing what it held", "storage/files"),
        ("files", "list_buckets", "List the buckets of an account", "storage/objects"),
        ("mail", "send_email", "Send an email message to one or more recipients", "communication/mail"),
        ("mail", "search_email", "Search the mailbox for messages", "communication/mail"),
        ("travel", "get_forecast", "Weather forecast for a city over the next days", "weather"),
        ("travel", "book_hotel", "Reserve a hotel room for given dates", "travel/booking"),
        ("travel", "convert_currency", "Convert an amount of money from one currency to another", "finance"),
    ];
    let listed = |(_, name, description, category): &(&str, &str, &str, &str)| {
        let listed = in_categories(tool(name, description), &[category]);
        match *name {
            "write_file" => listed.risk(RiskLevel::Moderate),
            "send_email" => listed.risk(RiskLevel::Dangerous),
            _ => listed,
        }
    };
    let servers = tools.chunk_by(|a, b| a.0 == b.0);
    servers.map(|of| ServerTools::new(of[0].0, of.iter().map(listed).collect())).collect()
}

async fn names(index: &Index, text: &str, strategy: SearchStrategy) -> Vec<String> {
    let found = index.search(&Search::new(text).strategy(strategy)).await;
    assert_eq!(found.fallback, None, "{text}");
    found.hits.iter().map(|hit| hit.tool.name.to_string()).collect()
}

async fn first(index: &Index, text: &str, strategy: SearchStrategy) -> Option<String> {
    names(index, text, strategy).await.into_iter().next()
}

// covers: MGP-16.4-10
#[tokio::test]
async fn keywords_find_exact_names_slips_and_other_forms_of_a_word() {
    let index = set::index(office()).await;
    for (text, expected) in [
        ("convert_currency", "convert_currency"),
        ("convertCurrency", "convert_currency"),
        ("travel.convert_currency", "convert_currency"),
        ("covnert_currency", "convert_currency"),
        ("serch_email", "search_email"),
        ("get_forcast", "get_forecast"),
        ("converting currencies", "convert_currency"),
        ("reserved rooms", "book_hotel"),
        ("recipients", "send_email"),
    ] {
        assert_eq!(first(&index, text, SearchStrategy::Keyword).await.as_deref(), Some(expected), "{text}");
    }
    assert_eq!(names(&index, "photosynthesis", SearchStrategy::Keyword).await, Vec::<String>::new());
}

// covers: MGP-16.4-11
#[tokio::test]
async fn meaning_finds_what_shares_no_word_with_the_request() {
    let index = set::index(office()).await;
    for (text, expected) in [
        ("will it rain tomorrow", "get_forecast"),
        ("exchange dollars for euros", "convert_currency"),
        ("accommodation for three nights", "book_hotel"),
    ] {
        assert_eq!(names(&index, text, SearchStrategy::Keyword).await, Vec::<String>::new(), "{text}");
        assert_eq!(first(&index, text, SearchStrategy::Semantic).await.as_deref(), Some(expected), "{text}");
        assert_eq!(first(&index, text, SearchStrategy::Hybrid).await.as_deref(), Some(expected), "{text}");
    }
}

// covers: MGP-16.4-12
#[tokio::test]
async fn what_is_no_category_is_searched_for_by_words() {
    let index = set::index(office()).await;
    let found = index.search(&Search::new("recipients").strategy(SearchStrategy::Category)).await;
    assert_eq!(found.fallback, Some(SearchStrategy::Keyword));
    assert_eq!(found.hits[0].tool.name.as_str(), "send_email");
}

// covers: MGP-16.5-12
#[tokio::test]
async fn scores_are_shares_and_the_best_stands_in_front() {
    let set = Set::english();
    let index = set.index().await;
    for question in set.questions.iter().step_by(3) {
        for strategy in STRATEGIES {
            let found = index.search(&Search::new(&question.text).strategy(strategy).limit(30)).await;
            assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{}", question.text);
            assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score), "{}", question.text);
        }
    }
    let fits = index.search(&Search::new("read_text")).await.hits[0].score;
    let fits_not = index.search(&Search::new("photosynthesis of deciduous trees")).await;
    assert!(fits > 0.9, "{fits}");
    assert!(fits_not.hits.iter().all(|hit| hit.score < 0.35), "{fits_not:?}");
}

fn filter(categories: &[&str], most: Option<RiskLevel>, status: Option<ServerState>) -> ToolFilter {
    let mut filter = ToolFilter::default();
    filter.categories = categories.iter().map(|category| (*category).to_owned()).collect();
    filter.risk_level_max = most;
    filter.status = status;
    filter
}

/// Returns whether a tool is to be found, told from the tool alone.
fn passes(tool: &Tool, filter: &ToolFilter, failed: &str, hidden: &str) -> bool {
    let state = if tool.server.as_str() == failed { ServerState::Error } else { ServerState::Connected };
    tool.name.as_str() != hidden
        && state == filter.status.unwrap_or(ServerState::Connected)
        && filter.risk_level_max.is_none_or(|most| tool.risk <= most)
        && (filter.categories.is_empty()
            || filter
                .categories
                .iter()
                .filter_map(|wider| CategoryPath::read(wider))
                .any(|wider| tool.categories.iter().any(|path| path.is_in(&wider))))
}

fn ids(found: &SearchResult) -> BTreeSet<String> {
    found.hits.iter().map(|hit| hit.tool.id()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // covers: MGP-16.4-12
    #[test]
    fn a_filter_takes_away_what_does_not_pass_and_nothing_else(
        text in prop::sample::select(vec!["read a file", "send mail to the hotel", "weather", "storage", "convert"]),
        categories in prop::sample::subsequence(vec!["storage", "communication/mail", "travel", "nowhere"], 0..3),
        most in prop::option::of(prop::sample::select(vec![
            RiskLevel::Safe, RiskLevel::Moderate, RiskLevel::Dangerous,
        ])),
        status in prop::option::of(prop::sample::select(vec![ServerState::Connected, ServerState::Error])),
        failed in prop::sample::select(vec!["files", "mail", ""]),
        hidden in prop::sample::select(vec!["read_file", "send_email", ""]),
    ) {
        let filter = filter(&categories, most, status);
        Runtime::new().unwrap().block_on(async {
            let index = set::index(office()).await;
            // The reference has all tools, with all servers connected.
            let mut all = Vec::new();
            for strategy in STRATEGIES {
                all.push(index.search(&Search::new(text).strategy(strategy).limit(100)).await);
            }
            if !failed.is_empty() {
                index.set_state(failed.into(), ServerState::Error).await;
                index.settled().await;
            }
            let visible = VisibleTools::of(&index.snapshot(), |tool| tool.name.as_str() != hidden);
            for (strategy, all) in STRATEGIES.into_iter().zip(&all) {
                let search = Search::new(text).strategy(strategy).filter(filter.clone()).visible(&visible);
                let found = index.search(&search.clone().limit(100)).await;
                let hits = all.hits.iter().filter(|hit| passes(&hit.tool, &filter, failed, hidden));
                let expected: BTreeSet<String> = hits.map(|hit| hit.tool.id()).collect();
                // Where no tool of a category passes, words are searched instead.
                if found.fallback == all.fallback {
                    prop_assert_eq!(ids(&found), expected, "{:?}", strategy);
                } else {
                    prop_assert!(expected.is_empty());
                    prop_assert!(found.hits.iter().all(|hit| passes(&hit.tool, &filter, failed, hidden)));
                }
                // The existence of a match does not depend on the number of wanted tools.
                let one = index.search(&search.limit(1)).await;
                prop_assert_eq!(one.hits.is_empty(), found.hits.is_empty());
            }
            Ok(())
        })?;
    }
}
