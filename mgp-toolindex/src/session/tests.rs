//! Tests of sessions.

use mgp_types::RawJson;
use mgp_types::mgp::{AgentId, EvictTools, FoundTool, ToolContextBudget, ToolSession};
use serde_json::{Value, json};

use super::fit::FittedTools;
use super::*;
use crate::budget::{ListedDefinition, TokenCounter, TokenEstimator};
use crate::embed::NullEmbedder;
use crate::level::Level;
use crate::{Index, ServerTools, Snapshot, ToolListing};

/// A counter for which every word is a token, so that tests can do sums.
#[derive(Debug)]
struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.split(' ').count()).unwrap()
    }

    fn name(&self) -> &'static str {
        "words"
    }
}

/// Returns a tool whose definition takes `size` tokens.
fn tool(name: &str, size: usize) -> Value {
    json!({ "name": name, "description": vec!["w"; size].join(" "), "inputSchema": { "type": "object" } })
}

fn listing(definition: &Value) -> ToolListing {
    ToolListing::read(&RawJson::from_value(definition).unwrap()).unwrap()
}

async fn index(servers: &[(&str, &[Value])]) -> Index {
    let index = Index::new(Arc::new(NullEmbedder));
    for (server, tools) in servers {
        index.put_server(ServerTools::new(*server, tools.iter().map(listing).collect())).await;
    }
    index.settled().await;
    index
}

/// Returns tools of the server `s`, of `size` tokens each.
async fn snapshot(names: &[&str], size: usize) -> Arc<Snapshot> {
    let tools: Vec<Value> = names.iter().map(|name| tool(name, size)).collect();
    index(&[("s", &tools)]).await.snapshot()
}

/// Returns a budget of total, pinned, discovery and cache.
fn budget([max_tokens, pinned, discovery, cache]: [u32; 4]) -> ToolContextBudget {
    let mut budget = ToolContextBudget::of(max_tokens);
    (budget.pinned_reserve, budget.discovery_reserve, budget.cache_limit) = (pinned, discovery, cache);
    budget
}

fn sessions(parts: [u32; 4], pins: &[&str]) -> ToolSessions {
    let settings =
        SessionSettings::new(budget(parts), Arc::new(Words)).pins(PinnedTools::new(pins.iter().copied()));
    ToolSessions::new(settings).unwrap()
}

fn key(session: &str) -> SessionKey {
    SessionKey::new(session, None)
}

/// Fits tools of the server `s` into one answer.
fn fit(sessions: &ToolSessions, key: &SessionKey, snapshot: &Snapshot, names: &[&str]) -> FittedTools {
    let found = names.iter().map(|name| {
        let tool = snapshot.tool("s", name).unwrap();
        let mut found =
            FoundTool::new(*name, tool.server.clone(), tool.members().get("inputSchema").unwrap());
        found.description = tool.description();
        found
    });
    sessions.with(key, &ToolView::all(snapshot), |session, settings| session.fit(settings, found))
}

/// Returns the names in the list, in order.
fn names(sessions: &ToolSessions, key: &SessionKey, snapshot: &Snapshot) -> Vec<String> {
    sessions.listed(key, &ToolView::all(snapshot)).tools.into_iter().map(|tool| tool.name).collect()
}

fn used(sessions: &ToolSessions, key: &SessionKey, snapshot: &Snapshot, names: &[&str]) {
    for name in names {
        sessions.used(key, &ToolView::all(snapshot), snapshot.called(name).unwrap());
    }
}

fn state(sessions: &ToolSessions, key: &SessionKey, view: &ToolView<'_>) -> ToolSession {
    sessions.with(key, view, |session, settings| session.state(settings))
}

fn changed(sessions: &ToolSessions, key: &SessionKey, view: &ToolView<'_>) -> bool {
    sessions.with(key, view, |session, _| session.changed())
}

#[tokio::test]
async fn no_tool_leaves_the_list_for_an_answer_that_has_no_room_itself() {
    let (snapshot, one) = (snapshot(&["read", "write"], 5).await, key("1"));
    let with = |max| {
        let settings = SessionSettings::new(budget([max, 0, 4, max]), Arc::new(TokenEstimator::new()));
        let sessions = ToolSessions::new(settings).unwrap();
        used(&sessions, &one, &snapshot, &["read", "write"]);
        sessions
    };
    let all = with(4_000).listed(&one, &ToolView::all(&snapshot)).tokens;
    let full = with(all);
    assert_eq!(names(&full, &one, &snapshot), ["read", "write"]);
    let answer = fit(&full, &one, &snapshot, &["read"]);
    assert_eq!((answer.tools.len(), answer.omitted), (0, 1));
    assert_eq!(names(&full, &one, &snapshot), ["read", "write"]);
}

// covers: MGP-16.7-01, MGP-16.7-02, MGP-16.7-03, MGP-16.7-05, MGP-16.3-02
#[tokio::test]
async fn pinned_tools_are_there_from_the_start_and_used_ones_from_their_first_use() {
    let snapshot = snapshot(&["think", "store", "read", "write"], 5).await;
    let (sessions, one) = (sessions([100, 50, 50, 50], &["store", "think"]), key("1"));
    assert_eq!(names(&sessions, &one, &snapshot), ["store", "think"]);
    used(&sessions, &one, &snapshot, &["write", "read", "write", "think"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["store", "think", "write", "read"]);
    let state = state(&sessions, &one, &ToolView::all(&snapshot));
    assert_eq!(
        (state.pinned, state.cached),
        (vec!["store".into(), "think".into()], vec!["write".into(), "read".into()])
    );
    assert_eq!((state.total_tokens, state.max_tokens), (20, 100));
    assert_eq!(
        names(&sessions, &key("2"), &snapshot),
        ["store", "think"],
        "another session has used nothing"
    );
    sessions.end(&one);
    assert_eq!(names(&sessions, &one, &snapshot), ["store", "think"]);
}

#[tokio::test]
async fn a_tool_that_is_used_again_asks_for_no_verdict_and_a_list_does() {
    let snapshot = snapshot(&["think", "read", "write"], 5).await;
    let (sessions, one) = (sessions([100, 50, 50, 50], &["think"]), key("1"));
    used(&sessions, &one, &snapshot, &["read", "write"]);
    let asked = std::cell::Cell::new(0);
    let sees = |tool: &Tool| {
        asked.set(asked.get() + 1);
        tool.name.as_str() != "write"
    };
    let view = ToolView::new(&snapshot, &sees);
    for name in ["write", "think", "read"] {
        sessions.used(&one, &view, snapshot.called(name).unwrap());
    }
    assert_eq!(asked.get(), 0);
    assert_eq!(state(&sessions, &one, &view).cached, ["read"]);
}

// covers: MGP-16.7-02
#[tokio::test]
async fn an_agent_has_pins_of_its_own_and_sees_only_what_it_may() {
    let snapshot = snapshot(&["think", "store", "secret"], 5).await;
    let pins =
        PinnedTools::new(["think", "gone"]).agent(AgentId::from("ada"), ["s.store", "think", "secret"]);
    let settings = SessionSettings::new(budget([100, 50, 50, 50]), Arc::new(Words)).pins(pins);
    let sessions = ToolSessions::new(settings).unwrap();
    let (ada, bob) = (SessionKey::new("1", Some("ada".into())), SessionKey::new("1", Some("bob".into())));
    assert_eq!(names(&sessions, &ada, &snapshot), ["think", "store", "secret"]);
    assert_eq!(names(&sessions, &bob, &snapshot), ["think"]);
    let sees = |tool: &Tool| tool.name.as_str() != "secret";
    let blind = ToolView::new(&snapshot, &sees);
    assert_eq!(state(&sessions, &ada, &blind).pinned, ["think", "store"]);
    used(&sessions, &bob, &snapshot, &["secret"]);
    assert_eq!(state(&sessions, &bob, &blind).cached, Vec::<String>::new());
}

// covers: MGP-16.8-06, MGP-16.8-07, MGP-16.8-05
#[tokio::test]
async fn what_was_used_longest_ago_makes_room_and_pinned_tools_never_do() {
    let snapshot = snapshot(&["pin", "a", "b", "c", "d"], 10).await;
    let (sessions, one) = (sessions([100, 20, 50, 30], &["pin"]), key("1"));
    used(&sessions, &one, &snapshot, &["a", "b", "c", "a"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["pin", "a", "b", "c"]);
    used(&sessions, &one, &snapshot, &["d"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["pin", "a", "c", "d"]);
    assert_eq!(state(&sessions, &one, &ToolView::all(&snapshot)).cached, ["d", "a", "c"]);
}

fn that_fill(parts: [u32; 4]) -> ToolSessions {
    ToolSessions::new(SessionSettings::new(budget(parts), Arc::new(Words)).fill_room()).unwrap()
}

#[tokio::test]
async fn tools_of_the_first_list_stay_while_found_and_used_ones_make_room_for_each_other() {
    let snapshot = snapshot(&["a", "b", "c", "d", "e", "f"], 10).await;
    let (sessions, one) = (that_fill([100, 20, 50, 40]), key("1"));
    let first = names(&sessions, &one, &snapshot);
    assert_eq!(first, ["a", "b"], "half of the room");
    let find = |tools: &[&str]| {
        fit(&sessions, &one, &snapshot, tools);
        let tools: Vec<_> = tools.iter().map(|name| snapshot.called(name).unwrap()).collect();
        sessions.with(&one, &ToolView::all(&snapshot), |session, settings| {
            session.found(&ToolView::all(&snapshot), settings, tools);
        });
        names(&sessions, &one, &snapshot)
    };
    assert_eq!(find(&["c", "d"]), ["a", "b", "c", "d"]);
    assert_eq!(find(&["e", "f"]), ["a", "b", "e", "f"]);
    used(&sessions, &one, &snapshot, &["c", "d", "a", "f"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["a", "b", "d", "f"]);
}

#[tokio::test]
async fn tools_of_a_list_with_all_tools_stay_when_there_are_too_many_for_one() {
    let tools = |names: &[&str]| names.iter().map(|name| tool(name, 10)).collect::<Vec<_>>();
    let index = index(&[("s", &tools(&["a", "b", "c", "d"]))]).await;
    let few = index.snapshot();
    index.put_server(ServerTools::new("t", tools(&["e", "f", "g", "h"]).iter().map(listing).collect())).await;
    index.settled().await;
    let many = index.snapshot();
    let (sessions, one) = (that_fill([50, 0, 20, 20]), key("1"));
    let level = |snapshot: &Snapshot| {
        let view = ToolView::all(snapshot);
        sessions.with(&one, &view, |session, settings| {
            session.listed_whole(&view);
            session.level_by_budget(&view, settings, snapshot.len())
        })
    };
    assert_eq!(level(&few), Level::L0);
    let view = ToolView::all(&many);
    let now = sessions.with(&one, &view, |session, settings| session.level_by_budget(&view, settings, 8));
    assert_eq!(now, Level::L3);
    assert_eq!(names(&sessions, &one, &many), ["a", "b", "c", "d"]);
    let fitted = fit(&sessions, &one, &many, &["a", "b"]);
    assert_eq!(fitted.tools.len(), 2, "a search has its reserve: {fitted:?}");
    assert_eq!(names(&sessions, &one, &many), ["a", "b", "c", "d"]);
}

// covers: MGP-16.8-02, MGP-16.8-06
#[tokio::test]
async fn the_total_limits_the_cache_where_it_is_less() {
    let snapshot = snapshot(&["pin", "a", "b", "c"], 10).await;
    let (sessions, one) = (sessions([30, 20, 50, 300], &["pin"]), key("1"));
    used(&sessions, &one, &snapshot, &["a", "b", "c"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["pin", "b", "c"]);
    assert_eq!(state(&sessions, &one, &ToolView::all(&snapshot)).total_tokens, 30);
}

// covers: MGP-16.8-03
#[tokio::test]
async fn pins_that_the_reserve_has_no_room_for_are_left_out_and_told() {
    let tools = [tool("a", 15), tool("b", 15), tool("c", 5)];
    let snapshot = index(&[("s", &tools)]).await.snapshot();
    let (sessions, one) = (sessions([100, 20, 50, 50], &["a", "b", "c"]), key("1"));
    let list = sessions.listed(&one, &ToolView::all(&snapshot));
    assert_eq!(list.pins_left_out, ["s.b"]);
    assert_eq!((list.tokens, list.tools.len()), (20, 2));
    used(&sessions, &one, &snapshot, &["b"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["a", "c", "b"], "it can still be used");
}

#[tokio::test]
async fn the_kernels_own_tools_take_part_of_the_reserve() {
    let snapshot = index(&[("s", &[tool("a", 15), tool("b", 5)])]).await.snapshot();
    let own =
        ListedDefinition::new("mgp.tools.discover", &["w"; 10].join(" "), &RawJson::empty_object(), &Words);
    let settings = |max| {
        let pins = PinnedTools::new(["a", "b"]);
        SessionSettings::new(budget([max, 20, 50, 50]), Arc::new(Words)).pins(pins).meta_tools([&own])
    };
    let sessions = ToolSessions::new(settings(100)).unwrap();
    let list = sessions.listed(&key("1"), &ToolView::all(&snapshot));
    assert_eq!((list.tokens, list.pins_left_out.as_slice()), (15, ["s.a".into()].as_slice()));
    let error = ToolSessions::new(settings(9)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tools of discovery take 10 tokens, more than max_tokens (9): raise `tools.budget.max_tokens`"
    );
}

// covers: MGP-16.8-08, MGP-16.8-04
#[tokio::test]
async fn what_is_found_beyond_the_reserve_is_left_out_and_counted() {
    let snapshot = snapshot(&["a", "b", "c", "d"], 40).await;
    let (sessions, one) = (sessions([1000, 20, 100, 100], &[]), key("1"));
    let fitted = fit(&sessions, &one, &snapshot, &["a", "b", "c", "d"]);
    let names: Vec<&str> = fitted.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((names, fitted.omitted, fitted.tokens), (vec!["a", "b"], 2, 80));
    assert!(fitted.tools.iter().all(|tool| !tool.schema_shortened));
}

// covers: MGP-16.8-08
#[tokio::test]
async fn a_tool_that_is_too_large_is_shortened_and_says_so() {
    let large = json!({
        "name": "large", "description": "Does it", "inputSchema": {
            "type": "object", "required": ["path"], "properties": {
                "path": { "type": "string" },
                "options": { "type": "object", "description": vec!["w"; 500].join(" ") },
            },
        },
    });
    let snapshot = index(&[("s", &[large, tool("small", 30)])]).await.snapshot();
    let (sessions, one) = (sessions([1000, 20, 100, 100], &[]), key("1"));
    let fitted = fit(&sessions, &one, &snapshot, &["large", "small"]);
    assert_eq!(fitted.omitted, 0);
    assert!(fitted.tools[0].schema_shortened && !fitted.tools[1].schema_shortened);
    let schema: Value = fitted.tools[0].input_schema.to().unwrap();
    assert_eq!(schema["properties"]["path"], json!({ "type": "string" }));
    assert!(fitted.tokens <= 100);
    used(&sessions, &one, &snapshot, &["large"]);
    let list = sessions.listed(&one, &ToolView::all(&snapshot));
    assert!(list.tools[0].definition.is_shortened() && list.tokens <= 100);
}

// covers: MGP-16.7-04
#[tokio::test]
async fn what_is_found_is_not_listed_and_is_dropped_once_a_tool_is_used() {
    let snapshot = snapshot(&["a", "b", "c"], 10).await;
    let (sessions, one) = (sessions([30, 0, 30, 30], &[]), key("1"));
    let fitted = fit(&sessions, &one, &snapshot, &["a", "b", "c"]);
    assert_eq!(fitted.tools.len(), 3);
    assert!(names(&sessions, &one, &snapshot).is_empty());
    used(&sessions, &one, &snapshot, &["b"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["b"]);
    let state = state(&sessions, &one, &ToolView::all(&snapshot));
    assert_eq!((state.cached, state.total_tokens), (vec!["b".into()], 10));
}

// covers: MGP-16.8-06
#[tokio::test]
async fn a_search_in_a_full_session_still_finds_the_best() {
    let snapshot = snapshot(&["a", "b", "c", "d"], 10).await;
    let (sessions, one) = (sessions([20, 0, 20, 20], &[]), key("1"));
    used(&sessions, &one, &snapshot, &["a", "b"]);
    let fitted = fit(&sessions, &one, &snapshot, &["c", "d"]);
    assert_eq!((fitted.tools.len(), fitted.omitted), (1, 1));
    assert_eq!(names(&sessions, &one, &snapshot), ["b"]);
}

// covers: MGP-16.6-12, MGP-16.6-13
#[tokio::test]
async fn loaded_tools_are_counted_and_do_not_push_one_another_out() {
    let snapshot = snapshot(&["pin", "old", "a", "b", "c"], 10).await;
    let (sessions, one) = (sessions([100, 10, 50, 20], &["pin"]), key("1"));
    used(&sessions, &one, &snapshot, &["old"]);
    let some = ["pin", "a", "b", "c"].map(|name| Arc::clone(snapshot.called(name).unwrap()));
    let loaded = sessions.with(&one, &ToolView::all(&snapshot), |session, settings| {
        session.load(&ToolView::all(&snapshot), settings, &some)
    });
    let names_loaded: Vec<&str> = loaded.loaded.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names_loaded, ["pin", "a", "b"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["pin", "a", "b"], "`old` made room, and `c` has none");
    assert_eq!((loaded.session_tools_count, loaded.context_tokens_added), (3, 20));
    let again = sessions.with(&one, &ToolView::all(&snapshot), |session, settings| {
        session.load(&ToolView::all(&snapshot), settings, &some[..2])
    });
    assert_eq!((again.session_tools_count, again.context_tokens_added), (3, 0));
}

// covers: MGP-16.7-10
#[tokio::test]
async fn tools_are_taken_out_by_any_name_that_is_clear() {
    let snapshot = index(&[
        ("x", &[tool("read", 5), tool("pin", 5), tool("one", 5)]),
        ("y", &[tool("read", 5), tool("write", 5)]),
    ])
    .await
    .snapshot();
    let (sessions, one) = (sessions([100, 20, 50, 50], &["pin"]), key("1"));
    used(&sessions, &one, &snapshot, &["x.read", "y.read", "write", "one"]);
    assert_eq!(names(&sessions, &one, &snapshot), ["pin", "x.read", "y.read", "write", "one"]);
    let view = ToolView::all(&snapshot);
    let done = sessions.with(&one, &view, |session, settings| {
        session.evict(settings, &EvictTools::new(["read", "x.read", "y.write", "pin", "none"]))
    });
    assert_eq!(done.evicted, ["x.read", "write"]);
    assert_eq!((done.not_found, done.pinned), (vec!["read".into(), "none".into()], vec!["pin".into()]));
    assert_eq!((done.total_tokens, done.max_tokens), (15, 100));
    let done =
        sessions.with(&one, &view, |session, settings| session.evict(settings, &EvictTools::new(["read"])));
    assert_eq!(done.evicted, ["y.read"], "only one of that name is left");
}

// covers: MGP-16.7-07
#[tokio::test]
async fn a_tool_that_goes_leaves_the_list_and_one_that_changes_is_counted_anew() {
    let index = index(&[("x", &[tool("a", 5), tool("b", 5)])]).await;
    let (sessions, one) = (sessions([100, 0, 50, 50], &[]), key("1"));
    used(&sessions, &one, &index.snapshot(), &["a", "b"]);
    index.put_server(ServerTools::new("x", vec![listing(&tool("b", 9))])).await;
    index.settled().await;
    let snapshot = index.snapshot();
    let list = sessions.listed(&one, &ToolView::all(&snapshot));
    assert_eq!((list.tools.len(), list.tokens), (1, 9));
    index.put_server(ServerTools::new("y", vec![listing(&tool("b", 3))])).await;
    index.settled().await;
    assert_eq!(names(&sessions, &one, &index.snapshot()), ["x.b"], "the name is not enough any more");
}

#[tokio::test]
async fn the_list_has_changed_only_if_it_is_another_one() {
    let index = index(&[("x", &[tool("a", 5), tool("b", 5)])]).await;
    let (sessions, one) = (sessions([100, 0, 50, 50], &[]), key("1"));
    let snapshot = index.snapshot();
    let view = ToolView::all(&snapshot);
    assert!(!changed(&sessions, &one, &view));
    used(&sessions, &one, &snapshot, &["a"]);
    assert!(!changed(&sessions, &one, &view), "nobody has the old list");
    sessions.listed(&one, &view);
    used(&sessions, &one, &snapshot, &["a"]);
    assert!(!changed(&sessions, &one, &view));
    used(&sessions, &one, &snapshot, &["b"]);
    assert!(changed(&sessions, &one, &view));
    sessions.with(&one, &view, |session, settings| session.evict(settings, &EvictTools::new(["b"])));
    assert!(!changed(&sessions, &one, &view), "it is as it was");
    let put = async |sizes: [(&str, usize); 3]| {
        let tools = sizes.map(|(name, size)| listing(&tool(name, size)));
        index.put_server(ServerTools::new("x", tools.into())).await;
    };
    put([("a", 5), ("b", 5), ("c", 5)]).await;
    index.settled().await;
    assert!(!changed(&sessions, &one, &ToolView::all(&index.snapshot())));
    put([("a", 6), ("b", 5), ("c", 5)]).await;
    index.settled().await;
    assert!(changed(&sessions, &one, &ToolView::all(&index.snapshot())));
}

#[tokio::test]
async fn idle_sessions_make_room_for_new_ones() {
    let snapshot = index(&[("x", &[tool("a", 5)])]).await.snapshot();
    let sessions = sessions([100, 0, 50, 50], &[]);
    used(&sessions, &key("kept"), &snapshot, &["a"]);
    used(&sessions, &key("idle"), &snapshot, &["a"]);
    for number in 0..MAX_SESSIONS + 100 {
        assert_eq!(names(&sessions, &key("kept"), &snapshot), ["a"]);
        names(&sessions, &key(&number.to_string()), &snapshot);
        assert!(sessions.len() <= MAX_SESSIONS);
    }
    assert!(names(&sessions, &key("idle"), &snapshot).is_empty());
}

#[test]
fn static_property_sessions_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<ToolSessions>();
}
