//! Tests of the catalog.

use std::sync::Arc;

use mgp_types::mgp::{EffectiveSecurity, NameStyle, ResolvedTool, RiskLevel};
use mgp_types::{Object, RawJson};
use proptest::prelude::*;

use super::*;

fn tool(server: &str, name: &str) -> Arc<ResolvedTool> {
    let mut definition = Object::parse(r#"{"name":"","inputSchema":{"type":"object"}}"#).unwrap();
    definition.set("name", RawJson::from_value(name).unwrap());
    resolved(server, name, definition)
}

fn resolved(server: &str, name: &str, definition: Object) -> Arc<ResolvedTool> {
    ResolvedTool::new(server.into(), name.into(), definition, EffectiveSecurity::new(RiskLevel::Safe))
}

fn catalog(servers: &[(&str, &[&str])]) -> Catalog {
    let catalog = Catalog::new();
    for (server, tools) in servers {
        let tools = tools.iter().map(|name| tool(server, name)).collect();
        catalog.put_server((*server).into(), tools).unwrap();
    }
    catalog
}

fn object(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

fn meant(snapshot: &CatalogSnapshot, name: &str) -> Option<String> {
    let tool = snapshot.called(name)?;
    Some(format!("{} of {}", tool.resolved.name, tool.resolved.server))
}

// covers: GGEN-1-02
#[test]
fn a_name_of_two_servers_is_qualified_and_its_bare_form_is_nobodys() {
    let snapshot = catalog(&[("a", &["read"]), ("b", &["read", "write"])]).snapshot();
    assert_eq!(meant(&snapshot, "a.read").unwrap(), "read of a");
    assert_eq!(meant(&snapshot, "b.read").unwrap(), "read of b");
    assert!(snapshot.called("read").is_none());
    assert_eq!(meant(&snapshot, "write").unwrap(), "write of b");
}

#[test]
fn every_style_of_a_name_means_its_tool() {
    let long = "find_all_issues_that_somebody_has_forgotten_about_since_the_last_release";
    let snapshot = catalog(&[("git", &["status", "a.b"]), ("io.example", &["read", long])]).snapshot();
    for tool in snapshot.tools() {
        let (server, name) = (tool.resolved.server.as_str(), tool.resolved.name.as_str());
        for longest in [32, 46, 54, 64] {
            for style in [NameStyle::DOTS, NameStyle::UNDERSCORES].map(|style| style.at_most(longest)) {
                let written = style.write(server, name);
                let listed = Object::from_raw(&tool.definition(style)).unwrap();
                assert_eq!(listed.text("name").as_deref(), Some(&*written));
                assert!(Arc::ptr_eq(snapshot.called(&written).unwrap(), tool), "{written}");
            }
        }
    }
    assert_eq!(meant(&snapshot, "git__status").unwrap(), "status of git");
}

#[test]
fn a_form_that_two_tools_share_is_nobodys() {
    let snapshot = catalog(&[("a", &["b_c"]), ("a.b", &["c"])]).snapshot();
    assert!(snapshot.called("a_b_c").is_none());
    assert_eq!(meant(&snapshot, "a.b_c").unwrap(), "b_c of a");
    assert_eq!(meant(&snapshot, "a.b.c").unwrap(), "c of a.b");
}

#[test]
fn no_server_gets_the_calls_for_one_that_is_away() {
    let snapshot = catalog(&[("mind", &["cerebras.think", "files.read", "a__b", "x/y"])]).snapshot();
    for name in ["mind.cerebras.think", "files.read", "a__b", "x/y"] {
        assert_eq!(meant(&snapshot, name), None, "{name}");
    }
    assert_eq!(meant(&snapshot, "mind/cerebras.think").unwrap(), "cerebras.think of mind");
}

#[test]
fn the_names_of_the_kernel_are_nobody_elses() {
    let snapshot =
        catalog(&[("a", &["mgp.tools.discover", "mgp/tools/discover", "mgp_tools_discover"])]).snapshot();
    assert_eq!(snapshot.tools().len(), 3);
    for name in ["mgp.tools.discover", "mgp/tools/discover", "mgp_tools_discover"] {
        assert!(snapshot.called(name).is_none(), "{name}");
        assert!(snapshot.tool("a", name).unwrap().shown.starts_with("a."), "{name}");
    }
    for server in ["mgp", "mgp.tools", "mgp_tools", "mgp/x", "mgp x"] {
        let refused = Catalog::new().put_server(server.into(), Vec::new()).unwrap_err();
        assert_eq!(refused, CatalogError::Reserved(server.into()));
    }
    assert_eq!(Catalog::new().put_server("".into(), Vec::new()), Err(CatalogError::Unnamed));
    assert_eq!(Catalog::new().put_server("mgp-files".into(), Vec::new()), Ok(true));
}

#[test]
fn a_definition_keeps_every_byte_but_its_name() {
    let definition = concat!(
        r#"{"x-vendor":{"n":1.0e400,"big":12345678901234567890123},"name":"r\u0065ad","inputSchema":"#,
        r##"{ "$defs" : {"é":{"const":0.10}}, "$ref":"#/$defs/é" },"annotations":null}"##
    );
    let catalog = Catalog::new();
    catalog.put_server("files".into(), vec![resolved("files", "read", object(definition))]).unwrap();
    let expected = definition.replace(r#""r\u0065ad""#, r#""files.read""#);
    let snapshot = catalog.snapshot();
    assert_eq!(snapshot.called("read").unwrap().definition(NameStyle::DOTS).as_bytes(), expected.as_bytes());
    assert_eq!(
        snapshot.tool_list(NameStyle::DOTS).as_bytes(),
        format!(r#"{{"tools":[{expected}]}}"#).as_bytes()
    );
}

#[test]
fn the_same_list_again_changes_nothing_and_another_shares_what_stayed() {
    let catalog = catalog(&[("a", &["x", "y"]), ("b", &["z"])]);
    let before = catalog.snapshot();
    assert_eq!(catalog.put_server("a".into(), vec![tool("a", "x"), tool("a", "y")]), Ok(false));
    assert_eq!(catalog.snapshot().generation(), before.generation());
    assert_eq!(catalog.put_server("a".into(), vec![tool("a", "y"), tool("a", "new")]), Ok(true));
    let after = catalog.snapshot();
    assert!(after.generation() > before.generation());
    assert!(Arc::ptr_eq(before.called("a.y").unwrap(), after.called("a.y").unwrap()));
    assert!(after.called("a.x").is_none() && before.called("a.x").is_some());
    assert_eq!(after.of_server("a").len(), 2);
}

#[test]
fn a_changed_definition_is_a_change() {
    let catalog = catalog(&[("a", &["x"])]);
    let other = resolved("a", "x", object(r#"{"name":"x","description":"new"}"#));
    assert_eq!(catalog.put_server("a".into(), vec![other]), Ok(true));
}

#[test]
fn a_server_that_is_removed_takes_everything_along() {
    let catalog = catalog(&[("a", &["x"]), ("b", &["x"])]);
    catalog.put_prompts("a".into(), vec![object(r#"{"name":"p"}"#)]).unwrap();
    catalog.put_resources("a".into(), vec![object(r#"{"uri":"a://1"}"#)]).unwrap();
    catalog.put_templates("a".into(), vec![object(r#"{"uriTemplate":"a://{x}"}"#)]).unwrap();
    assert!(catalog.remove_server(&"a".into()) && !catalog.remove_server(&"a".into()));
    let snapshot = catalog.snapshot();
    assert_eq!(meant(&snapshot, "x").unwrap(), "x of b");
    assert!(snapshot.prompt("p").is_none() && snapshot.resource_owner("a://1", |_| true).is_none());
    assert_eq!(snapshot.prompt_list(NameStyle::DOTS).as_bytes(), br#"{"prompts":[]}"#);
    assert_eq!(snapshot.template_list().as_bytes(), br#"{"resourceTemplates":[]}"#);
}

#[test]
fn a_tool_that_is_listed_twice_is_there_once() {
    let catalog = catalog(&[("a", &["x", "x"])]);
    assert_eq!(catalog.snapshot().tools().len(), 1);
    assert_eq!(catalog.put_server("a".into(), vec![tool("a", "x"), tool("a", "x")]), Ok(false));
}

#[test]
fn prompts_are_named_like_tools() {
    let catalog = Catalog::new();
    let listed = vec![object(r#"{"name":"greet","arguments":[]}"#), object(r#"{"title":"no name"}"#)];
    assert_eq!(catalog.put_prompts("a".into(), listed.clone()), Ok(true));
    assert_eq!(catalog.put_prompts("a".into(), listed), Ok(false));
    let snapshot = catalog.snapshot();
    assert_eq!(
        snapshot.prompt_list(NameStyle::DOTS).as_bytes(),
        br#"{"prompts":[{"name":"a.greet","arguments":[]}]}"#
    );
    for name in ["a.greet", "greet", "a/greet", "a_greet"] {
        let prompt = snapshot.prompt(name).unwrap();
        assert_eq!((prompt.server.as_str(), &*prompt.name), ("a", "greet"));
    }
    assert!(snapshot.called("greet").is_none());
}

#[test]
fn a_resource_is_the_first_servers_and_the_others_are_reached_by_theirs() {
    let catalog = Catalog::new();
    let listed = || vec![object(r#"{"uri":"file:///x","name":"x"}"#)];
    catalog.put_resources("b".into(), listed()).unwrap();
    catalog.put_resources("a".into(), listed()).unwrap();
    let snapshot = catalog.snapshot();
    let owner = |uri: &'static str| {
        snapshot
            .resource_owner(uri, |_| true)
            .map(|owner| (owner.server.as_str().to_owned(), owner.uri.to_owned()))
    };
    assert_eq!(owner("file:///x"), Some(("a".into(), "file:///x".into())));
    assert_eq!(owner("mgp://b/file:///x"), Some(("b".into(), "file:///x".into())));
    assert_eq!(owner("mgp://c/file:///x"), None);
    assert_eq!(
        snapshot.resource_list().as_bytes(),
        br#"{"resources":[{"uri":"file:///x","name":"x"},{"uri":"mgp://b/file:///x","name":"x"}]}"#
    );
}

#[test]
fn the_template_that_says_most_of_a_uri_has_it() {
    let catalog = Catalog::new();
    catalog.put_templates("a".into(), vec![object(r#"{"uriTemplate":"db://{table}"}"#)]).unwrap();
    catalog.put_templates("b".into(), vec![object(r#"{"uriTemplate":"db://users/{id}"}"#)]).unwrap();
    catalog.put_templates("c".into(), vec![object(r#"{"uriTemplate":"db://{table}"}"#)]).unwrap();
    catalog.put_resources("c".into(), vec![object(r#"{"uri":"db://users/7"}"#)]).unwrap();
    let snapshot = catalog.snapshot();
    let owner =
        |uri: &'static str| snapshot.resource_owner(uri, |_| true).map(|owner| owner.server.to_string());
    assert_eq!(owner("db://orders").as_deref(), Some("a"));
    assert_eq!(owner("db://users/8").as_deref(), Some("b"));
    assert_eq!(owner("db://users/7").as_deref(), Some("c"));
    assert_eq!(owner("web://x"), None);
    assert_eq!(snapshot.template_owner("db://{table}", |_| true).unwrap().server.as_str(), "a");
    assert_eq!(snapshot.template_owner("mgp://c/db://{table}", |_| true).unwrap().uri, "db://{table}");
}

#[test]
fn readers_see_whole_snapshots_while_others_write() {
    let catalog = Catalog::new();
    std::thread::scope(|scope| {
        for server in ["a", "b"] {
            let catalog = &catalog;
            scope.spawn(move || {
                for round in 0..50 {
                    let names: Vec<_> = (0..=round % 5).map(|n| tool(server, &format!("t{n}"))).collect();
                    catalog.put_server(server.into(), names).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let snapshot = catalog.read();
            for tool in snapshot.tools() {
                assert!(Arc::ptr_eq(snapshot.called(&tool.shown).unwrap(), tool));
            }
        }
    });
    assert_eq!(catalog.snapshot().generation(), 100);
}

fn names() -> impl Strategy<Value = (String, String)> {
    ("[ab]\\.?[b]?|[a-c_./ü ]{1,80}", "[abc]|b\\.c|[a-cé_./ ]{0,90}|[a-c]_[0-9a-f]{10}")
}

proptest! {
    #[test]
    fn the_order_of_arrival_changes_nothing(
        pairs in prop::collection::hash_set(names(), 1..20).prop_map(Vec::from_iter),
        shuffled in any::<prop::sample::Index>(),
    ) {
        let fill = |pairs: &[(String, String)]| {
            let catalog = Catalog::new();
            let servers: Vec<&str> = pairs.iter().map(|(server, _)| server.as_str()).collect();
            for server in servers {
                let mut tools: Vec<_> =
                    pairs.iter().filter(|(of, _)| of == server).map(|(_, name)| tool(server, name)).collect();
                tools.sort_by(|a, b| a.name.cmp(&b.name));
                catalog.put_server(server.into(), tools).unwrap();
            }
            catalog.snapshot()
        };
        let mut turned = pairs.clone();
        turned.rotate_left(shuffled.index(pairs.len()));
        let (one, other) = (fill(&pairs), fill(&turned));
        prop_assert_eq!(one.tool_list(NameStyle::DOTS), other.tool_list(NameStyle::DOTS));
        for tool in one.tools() {
            prop_assert!(Arc::ptr_eq(one.called(&tool.shown).unwrap(), tool));
            for (server, name) in &pairs {
                for form in [name.clone(), format!("{server}/{name}"), format!("{server}__{name}")] {
                    prop_assert_eq!(meant(&one, &form), meant(&other, &form));
                }
            }
        }
    }

    #[test]
    fn near_names_are_few_and_found_for_any_text(text: String) {
        let snapshot = catalog(&[("a", &["read", "reed", "rea", "red", "ready"])]).snapshot();
        prop_assert!(snapshot.near(&text, |_| true).len() <= 3);
    }
}
