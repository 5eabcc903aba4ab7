use mgp_types::mgp::AccessPermission::{Allow, Deny};
use mgp_types::mgp::{AgentId, CallRecord, EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{AgentGroup, AgentGroups, Gate, Object, RuleAnswer};

use super::*;
use crate::access::AccessGate;

fn group(name: &str, agents: &[&str]) -> AgentGroup {
    let agents = agents.iter().map(ToString::to_string).collect();
    AgentGroup { name: name.into(), agents, ..AgentGroup::default() }
}

/// A policy with two groups: `ada` is in both, `bob` in the first one, and a client of the user in the second one.
fn grouped() -> (AccessPolicy, AgentGroups) {
    let groups = AgentGroups::default();
    groups.set(vec![group("payments", &["ada", "bob"]), group("audit", &["ada", "local/cursor"])]);
    let settings = AccessPolicySettings { groups: groups.clone(), ..AccessPolicySettings::default() };
    (AccessPolicy::open(settings).unwrap(), groups)
}

async fn make(policy: &AccessPolicy, entries: &[(&str, Option<&str>, AccessPermission)]) {
    for (agent, tool, permission) in entries {
        policy.grant(&admin(), None, grant(agent, "s", *tool, *permission)).await.unwrap();
    }
}

#[tokio::test]
async fn an_entry_for_a_group_stands_between_the_agent_and_everybody() {
    let (policy, _) = grouped();
    let allows = |agent: &str, tool: &str| policy.decide(agent, "s", Some(tool)).allows();
    make(
        &policy,
        &[("@payments", None, Allow), ("bob", Some("wipe"), Deny), ("@payments", Some("wipe"), Allow)],
    )
    .await;
    assert!(allows("ada", "read") && allows("bob", "read") && !allows("eve", "read"));
    assert!(policy.reaches("ada", "s") && !policy.reaches("eve", "s"));
    assert!(allows("ada", "wipe") && !allows("bob", "wipe"));
    assert_eq!(policy.decide("ada", "s", None).group, Some(AgentId::from("@payments")));
    assert_eq!(policy.decide("bob", "s", Some("wipe")).group, None);
    // The kinds of entries keep their order, whoever they name.
    make(&policy, &[("bob", None, Deny)]).await;
    assert!(!allows("bob", "read"));
    make(&policy, &[("@payments", Some("read"), Allow)]).await;
    assert!(allows("bob", "read"));
}

#[tokio::test]
async fn among_several_groups_a_denial_wins_however_narrow_the_others_are() {
    let (policy, _) = grouped();
    make(&policy, &[("@payments", Some("read"), Allow), ("@audit", Some("re*"), Deny)]).await;
    assert!(!policy.decide("ada", "s", Some("read")).allows());
    assert!(policy.decide("bob", "s", Some("read")).allows());
}

#[tokio::test]
async fn an_entry_for_a_group_comes_before_one_for_the_family() {
    let (policy, _) = grouped();
    make(&policy, &[("local", None, Allow), ("@audit", None, Deny)]).await;
    assert!(!policy.decide("local/cursor", "s", None).allows());
    assert!(policy.decide("local/zed", "s", None).allows());
}

#[tokio::test]
async fn other_members_hold_at_once_and_change_the_revision() {
    let (policy, groups) = grouped();
    make(&policy, &[("@payments", None, Allow)]).await;
    let before = policy.revision();
    assert!(policy.decide("bob", "s", None).allows());
    groups.set(vec![group("payments", &["ada"])]);
    assert!(!policy.decide("bob", "s", None).allows() && policy.decide("ada", "s", None).allows());
    assert!(policy.revision() > before);
}

#[tokio::test]
async fn why_names_the_group_and_the_membership_and_so_does_the_record() {
    let (policy, _) = grouped();
    make(&policy, &[("@payments", Some("pay"), Deny)]).await;
    let gate = AccessGate::new(policy);
    let mut request = Request::call("tools/call", Object::new());
    let security = EffectiveSecurity::new(RiskLevel::Safe);
    let tool = ResolvedTool::new("s".into(), "pay".into(), Object::new(), security);
    request.context.tool = Some(tool);
    request.context.principal = Some(Principal::new("ada"));
    let record = Arc::new(CallRecord::default());
    request.context.trail = Some(Arc::clone(&record));
    let mut answers = Vec::new();
    gate.explain(&mut request, &mut answers);
    assert_eq!(answers[0].answer, RuleAnswer::Refuses);
    assert_eq!(
        answers[0].reason,
        "denied by the entry for @payments, of which ada is a member through the entry `ada` of its agents"
    );
    assert_eq!(record.group().map(AgentId::as_str), Some("@payments"));
}

#[tokio::test]
async fn an_agent_asks_about_itself_and_hears_of_the_group() {
    let (policy, _) = grouped();
    make(&policy, &[("@payments", None, Allow)]).await;
    let state = policy.query(&Principal::new("ada"), &query("ada", "s", None)).unwrap();
    assert_eq!(state.group.as_ref().map(AgentId::as_str), Some("@payments"));
    let state = policy.query(&admin(), &query("@payments", "s", None)).unwrap();
    assert_eq!((state.permission, state.group), (Allow, None));
}
