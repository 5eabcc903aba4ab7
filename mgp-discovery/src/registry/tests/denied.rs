//! Tests of registrations that are refused.

use mgp_types::code;

use super::*;

#[tokio::test]
async fn nobody_may_register_anything_unless_told() {
    let world = world();
    world.registry.set_policy(RegistrationPolicy::default());
    for by in [maker(), admin()] {
        let outcome = world.register(&by, script("a", "a.py")).await;
        assert!(matches!(outcome, Err(RegistryError::Forbidden(_))), "{outcome:?}");
    }
}

// covers: MGP-15.4-09
#[test]
fn whoever_says_to_be_somebody_else_is_not() {
    let world = world();
    let mut wanted = script("a", "a.py");
    wanted.created_by = Some("maker".into());
    assert_eq!(world.refused(&Principal::new("other"), wanted), code::PERMISSION_DENIED);
    assert_eq!(world.trail.lines(), ["server_registered BLOCKED"]);
}

// covers: MGP-15.4-02..05, MGP-15.4-07, MGP-15.4-08, MGP-15.4-11
#[test]
fn what_the_policy_does_not_allow_is_refused() {
    let world = world();
    for row in include_str!("denied.txt").lines().filter(|row| !row.starts_with('#')) {
        let mut parts = row.splitn(3, ' ');
        let [by, code, wanted] = std::array::from_fn(|_| parts.next().unwrap());
        let by = if by == "admin" { admin() } else { maker() };
        let refused = world.refused(&by, serde_json::from_str(wanted).unwrap());
        assert_eq!(refused.to_string(), code, "{row}");
    }
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
}

// covers: MGP-15.4-04, MGP-15.4-10
#[test]
fn words_have_bounds() {
    let world = world();
    let long = "x".repeat(5000);
    let alterations: [&dyn Fn(&mut RegisterServer); 4] = [
        &|wanted| wanted.args = vec![long.clone()],
        &|wanted| wanted.args = vec!["x".into(); 65],
        &|wanted| wanted.justification = Some("x".repeat(1001)),
        &|wanted| wanted.mgp.extensions = vec!["x".into(); 33],
    ];
    for (index, alter) in alterations.iter().enumerate() {
        let mut wanted = RegisterServer::new("a".into(), "/opt/tools/server", Vec::new());
        alter(&mut wanted);
        assert_eq!(world.refused(&maker(), wanted), code::INVALID_PARAMS, "{index}");
    }
}

#[tokio::test]
async fn an_address_that_begins_as_a_listed_one_is_reached() {
    let wanted = serde_json::from_str(r#"{"id":"a","url":"https://tools.example/mcp/v2?x=1"}"#).unwrap();
    let registered = world().register(&maker(), wanted).await.unwrap();
    assert_eq!(registered.status, ServerStatus::PendingApproval);
}

// covers: MGP-15.4-11
#[tokio::test]
async fn a_refusal_of_code_says_what_was_found() {
    let world = world();
    let error = Error::from(world.register(&maker(), script("a", "evil.py")).await.unwrap_err());
    assert_eq!(error.code(), code::CODE_SAFETY_VIOLATION);
    let details = error.recovery().unwrap().details.unwrap();
    assert!(String::from_utf8_lossy(details.as_bytes()).contains("Blocked import: 'socket'"));
    assert_eq!(world.trail.lines(), ["CODE_REJECTED BLOCKED"]);
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
}

#[tokio::test]
async fn there_are_no_more_than_there_may_be_and_none_twice() {
    let world = world();
    let mut listed = settings();
    listed.agents.push("other".into());
    world.registry.set_policy(RegistrationPolicy::new(&listed, []));
    let other = Principal::new("other");
    for number in 0..8 {
        world.register(&maker(), script(&format!("a{number}"), "a.py")).await.unwrap();
    }
    let full = world.register(&maker(), script("d", "a.py")).await.unwrap_err();
    assert!(matches!(full, RegistryError::Full(8)), "an agent leaves room for others: {full}");
    for number in 0..8 {
        world.register(&other, script(&format!("b{number}"), "a.py")).await.unwrap();
    }
    let full = world.register(&admin(), standard("d")).await.unwrap_err();
    assert_eq!(Error::from(full).code(), code::RESOURCE_EXHAUSTED);
    let twice = world.register(&admin(), standard("A0")).await.unwrap_err();
    assert_eq!(Error::from(twice).code(), code::SERVER_ALREADY_REGISTERED);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done() {
    let world = world();
    *world.trail.is_full.lock() = true;
    let outcome = world.register(&admin(), standard("a")).await;
    assert!(matches!(outcome, Err(RegistryError::Unrecorded(_))), "{outcome:?}");
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
    *world.trail.is_full.lock() = false;
    world.register(&admin(), standard("a")).await.unwrap();
}

#[test]
fn variables_that_load_code_are_refused_although_they_are_listed() {
    let world = world();
    let mut listed = settings();
    listed.env = ["LD_PRELOAD", "PYTHONPATH", "node_options", "BASH_ENV", "TOKEN"].map(str::to_owned).into();
    world.registry.set_policy(RegistrationPolicy::new(&listed, []));
    for name in ["LD_PRELOAD", "PYTHONPATH", "node_options", "BASH_ENV"] {
        let mut wanted = script("a", "a.py");
        wanted.env.insert(name.into(), String::new());
        assert_eq!(world.refused(&maker(), wanted), code::PERMISSION_DENIED, "{name}");
    }
}
