//! Tests of what is kept of learning.

use serde_json::json;
use tokio::time::Instant;

use super::*;

/// A state of this embedder in which agents learned of tools.
fn state(embedder: &str, taught: &[(&str, &str, &str)]) -> LearnedState {
    let tenant = |(agent, server, tool): &(&str, &str, &str)| {
        let tool = json!({
            "server": server, "tool": tool, "definition": "00".repeat(32),
            "weight": 1, "scale": 0.005, "codes": "7f7f",
        });
        json!({ "tenant": agent, "tools": [tool] })
    };
    let tenants: Vec<_> = taught.iter().map(tenant).collect();
    serde_json::from_value(json!({ "embedder": embedder, "tenants": tenants })).unwrap()
}

fn taught(store: &LearnedStore) -> Vec<String> {
    let state = store.uses().unwrap().state();
    let mut taught: Vec<_> =
        state.tools().map(|(agent, server, tool)| format!("{agent} {server}.{tool}")).collect();
    taught.sort();
    taught
}

/// Opens a store, and puts into it what an agent learned of a tool.
fn with(folder: &Path, embedder: &str, tool: &str) -> Arc<LearnedStore> {
    let store = LearnedStore::open(folder, true, embedder);
    store.uses().unwrap().load(state(embedder, &[("ada", "post", tool)]));
    store.write();
    Arc::new(store)
}

#[test]
fn what_was_learned_is_there_again_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = with(folder.path(), "e", "ship");
    assert_eq!(taught(&LearnedStore::open(folder.path(), true, "e")), ["ada post.ship"]);
    assert!(taught(&LearnedStore::open(folder.path(), true, "f")).is_empty());
    let files = store.files().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn nothing_is_written_where_nothing_was_learned() {
    let folder = tempfile::tempdir().unwrap();
    for is_learning in [true, false] {
        LearnedStore::open(folder.path(), is_learning, "e").write();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{is_learning}");
    }
}

#[tokio::test]
async fn another_embedder_has_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(LearnedStore::open(folder.path(), true, "e"));
    store.uses().unwrap().load(state("e", &[("ada", "post", "ship")]));
    store.change_embedder("f").await;
    assert!(taught(&store).is_empty());
    store.uses().unwrap().load(state("f", &[("bob", "post", "stamp")]));
    store.change_embedder("e").await;
    assert_eq!(taught(&store), ["ada post.ship"]);
    store.change_embedder("f").await;
    assert_eq!(taught(&store), ["bob post.stamp"]);
}

#[test]
fn a_file_that_cannot_be_used_is_put_aside_and_the_next_one_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = LearnedStore::open(folder.path(), true, "e").file("e");
    let foreign = serde_json::to_vec(&state("f", &[("ada", "post", "ship")])).unwrap();
    for unusable in [&b"{"[..], b"[]", b"\xff\xfe", &foreign] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, unusable).unwrap();
        assert!(taught(&LearnedStore::open(folder.path(), true, "e")).is_empty());
        assert!(!file.exists() && fs::read(file.with_extension("unusable")).unwrap() == unusable);
        with(folder.path(), "e", "ship");
        assert_eq!(taught(&LearnedStore::open(folder.path(), true, "e")), ["ada post.ship"]);
    }
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = with(folder.path(), "e", "ship");
    let file = store.file("e");
    let text = fs::read_to_string(&file).unwrap();
    let padded = |length: u64| {
        fs::write(&file, &text).unwrap();
        File::options().append(true).open(&file).unwrap().set_len(length).unwrap();
    };
    padded(MOST_BYTES + 1);
    let error = read(&file).unwrap_err();
    assert!(error.to_string().contains("longer"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let file = with(folder.path(), "e", "ship").file("e");
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert!(taught(&LearnedStore::open(folder.path(), true, "e")).is_empty());
    with(folder.path(), "e", "stamp");
    assert!(fs::read_to_string(&elsewhere).unwrap().contains("ship"));
}

#[test]
fn a_tool_is_forgotten_with_every_embedder_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    with(folder.path(), "f", "ship");
    let both = state("e", &[("ada", "post", "ship"), ("bob", "post", "stamp"), ("cy", "box", "ship")]);
    let store = LearnedStore::open(folder.path(), true, "e");
    store.uses().unwrap().load(both);
    for (name, tools) in [("post.other", 0), ("ship", 0), ("post__ship", 1), ("box/ship", 1)] {
        let agents = tools;
        assert_eq!(store.forget(Some(name)).unwrap(), ForgottenUses { tools, agents }, "{name}");
    }
    assert_eq!(taught(&store), ["bob post.stamp"]);
    assert_eq!(taught(&LearnedStore::open(folder.path(), true, "e")), ["bob post.stamp"]);
    assert!(taught(&LearnedStore::open(folder.path(), true, "f")).is_empty());
}

#[test]
fn all_is_forgotten_also_where_searches_do_not_learn() {
    for is_learning in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        for (embedder, tool) in [("e", "ship"), ("f", "stamp"), ("g", "ship")] {
            with(folder.path(), embedder, tool);
        }
        let store = LearnedStore::open(folder.path(), is_learning, "e");
        fs::write(store.file("h"), "{").unwrap();
        assert_eq!(store.forget(None).unwrap(), ForgottenUses { tools: 2, agents: 1 });
        assert!(store.files().unwrap().is_empty(), "{is_learning}");
        store.write();
        assert!(store.files().unwrap().is_empty(), "{is_learning}");
        assert_eq!(store.forget(None).unwrap(), ForgottenUses { tools: 0, agents: 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_written_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(LearnedStore::open(folder.path(), true, "e"));
    let keeping = tokio::spawn(store.keep());
    let began = Instant::now();
    for tool in ["ship", "stamp"] {
        store.uses().unwrap().load(state("e", &[("ada", "post", tool)]));
        let kept = || fs::read_to_string(store.file("e")).is_ok_and(|text| text.contains(tool));
        while !kept() {
            assert!(began.elapsed() < Duration::from_hours(1), "{tool} was not written");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    keeping.abort();
}
