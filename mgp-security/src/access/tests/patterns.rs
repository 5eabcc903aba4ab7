use mgp_types::mgp::AccessPermission::{Allow, Deny};
use mgp_types::mgp::{AccessSource, EntryType, Glob, Specificity};
use proptest::prelude::*;

use super::*;
use crate::access::AccessError;

async fn with(entries: &[(&str, Option<&str>, AccessPermission)]) -> AccessPolicy {
    let policy = policy();
    for (server, tool, permission) in entries {
        policy.grant(&admin(), None, grant("a", server, *tool, *permission)).await.unwrap();
    }
    policy
}

fn decided(policy: &AccessPolicy, server: &str, tool: &str) -> (AccessPermission, AccessSource) {
    let verdict = policy.decide("a", server, Some(tool));
    (verdict.permission, verdict.source)
}

#[tokio::test]
async fn a_pattern_never_reaches_a_server_whose_id_goes_on() {
    let policy = with(&[("one", Some("*"), Allow), ("two", Some("re*"), Allow)]).await;
    assert_eq!(decided(&policy, "one", "read"), (Allow, AccessSource::ServerGrant));
    assert_eq!(decided(&policy, "one", "admin.read").0, Allow);
    assert_eq!(decided(&policy, "two", "read").0, Allow);
    for (server, tool) in [("one.admin", "read"), ("onetwo", "x"), ("two.re", "x"), ("tw", "o.read")] {
        assert_eq!(decided(&policy, server, tool), (Deny, AccessSource::DefaultPolicy), "{server} {tool}");
    }
    assert!(policy.reaches("a", "two") && !policy.reaches("a", "two.re") && !policy.reaches("b", "two"));
}

#[tokio::test]
async fn the_narrower_entry_decides_and_of_two_as_narrow_the_one_that_denies() {
    let policy = with(&[
        ("*", None, Allow),
        ("git*", None, Deny),
        ("git", None, Allow),
        ("*", Some("delete_*"), Deny),
        ("files", Some("delete_*"), Allow),
        ("*", Some("delete_all"), Deny),
        ("files", Some("delete_all"), Allow),
        ("notes", Some("re*"), Allow),
        ("notes", Some("*ad"), Deny),
    ])
    .await;
    for (server, tool, expected) in [
        ("any", "read", Allow),
        ("github", "read", Deny),
        ("git", "read", Allow),
        ("git", "delete_branch", Deny),
        ("files", "delete_draft", Allow),
        ("files", "undelete_x", Allow),
        ("other", "delete_all", Deny),
        ("files", "delete_all", Allow),
        ("notes", "read", Deny),
        ("notes", "render", Allow),
    ] {
        assert_eq!(decided(&policy, server, tool).0, expected, "{server} {tool}");
    }
}

#[tokio::test]
async fn a_pattern_is_replaced_taken_back_and_ends_like_any_entry() {
    let hands = ManualClock::default();
    let policy = timed(&hands);
    let deny = grant("a", "s*", Some("d*"), Deny);
    policy.grant(&admin(), None, grant("a", "s*", None, Allow)).await.unwrap();
    policy.grant(&admin(), None, deny.clone()).await.unwrap();
    assert_eq!(decided(&policy, "s1", "drop").0, Deny);
    policy.grant(&admin(), None, grant("a", "s*", Some("d*"), Allow)).await.unwrap();
    assert_eq!((decided(&policy, "s1", "drop").0, policy.entries().len()), (Allow, 2));
    policy.grant(&admin(), None, deny.with_expires_at(Some(at(10)))).await.unwrap();
    hands.set(9);
    assert_eq!(decided(&policy, "s1", "drop").0, Deny);
    hands.set(10);
    assert_eq!(decided(&policy, "s1", "drop").0, Allow);
    let revoked = policy.revoke(&admin(), None, revoke("a", "s*", None)).await.unwrap();
    assert_eq!((revoked.is_some(), decided(&policy, "s1", "read").0), (true, Deny));
    // A name is a name: what it would stand for is not taken back by it.
    let revoked = policy.revoke(&admin(), None, revoke("a", "s1", Some("drop"))).await.unwrap();
    assert!(revoked.is_none());
}

#[tokio::test]
async fn all_tools_of_a_server_are_the_entry_for_the_server() {
    let policy = with(&[("s", Some("*"), Deny)]).await;
    let entries = policy.entries();
    assert_eq!((entries[0].entry.entry_type(), &entries[0].entry.tool_name), (EntryType::ServerGrant, &None));
    policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    assert_eq!((decided(&policy, "s", "t").0, policy.entries().len()), (Allow, 1));
    let revoked = policy.revoke(&admin(), None, revoke("a", "s", Some("*"))).await.unwrap();
    assert!(revoked.is_some());
}

#[tokio::test]
async fn a_question_is_about_one_tool() {
    let policy = with(&[("s", Some("d*"), Allow)]).await;
    let state = policy.query(&admin(), &query("a", "s", Some("drop"))).unwrap();
    assert_eq!((state.permission, state.source), (Allow, AccessSource::ToolGrant));
    for asked in [query("a", "s", Some("d*")), query("a", "*", None)] {
        assert!(matches!(policy.query(&admin(), &asked), Err(AccessError::Malformed(_))));
    }
}

#[tokio::test]
async fn patterns_of_agents_and_of_no_server_are_refused() {
    let policy = policy();
    for wrong in
        [grant("*", "s", None, Deny), grant("team.*", "s", None, Deny), grant("a", "s *", None, Deny)]
    {
        let refused = policy.grant(&admin(), None, wrong.clone()).await;
        assert!(matches!(refused, Err(AccessError::Malformed(_))), "{wrong:?}");
    }
}

/// The rules in as many words: the greatest of all that stand for the tool, then for the server.
fn expected(
    entries: &[(String, Option<String>, AccessPermission)],
    server: &str,
    tool: &str,
) -> AccessPermission {
    let narrowest = |of_tools: bool| {
        let stands_for = entries.iter().filter(|(glob, wanted, _)| {
            wanted.is_some() == of_tools
                && Glob::new(glob.as_str()).matches(server)
                && wanted.as_ref().is_none_or(|wanted| Glob::new(wanted.as_str()).matches(tool))
        });
        let by_rank = |(glob, wanted, permission): &&(String, Option<String>, AccessPermission)| {
            let (glob, wanted) = (Glob::new(glob.as_str()), Glob::new(wanted.as_deref().unwrap_or("*")));
            let exact = glob.is_exact() && (wanted.is_exact() || !of_tools);
            (exact, Specificity::new(&glob, &wanted), *permission == Deny)
        };
        stands_for.max_by_key(by_rank).map(|(.., permission)| *permission)
    };
    narrowest(true).or_else(|| narrowest(false)).unwrap_or(Deny)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn decisions_among_patterns_are_those_of_the_rules(
        entries in proptest::collection::vec(
            ("[ab*]{1,3}", proptest::option::of("[xy*]{0,2}[xy][xy*]{0,2}"), any::<bool>()),
            0..12,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let policy = policy();
        let mut model: Vec<(String, Option<String>, AccessPermission)> = Vec::new();
        for (server, tool, deny) in entries {
            let permission = if deny { Deny } else { Allow };
            let wanted = grant("a", &server, tool.as_deref(), permission);
            runtime.block_on(policy.grant(&admin(), None, wanted)).unwrap();
            model.retain(|(other, of, _)| (other, of) != (&server, &tool));
            model.push((server, tool, permission));
        }
        for server in ["a", "b", "ab", "ba", "aab"] {
            for tool in ["x", "y", "xy", "yx", "xxy"] {
                prop_assert_eq!(decided(&policy, server, tool).0, expected(&model, server, tool));
            }
        }
    }
}
