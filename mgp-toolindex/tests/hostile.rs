//! Hostile or empty queries, definitions and embedders: nothing panics, nothing takes long, and honest tools are found
//! all the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod set;

use std::sync::Arc;
use std::time::Duration;

use mgp_toolindex::embed::{EmbedError, Embedder};
use mgp_toolindex::{Index, Search, SearchResult, ServerTools};
use mgp_types::BoxFuture;
use mgp_types::mgp::{SearchStrategy, ToolHints};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::set::{Set, listing};

const STRATEGIES: [SearchStrategy; 4] =
    [SearchStrategy::Hybrid, SearchStrategy::Keyword, SearchStrategy::Semantic, SearchStrategy::Category];

/// The time limit without optimisation and beside other tests; it catches work that grows faster than its input.
const LONG: Duration = Duration::from_secs(20);

async fn searched(index: &Index, text: &str, limit: usize) {
    for strategy in STRATEGIES {
        let began = Instant::now();
        let found = index.search(&Search::new(text).strategy(strategy).limit(limit)).await;
        let took = began.elapsed();
        let shown: String = text.chars().take(40).collect();
        assert!(took < LONG, "{shown:?} took {took:?} by {strategy:?}");
        assert!(found.hits.len() <= limit);
        assert_sane(&found);
    }
}

fn assert_sane(found: &SearchResult) {
    assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "{found:?}");
    assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score), "{found:?}");
}

/// Checks that the honest tool is found.
async fn assert_works(index: &Index) {
    let honest =
        listing(&json!({ "name": "read_barometer", "description": "Reads the barometer in the hall" }));
    index.put_server(ServerTools::new("honest", vec![honest])).await;
    index.settled().await;
    for strategy in [SearchStrategy::Hybrid, SearchStrategy::Keyword] {
        let found = index.search(&Search::new("barometer in the hall").strategy(strategy)).await;
        assert_sane(&found);
        assert_eq!(found.hits.first().map(|hit| hit.tool.id()).as_deref(), Some("honest.read_barometer"));
    }
}

#[tokio::test]
async fn queries_of_any_kind_are_answered() {
    let index = Set::english().index().await;
    let binary: String = (0..2000_u32).map(|n| char::from(u8::try_from(n % 256).unwrap())).collect();
    let long = ["read ", "a", "\u{301}", "字", "ﷺ", "a-b_c.d/", "\u{202e}x"]
        .map(|part| part.repeat(100_000 / part.len()));
    let different = (0..15_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let odd = ["", " ", "\t\n", "\0", "\u{feff}"];
    let syntax = concat!(
        r#"*·?·"·"unclosed·(·)·a AND·NOT·OR OR·name:·name:read AND (·[a TO b}·{* TO·+-+-+·\"#,
        r"·a~99999^99999·field:/(a+)+$/·(a|a)*$·IN [a·^^^·a^-1·~·!important·<script>",
        r"·'; DROP TABLE tools; --·${jndi:x}·%s%n·../../etc·((((((((((((((((((((((((((((((((",
        r"·(x+x+)+y",
    );
    let syntax = syntax.split('·').chain(odd);
    for text in syntax.chain(long.iter().map(String::as_str)).chain([&*binary, &*different]) {
        searched(&index, text, 5).await;
    }
    searched(&index, "read a file", 0).await;
    searched(&index, "read a file", usize::MAX).await;
    assert_works(&index).await;
}

#[tokio::test]
async fn definitions_of_any_size_and_form_are_indexed() {
    let deep = (0..50).fold(json!({ "type": "string" }), |inner, _| json!({ "properties": { "x": inner } }));
    let many: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("parameter_{n}"), json!({ "description": "One of many" }))).collect();
    let definitions = [
        json!({ "name": "huge", "description": "word ".repeat(1_000_000) }),
        json!({ "name": "unbroken", "description": "w".repeat(2_000_000) }),
        json!({ "name": "n".repeat(500_000) }),
        json!({ "name": "deep", "inputSchema": deep }),
        json!({ "name": "many", "inputSchema": { "properties": many } }),
        json!({ "name": "wrong", "description": 7, "inputSchema": "none", "_meta": [], "title": {} }),
        json!({ "name": "\u{0}\u{1}\u{7f}", "description": "\u{0}" }),
        json!({ "name": " ", "description": " " }),
        json!({ "name": "marks", "description": "e\u{301}\u{302}\u{303}".repeat(100_000) }),
    ];
    let mut tools: Vec<_> = definitions.iter().map(listing).collect();
    let mut hints = ToolHints::default();
    hints.keywords = (0..10_000).map(|n| format!("keyword{n}")).chain(["k".repeat(1_000_000)]).collect();
    hints.categories =
        (0..1000).map(|n| format!("a/{n}")).chain(["/".repeat(10_000), String::new()]).collect();
    tools.push(listing(&json!({ "name": "hinted" })).hints(hints));
    let began = Instant::now();
    let index =
        set::index(vec![ServerTools::new(&*"s".repeat(10_000), tools).description("d ".repeat(500_000))])
            .await;
    assert!(began.elapsed() < 10 * LONG, "indexing took {:?}", began.elapsed());
    assert_eq!(index.snapshot().len(), 10);
    for text in ["word", "parameter_7", "a/7", "", "marks"] {
        searched(&index, text, 10).await;
    }
    assert_works(&index).await;
}

#[tokio::test]
async fn of_two_tools_of_one_name_the_first_is_found_once() {
    let twice = ["Feeds the goldfish", "Feeds the tiger"]
        .map(|description| listing(&json!({ "name": "feed", "description": description })));
    let index = set::index(vec![ServerTools::new("zoo", twice.to_vec())]).await;
    let found = index.search(&Search::new("feed").strategy(SearchStrategy::Keyword)).await;
    let descriptions: Vec<_> = found.hits.iter().map(|hit| hit.tool.description()).collect();
    assert_eq!(descriptions, ["Feeds the goldfish"]);
    let found = index.search(&Search::new("tiger").strategy(SearchStrategy::Keyword)).await;
    assert!(found.hits.iter().all(|hit| hit.tool.description() != "Feeds the tiger"));
}

/// An embedder that answers in an invalid way.
#[derive(Debug)]
struct Broken(Answers);

/// A function from a number of texts to the answer.
type Answers = fn(usize) -> Result<Vec<Vec<f32>>, EmbedError>;

impl Embedder for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn dimension(&self) -> usize {
        4
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let answer = (self.0)(texts.len());
        Box::pin(async { answer })
    }
}

#[tokio::test]
async fn an_embedder_that_fails_or_lies_leaves_the_words() {
    let answers: [Answers; 6] = [
        |_| Err(EmbedError::new("it is broken")),
        |_| Ok(Vec::new()),
        |texts| Ok(vec![vec![1.0; 3]; texts]),
        |texts| Ok(vec![vec![f32::NAN; 4]; texts]),
        |texts| Ok(vec![vec![f32::INFINITY; 4]; texts]),
        |texts| Ok(vec![vec![1.0; 4]; texts + 1]),
    ];
    for answer in answers {
        let index = Index::new(Arc::new(Broken(answer)));
        let set = Set::english();
        for server in set.servers() {
            index.put_server(server).await;
        }
        index.settled().await;
        for question in set.questions.iter().step_by(40) {
            searched(&index, &question.text, 5).await;
        }
        assert_works(&index).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_asked_and_listed_is_answered(query in ".{0,200}", name in ".{1,50}", description in ".{0,200}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let tool = listing(&json!({ "name": name, "description": description }));
            let index = set::index(vec![ServerTools::new(description.as_str(), vec![tool])]).await;
            searched(&index, &query, 5).await;
            searched(&index, &name, 5).await;
            assert_eq!(index.snapshot().len(), 1);
        });
    }
}
