//! Tests of the index.

use mgp_types::RawJson;
use mgp_types::mgp::{NameStyle, RiskLevel, SearchStrategy, ToolFilter};
use serde_json::json;

use super::*;
use crate::ToolListing;
use crate::embed::NullEmbedder;
use crate::embed::hashed_words::HashedWords;
use crate::slot::CHUNK;

fn tool(name: &str, description: &str) -> ToolListing {
    let definition = json!({ "name": name, "description": description, "inputSchema": { "type": "object" } });
    ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap().risk(RiskLevel::Safe)
}

async fn names(index: &Index, text: &str) -> Vec<String> {
    index.settled().await;
    let found = index.search(&Search::new(text).strategy(SearchStrategy::Keyword)).await;
    found.hits.iter().map(|hit| hit.tool.id()).collect()
}

// covers: MGP-16.4-01
#[tokio::test]
async fn tools_of_all_servers_are_found_and_come_and_go() {
    let index = Index::new(Arc::new(NullEmbedder));
    let files = vec![tool("read_file", "Read a file"), tool("write_file", "Write a file")];
    index.put_server(ServerTools::new("fs", files)).await;
    index.put_server(ServerTools::new("mail", vec![tool("send", "Send a mail")])).await;
    assert_eq!(names(&index, "read").await, ["fs.read_file"]);
    assert_eq!(names(&index, "mail").await, ["mail.send"]);

    index.put_server(ServerTools::new("fs", vec![tool("write_file", "Write a file")])).await;
    assert!(names(&index, "read").await.is_empty());
    assert_eq!(index.snapshot().len(), 2);
    index.remove_server("mail".into()).await;
    assert_eq!(names(&index, "write read mail").await, ["fs.write_file"]);
}

#[tokio::test]
async fn a_server_that_cannot_be_called_is_not_found() {
    let index = Index::new(Arc::new(NullEmbedder));
    index.put_server(ServerTools::new("fs", vec![tool("read_file", "Read a file")])).await;
    index.set_state("fs".into(), ServerState::Error).await;
    assert!(names(&index, "read").await.is_empty());
    index.set_state("fs".into(), ServerState::Connected).await;
    assert_eq!(names(&index, "read").await, ["fs.read_file"]);
}

#[tokio::test]
async fn tools_of_a_server_that_is_starting_are_found_unless_another_state_is_asked_for() {
    let index = Index::new(Arc::new(NullEmbedder));
    index.put_server(ServerTools::new("fs", vec![tool("read_file", "Read a file")])).await;
    index.set_state("fs".into(), ServerState::Connecting).await;
    assert_eq!(names(&index, "read").await, ["fs.read_file"]);
    for (state, found) in [(ServerState::Connecting, 1), (ServerState::Connected, 0)] {
        let mut filter = ToolFilter::default();
        filter.status = Some(state);
        let search = Search::new("read").strategy(SearchStrategy::Keyword).filter(filter);
        assert_eq!(index.search(&search).await.hits.len(), found, "{state}");
    }
}

#[tokio::test]
async fn tools_of_one_name_are_told_apart_by_their_servers() {
    let index = Index::new(Arc::new(NullEmbedder));
    index.put_server(ServerTools::new("a.b", vec![tool("read", ""), tool("only", "")])).await;
    index.put_server(ServerTools::new("c", vec![tool("read", ""), tool("read", "again")])).await;
    index.settled().await;
    let snapshot = index.snapshot();
    let read = snapshot.tool("a.b", "read").unwrap();
    assert_eq!(snapshot.shown_name(read, NameStyle::DOTS), "a.b.read");
    assert_eq!(snapshot.called("a.b.read"), Some(read));
    assert_eq!(snapshot.called("read"), None);
    assert_eq!(snapshot.called("only").map(|tool| tool.id()), Some("a.b.only".into()));
    assert_eq!(snapshot.shown_name(snapshot.tool("a.b", "only").unwrap(), NameStyle::DOTS), "only");
    assert_eq!(snapshot.len(), 3);
}

#[tokio::test]
async fn a_gateways_tools_are_called_in_any_style() {
    let index = Index::new(Arc::new(NullEmbedder));
    let tools = [tool("write file", "").qualified(), tool("read", "").qualified()];
    index.put_server(ServerTools::new("fs", tools.into())).await;
    index.settled().await;
    let snapshot = index.snapshot();
    for name in ["write file", "read"] {
        let tool = snapshot.tool("fs", name).unwrap();
        for style in [NameStyle::DOTS, NameStyle::UNDERSCORES, NameStyle::UNDERSCORES.at_most(32)] {
            let shown = snapshot.shown_name(tool, style);
            assert_eq!(shown, style.write("fs", name));
            assert_eq!(snapshot.called(&shown), Some(tool), "{shown}");
        }
    }
    assert_eq!(snapshot.called("fs__reed"), None);
}

fn listing(name: &str) -> ToolListing {
    let definition = RawJson::from_value(&json!({ "name": name })).unwrap();
    ToolListing::read(&definition).unwrap()
}

#[tokio::test]
async fn a_sight_that_follows_asks_only_where_tools_changed() {
    let index = Index::new(Arc::new(HashedWords::new(8)));
    let many = (0..2560).map(|n| listing(&format!("tool_{n}"))).collect();
    let rest = |from: usize| (from..3000).map(|n| listing(&format!("tool_{n}"))).collect();
    index.put_server(ServerTools::new("many", many)).await;
    index.put_server(ServerTools::new("rest", rest(2560))).await;
    index.settled().await;
    let asked = AtomicUsize::new(0);
    let sees = |tool: &Tool| {
        asked.fetch_add(1, Ordering::Relaxed);
        tool.name.as_str().ends_with('7')
    };
    let first = VisibleTools::of(&index.snapshot(), sees);
    assert_eq!((first.count(), asked.swap(0, Ordering::Relaxed)), (300, 3000));

    index.put_server(ServerTools::new("few", vec![listing("tool_07")])).await;
    index.put_server(ServerTools::new("rest", rest(2568))).await;
    index.settled().await;
    let snapshot = index.snapshot();
    let followed = first.follow(&snapshot, sees);
    assert!(asked.load(Ordering::Relaxed) <= CHUNK, "{asked:?}");
    let anew = VisibleTools::of(&snapshot, sees);
    assert_eq!((followed.count(), &followed.visible), (300, &anew.visible));
    assert!(followed.is_of(&snapshot) && !first.is_of(&snapshot));
}
