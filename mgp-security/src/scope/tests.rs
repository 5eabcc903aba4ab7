use std::sync::Arc;
use std::time::Duration;

use mgp_types::ext::StructuredError;
use mgp_types::ext::scope::{NegotiateScopes, ScopeSession, Scopes, ScopesNegotiated};
use mgp_types::mgp::{CallRecord, EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Error, Gate, Object, Principal, RawJson, Request, Response, code};
use proptest::prelude::*;
use tower_service::Service;

use super::sessions::MAX_SESSIONS_OF_CALLER;
use super::{ScopeBook, ScopeGate, ScopeRules};
use crate::doubles::{ManualClock, TestServer};

fn scopes(list: &[&str]) -> Scopes {
    Scopes::read(list).unwrap()
}

/// A book in which `one` may read and write tickets, and `two` is held to nothing.
fn book() -> ScopeBook {
    let rules = ScopeRules::default()
        .with_agent("one", scopes(&["read:tickets", "write:tickets"]))
        .with_tool("tracker", "export", scopes(&["export"]));
    let book = ScopeBook::new(ManualClock::at(1_000_000).clock());
    book.set(rules);
    book
}

fn tool(name: &str, required: &str) -> Arc<ResolvedTool> {
    let definition = Object::parse(format!(r#"{{"name":"{name}","required_scopes":{required}}}"#)).unwrap();
    let security = EffectiveSecurity::new(RiskLevel::Safe);
    ResolvedTool::new("tracker".into(), name.into(), definition, security)
}

fn request(agent: &str, token: Option<&str>) -> Request {
    let mut params = Object::parse(r#"{"name":"t","_meta":{"other":1}}"#).unwrap();
    if let Some(token) = token {
        params.object_mut("_meta").unwrap().set("session_token", RawJson::from_text(token));
    }
    let mut request = Request::call("tools/call", params);
    request.context.principal = Some(Principal::new(agent));
    request
}

fn call(agent: &str, token: Option<&str>, tool: &Arc<ResolvedTool>) -> Request {
    let mut request = request(agent, token);
    request.context.tool = Some(Arc::clone(tool));
    request.context.trail = Some(Arc::default());
    request
}

async fn send(book: &ScopeBook, request: Request) -> Result<Response, Error> {
    ScopeGate::new(book.clone()).layer(TestServer::new()).call(request).await
}

/// Returns the code of the refusal of a call; 0 if it passes.
async fn refused(book: &ScopeBook, agent: &str, token: Option<&str>, required: &str) -> i64 {
    send(book, call(agent, token, &tool("t", required))).await.map_or_else(|error| error.code(), |_| 0)
}

fn negotiate(book: &ScopeBook, agent: &str, token: Option<&str>, wanted: &[&str]) -> ScopesNegotiated {
    book.negotiate(&request(agent, token), &NegotiateScopes::new(scopes(wanted))).unwrap()
}

fn opened(book: &ScopeBook, wanted: &[&str]) -> ScopeSession {
    negotiate(book, "one", None, wanted).session
}

// covers: EXT-04-03, EXT-04-13
#[tokio::test]
async fn a_call_needs_the_scopes_of_its_tool_and_those_that_the_operator_added() {
    let book = book();
    assert_eq!(refused(&book, "one", None, r#"["read:tickets","write:tickets"]"#).await, 0);
    assert_eq!(refused(&book, "one", None, "[]").await, 0);
    let both = call("one", None, &tool("export", r#"["read:tickets","delete:tickets"]"#));
    let trail = both.context.trail.clone().unwrap();
    let error = send(&book, both).await.unwrap_err();
    assert_eq!(CallRecord::refusal(&trail).map(|refusal| refusal.rule), Some("missing-scope"));
    let structured = StructuredError::of(&error);
    assert_eq!(
        (error.code(), &*structured.code, structured.category.as_str()),
        (1000, "SCOPE_INSUFFICIENT", "auth_required")
    );
    assert_eq!(
        structured.details.unwrap().get("missing_scopes").unwrap().to::<Vec<String>>().unwrap(),
        ["delete:tickets", "export"]
    );
    assert!(structured.suggestion.is_some_and(|next| next.contains("scope")));
}

#[tokio::test]
async fn what_a_tool_needs_has_to_be_known() {
    let book = book();
    for unreadable in ["7", r#"["a b"]"#, r#"{"read":true}"#] {
        assert_eq!(refused(&book, "one", None, unreadable).await, code::PERMISSION_DENIED, "{unreadable}");
    }
    assert_eq!(refused(&book, "one", None, "null").await, 0);
    assert_eq!(send(&book, request("one", None)).await.unwrap_err().code(), code::PERMISSION_DENIED);
}

// covers: EXT-04-01, EXT-04-08
#[tokio::test]
async fn a_part_of_what_is_asked_for_is_granted_and_the_rest_is_denied_with_a_reason() {
    let book = book();
    let asked = ["read:tickets", "delete:tickets", "temp:30min", "temp:5d"];
    let answer = negotiate(&book, "one", None, &asked);
    assert_eq!(answer.granted_scopes, scopes(&["read:tickets"]));
    let denied: Vec<_> = answer.denied_scopes.iter().map(|denied| &*denied.scope).collect();
    assert_eq!(denied, ["delete:tickets", "temp:5d"]);
    assert!(answer.denied_scopes.iter().all(|denied| !denied.reason.is_empty()));
    // `temp:30min` is no scope but the time of the others.
    assert_eq!(answer.session.expires_at.as_millis(), 1_000_000 + 30 * 60 * 1000);

    let token = Some(&*answer.session.token);
    assert_eq!(refused(&book, "one", token, r#"["read:tickets"]"#).await, 0);
    assert_eq!(refused(&book, "one", token, r#"["write:tickets"]"#).await, 1000, "a session narrows");
    assert_eq!(negotiate(&book, "two", None, &["anything"]).granted_scopes, scopes(&["anything"]));
}

#[tokio::test]
async fn the_time_of_a_session_is_bounded() {
    let book = book();
    let mut wanted = NegotiateScopes::new(scopes(&["read:tickets"]));
    let millis = |wanted: &NegotiateScopes| {
        let session = book.negotiate(&request("one", None), wanted).map(|answer| answer.session);
        session.map(|session| session.expires_at.as_millis() - 1_000_000)
    };
    for (ttl, seconds) in [(None, 3600), (Some(60), 60), (Some(u64::MAX), 86_400)] {
        wanted.ttl_seconds = ttl;
        assert_eq!(millis(&wanted).unwrap(), seconds * 1000);
    }
    wanted.ttl_seconds = Some(0);
    assert_eq!(millis(&wanted).unwrap_err().code(), code::INVALID_PARAMS);
}

// covers: EXT-04-09, EXT-04-10
#[tokio::test(start_paused = true)]
async fn a_session_ends_at_its_end_and_when_nobody_uses_it() {
    let book = book();
    let (used, idle) = (opened(&book, &["read:tickets"]), opened(&book, &["read:tickets"]));
    assert_eq!(used.inactivity_timeout_seconds, Some(1800));
    let read = r#"["read:tickets"]"#;
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(1199)).await;
        assert_eq!(refused(&book, "one", Some(&used.token), read).await, 0);
    }
    assert_eq!(refused(&book, "one", Some(&idle.token), read).await, code::AUTH_EXPIRED);
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(refused(&book, "one", Some(&used.token), read).await, code::AUTH_EXPIRED);
    assert!(book.refresh(&request("one", None), used.refresh_token.as_deref().unwrap()).is_err());
}

// covers: EXT-04-11
#[tokio::test(start_paused = true)]
async fn a_refreshed_session_has_new_tokens_and_the_old_ones_are_dead() {
    let book = book();
    let first = opened(&book, &["read:tickets"]);
    let refresh = first.refresh_token.as_deref().unwrap();
    tokio::time::advance(Duration::from_mins(29)).await;
    let second = book.refresh(&request("one", None), refresh).unwrap();
    assert_eq!(second.scopes, first.scopes);
    let read = r#"["read:tickets"]"#;
    assert_eq!(refused(&book, "one", Some(&first.token), read).await, code::AUTH_REQUIRED);
    assert_eq!(book.refresh(&request("one", None), refresh).unwrap_err().code(), code::AUTH_REQUIRED);
    for _ in 0..2 {
        tokio::time::advance(Duration::from_mins(29)).await;
        assert_eq!(
            refused(&book, "one", Some(&second.token), read).await,
            0,
            "it lasts as long as a new one"
        );
    }
}

// covers: EXT-04-15
#[tokio::test(start_paused = true)]
async fn one_scope_of_a_session_ends_while_others_live_on() {
    let book = book();
    let first = opened(&book, &["read:tickets"]);
    let answer = negotiate(&book, "one", Some(&first.token), &["write:tickets", "temp:60s"]);
    let session = answer.session;
    assert_eq!(session.scopes, scopes(&["read:tickets", "write:tickets"]));
    let (read, write) = (r#"["read:tickets"]"#, r#"["write:tickets"]"#);
    assert_eq!(refused(&book, "one", Some(&first.token), read).await, code::AUTH_REQUIRED, "it went over");
    assert_eq!(refused(&book, "one", Some(&session.token), write).await, 0);
    tokio::time::advance(Duration::from_secs(30)).await;
    // Refreshing makes no time of a limited scope.
    let session = book.refresh(&request("one", None), session.refresh_token.as_deref().unwrap()).unwrap();
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(refused(&book, "one", Some(&session.token), write).await, 1000);
    assert_eq!(refused(&book, "one", Some(&session.token), read).await, 0);
}

#[tokio::test]
async fn a_token_serves_nobody_else_and_a_wrong_one_serves_nobody() {
    let book = book();
    let session = opened(&book, &["read:tickets"]);
    assert_eq!(refused(&book, "two", Some(&session.token), "[]").await, code::AUTH_REQUIRED);
    let mut other_kind = call("one", Some(&session.token), &tool("t", "[]"));
    other_kind.context.principal = Some(Principal::operator("one"));
    assert_eq!(send(&book, other_kind).await.unwrap_err().code(), code::AUTH_REQUIRED);
    for wrong in ["", "x", session.refresh_token.as_deref().unwrap()] {
        assert_eq!(refused(&book, "one", Some(wrong), "[]").await, code::AUTH_REQUIRED);
    }
    let mut number = call("one", None, &tool("t", "[]"));
    number.meta_mut().unwrap().set("session_token", RawJson::parse("7").unwrap());
    assert_eq!(send(&book, number).await.unwrap_err().code(), code::AUTH_REQUIRED);
}

#[tokio::test]
async fn tokens_are_random_and_are_not_forwarded_nor_written() {
    let book = book();
    let session = opened(&book, &["read:tickets"]);
    assert!(session.token.len() == 64 && session.token != opened(&book, &[]).token);
    for method in ["tools/call", "resources/read"] {
        let mut sent = call("one", Some(&session.token), &tool("t", "[]"));
        sent.method = method.into();
        let gate = ScopeGate::new(book.clone());
        let flow = gate.enter(&mut sent);
        assert!(!format!("{flow:?}{gate:?}").contains(&*session.token));
        let forwarded = String::from_utf8(sent.params.to_raw().as_bytes().to_vec()).unwrap();
        assert!(!forwarded.contains("session_token") && forwarded.contains("other"), "{forwarded}");
    }
    let mut of_header = call("one", None, &tool("t", r#"["write:tickets"]"#));
    let (head, ()) = http::Request::builder()
        .header("X-MCP-Session-Token", &*session.token)
        .body(())
        .unwrap()
        .into_parts();
    of_header.extensions.insert(head);
    assert_eq!(send(&book, of_header).await.unwrap_err().code(), 1000, "the header has the token too");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_bounded_and_those_that_are_over_make_room() {
    let book = book();
    for _ in 0..MAX_SESSIONS_OF_CALLER {
        opened(&book, &["read:tickets"]);
    }
    let wanted = NegotiateScopes::new(scopes(&["read:tickets"]));
    let full = book.negotiate(&request("one", None), &wanted).unwrap_err();
    assert_eq!(full.code(), code::RESOURCE_EXHAUSTED);
    assert!(book.negotiate(&request("two", None), &wanted).is_ok(), "others have room");
    tokio::time::advance(Duration::from_hours(1)).await;
    assert!(book.negotiate(&request("one", None), &wanted).is_ok());
}

#[tokio::test]
async fn a_scope_that_is_taken_from_an_agent_leaves_its_sessions() {
    let book = book();
    let session = opened(&book, &["read:tickets", "write:tickets"]);
    book.set(ScopeRules::default().with_agent("one", scopes(&["read:tickets"])));
    assert_eq!(refused(&book, "one", Some(&session.token), r#"["write:tickets"]"#).await, 1000);
    assert_eq!(
        *book.held(&request("one", Some(&session.token))).unwrap().unwrap(),
        scopes(&["read:tickets"])
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_past_the_end_of_its_session_is_refused() {
    let book = book();
    let session = opened(&book, &["read:tickets", "temp:10s"]);
    let gate = ScopeGate::new(book.clone());
    let mut sent = call("one", Some(&session.token), &tool("t", r#"["read:tickets"]"#));
    let mgp_types::Flow::Pass(mut token) = gate.enter(&mut sent) else { panic!("it passes") };
    assert!(gate.recheck(&mut token, &mut sent).is_ok());
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(gate.recheck(&mut token, &mut sent).unwrap_err().code(), code::AUTH_EXPIRED);
}

proptest! {
    // covers: EXT-04-06
    #[test]
    fn a_check_says_what_the_call_is_told(
        configured in prop::option::of(prop::collection::btree_set("[a-d]", 0..4)),
        negotiated in prop::option::of(prop::collection::btree_set("[a-d]", 0..4)),
        declared in prop::collection::btree_set("[a-d]", 0..3),
        added in prop::collection::btree_set("[a-d]", 0..2),
        is_token_wrong in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut rules = ScopeRules::default().with_tool("tracker", "t", Scopes::read(&added).unwrap());
        if let Some(configured) = &configured {
            rules = rules.with_agent("one", Scopes::read(configured).unwrap());
        }
        let book = ScopeBook::new(ManualClock::at(0).clock());
        book.set(rules);
        runtime.block_on(async {
            let token = negotiated.as_ref().map(|wanted| {
                let wanted = NegotiateScopes::new(Scopes::read(wanted).unwrap());
                let session = book.negotiate(&request("one", None), &wanted).unwrap().session;
                if is_token_wrong { "wrong".into() } else { session.token }
            });
            let tool = tool("t", &serde_json::to_string(&declared).unwrap());
            let sent = call("one", token.as_deref(), &tool);
            let checked = book.check(&sent, &tool).map_err(|error| (error.code(), error.message().to_owned()));
            let called = send(&book, sent).await.map(drop);
            let called = called.map_err(|error| (error.code(), error.message().to_owned()));
            prop_assert_eq!(&checked, &called);
            // What is held is what was negotiated and is configured.
            if !(is_token_wrong && negotiated.is_some()) {
                let has = |scope: &String| {
                    configured.as_ref().is_none_or(|set| set.contains(scope))
                        && negotiated.as_ref().is_none_or(|set| set.contains(scope))
                };
                prop_assert_eq!(checked.is_ok(), declared.union(&added).all(has));
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_token_calls_the_tools_for_which_it_has_the_scopes() {
    let book = book();
    let (plain, needy, broken) = (tool("t", "null"), tool("t", r#"["write:tickets"]"#), tool("t", "7"));
    let added = tool("export", r#"["read:tickets"]"#);
    for (held, visible) in [
        (&["read:tickets"][..], [true, false, false, false]),
        (&["write:tickets", "read:tickets"], [true, true, false, false]),
        (&["export", "read:tickets"], [true, false, false, true]),
    ] {
        for (tool, is_visible) in [&plain, &needy, &broken, &added].into_iter().zip(visible) {
            let mut request = call("two", None, tool);
            request.context.scopes = Some(Arc::new(scopes(held)));
            assert_eq!(book.suffice(&scopes(held), tool), is_visible, "{held:?} {:?}", tool.definition);
            assert_eq!(book.check(&request, tool).is_ok(), is_visible);
            assert_eq!(send(&book, request).await.is_ok(), is_visible);
        }
    }
    assert!(send(&book, call("two", None, &needy)).await.is_ok(), "nobody is held to scopes without a token");
}

#[tokio::test]
async fn an_agent_with_a_token_has_the_scopes_that_token_and_configuration_allow() {
    let book = book();
    let mut request = request("one", None);
    request.context.scopes = Some(Arc::new(scopes(&["write:tickets", "export"])));
    let held = book.held(&request).unwrap().unwrap();
    assert_eq!(held.iter().collect::<Vec<_>>(), ["write:tickets"]);
    let mut call = call("one", None, &tool("t", r#"["read:tickets"]"#));
    call.context.scopes = request.context.scopes;
    assert_eq!(send(&book, call).await.unwrap_err().code(), code::PERMISSION_DENIED);
}
