//! Scopes as a client asks for them, uses them, and tells its user of them.

use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::ExtensionId;
use mgp_client_sdk::types::ext::ToolDeclaration;
use mgp_client_sdk::types::ext::scope::{
    CheckPermission, DeniedScope, NegotiateScopes, PermissionChecked, ScopeSession, Scopes, ScopesNegotiated,
};
use mgp_client_sdk::{Client, Error, RawJson};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_types::mgp::Timestamp;
use serde_json::{Value, json};

use crate::servers::{MODES, connect, declaring};

fn scopes(list: &[&str]) -> Scopes {
    Scopes::read(list).unwrap()
}

/// A server that gives scopes to read, and knows its sessions by their tokens.
fn tracker() -> Server {
    let needs = |name: &str, required: &[&str]| {
        let required_scopes = required.iter().map(|scope| (*scope).into()).collect();
        Tool::new(name, "Does it.").declare(ToolDeclaration { required_scopes, ..ToolDeclaration::default() })
    };
    Server::new("tracker", "1.0.0")
        .tool(needs("search", &["read:tickets"]), async |cx: Cx| {
            let token = cx.meta("session_token").and_then(|token| token.to_text());
            match token.as_deref() {
                Some("token-1") => Ok("found"),
                _ => Err(ToolError::from(Error::new(code::AUTH_REQUIRED, "no session"))),
            }
        })
        .tool(needs("edit", &["read:tickets", "write:linear_ticket"]), || async { "edited" })
        .tool(needs("help", &[]), || async { "help" })
        .tool(Tool::new("declared", "Returns the capabilities of the client."), async |cx: Cx| {
            cx.session().capabilities.to_raw().to_string()
        })
        .method("mgp/permission/check", async |asked: CheckPermission| {
            Ok::<_, ToolError>(match &*asked.tool {
                "search" => PermissionChecked::allowed(),
                _ => PermissionChecked::missing(vec!["write:linear_ticket".into()]),
            })
        })
        .method("mgp/permission/negotiate", async |wanted: NegotiateScopes| {
            let is_read = |scope: &&str| scope.starts_with("read:");
            let granted = Scopes::read(wanted.requested_scopes.iter().filter(is_read))?;
            let denied: Vec<_> = wanted.requested_scopes.missing_from(&granted);
            let why = wanted.justification.as_deref().unwrap_or("nobody said why");
            let denied = denied.into_iter().map(|scope| DeniedScope::new(scope, why)).collect();
            let mut session = ScopeSession::new("token-1", granted, Timestamp::EPOCH);
            session.refresh_token = Some("again-1".into());
            session.inactivity_timeout_seconds = wanted.ttl_seconds;
            Ok::<_, ToolError>(ScopesNegotiated::new(session, denied))
        })
        .method("mgp/permission/refresh", async |asked: Value| {
            assert_eq!(asked["refresh_token"], "again-1");
            Ok::<_, ToolError>(ScopeSession::new("token-2", scopes(&["read:tickets"]), Timestamp::EPOCH))
        })
}

// covers: EXT-04-01, EXT-04-02
#[tokio::test]
async fn a_client_declares_the_scopes_that_it_wants_whatever_they_are_called() {
    let wanted = ["read:github_repoX", "temp:30min", "write:linear_ticket", "日本"];
    for mode in MODES {
        let builder = Client::builder("tester", "1.0.0").scopes(&scopes(&wanted));
        let client = connect(tracker(), builder, mode).await;
        let declared = client.call_tool("declared", ()).await.unwrap();
        let declared: Value = serde_json::from_str(declared.content[0].as_text().unwrap()).unwrap();
        let settings = &declared["extensions"][ExtensionId::ScopedAuth.id()];
        assert_eq!(*settings, json!({"requested_scopes": wanted}));
    }
}

// covers: EXT-04-07, EXT-04-08, EXT-04-09
#[tokio::test]
async fn a_session_with_scopes_is_negotiated_used_and_refreshed() {
    for mode in MODES {
        let client = connect(tracker(), declaring(&[ExtensionId::ScopedAuth]), mode).await;
        let mut wanted = NegotiateScopes::new(scopes(&["read:tickets", "write:linear_ticket"]));
        wanted.justification = Some("clean-up".into());
        wanted.ttl_seconds = Some(1800);
        let given = client.negotiate_scopes(&wanted).await.unwrap();
        assert_eq!(given.granted_scopes, scopes(&["read:tickets"]));
        assert_eq!(given.denied_scopes, [DeniedScope::new("write:linear_ticket", "clean-up")]);
        assert_eq!(given.session.inactivity_timeout_seconds, Some(1800));

        assert!(client.call_tool("search", ()).await.is_err(), "a call says itself which session it is of");
        let found = client.call_tool("search", ()).with_scopes(&given.session).await.unwrap();
        assert_eq!(found.content[0].as_text(), Some("found"));

        let renewed = client.refresh_scopes(&given.session).await.unwrap();
        assert_eq!(&*renewed.token, "token-2");
        let ended = client.refresh_scopes(&renewed).await.unwrap_err();
        assert!(ended.message().contains("negotiate a new one"), "{ended}");
    }
}

// covers: EXT-04-04, EXT-04-05
#[tokio::test]
async fn a_client_asks_before_it_calls() {
    for mode in MODES {
        let client = connect(tracker(), declaring(&[ExtensionId::ScopedAuth]), mode).await;
        let mut question = CheckPermission::new("edit");
        question.parameters = Some(mgp_client_sdk::Object::from_raw(&RawJson::parse("{}").unwrap()).unwrap());
        let answer = client.check_permission(&question).await.unwrap();
        assert_eq!((answer.allowed, &*answer.missing_scopes), (false, &["write:linear_ticket".into()][..]));
        assert!(client.check_permission(&CheckPermission::new("search")).await.unwrap().allowed);
    }
}

// covers: EXT-04-12
#[tokio::test]
async fn a_user_is_told_in_words_what_the_scopes_allow_and_what_not() {
    for mode in MODES {
        let client = connect(tracker(), declaring(&[ExtensionId::ScopedAuth]), mode).await;
        let report = client.scope_report(&scopes(&["read:tickets"])).await.unwrap();
        for line in ["can call search", "can call help", "cannot call edit: it needs write:linear_ticket"] {
            assert!(report.lines().any(|report_line| report_line == line), "{report}");
        }
        let nothing = client.scope_report(&Scopes::new()).await.unwrap();
        assert!(
            nothing.contains("cannot call edit: it needs read:tickets, write:linear_ticket"),
            "{nothing}"
        );
    }
}
