//! Tests of the life of registered servers.

use mgp_types::code;
use mgp_types::mgp::{DeregisterServer, ListServers};

use super::*;

fn ids(world: &World, by: Principal) -> Vec<String> {
    let mut context = Context::default();
    context.principal = Some(by);
    let listed = world.registry.list(&context, &ListServers::default()).unwrap();
    listed.servers.into_iter().map(|server| format!("{} {}", server.id, server.status)).collect()
}

// covers: MGP-15.4-11
#[tokio::test]
async fn a_sandboxed_server_waits_for_an_operator_and_a_standard_one_does_not() {
    let world = world();
    let registered = world.register(&maker(), script("dynamic.tool", "a.py")).await.unwrap();
    assert_eq!(registered.status, ServerStatus::PendingApproval);
    assert!(registered.message.unwrap().contains("approve"));
    assert!(world.ships.log().is_empty());
    assert_eq!(world.registry.registered()[0].digest.as_deref(), Some("python 0"));

    let registered = world.register(&admin(), standard("own")).await.unwrap();
    assert_eq!((registered.status, registered.message), (ServerStatus::Registered, None));
    assert_eq!(world.ships.log(), ["+own"]);

    let id = world.waiting("dynamic.tool");
    let outcome = world.registry.approve(&maker(), None, &id).await;
    assert!(matches!(outcome, Err(RegistryError::Forbidden(_))), "{outcome:?}");
    let approved = world.registry.approve(&admin(), None, &id).await.unwrap();
    assert_eq!(approved.status, ServerStatus::Registered);
    assert_eq!(world.ships.log(), ["+own", "+dynamic.tool"]);
    assert_eq!(
        world.trail.lines(),
        [
            "server_registered SUCCESS", "server_registered SUCCESS", "server_approved BLOCKED",
            "server_approved SUCCESS",
        ]
    );
}

#[tokio::test]
async fn a_server_that_waits_is_seen_by_operators_and_its_maker_only() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    let all = ["files error", "mind.cerebras connected", "new pending_approval"];
    assert_eq!(ids(&world, maker()), all);
    assert_eq!(ids(&world, admin()), all);
    assert_eq!(ids(&world, Principal::new("other")), all[..2]);
    assert_eq!(ids(&world, Principal::operator("maker")), all);
    assert!(ids(&world, Principal::new("blind")).is_empty());
}

#[tokio::test]
async fn a_script_that_changed_while_it_waited_is_not_started() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    *world.eye.0.lock() += 1;
    let error = world.registry.approve(&admin(), None, &world.waiting("new")).await.unwrap_err();
    assert_eq!(Error::from(error).code(), code::CODE_SAFETY_VIOLATION);
    assert!(world.ships.log().is_empty() && !world.registry.registered()[0].is_approved());
}

#[tokio::test]
async fn an_approval_is_for_the_registration_that_was_shown_and_no_later_one() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    let shown = world.waiting("new");
    world.registry.deregister(&maker(), None, &DeregisterServer::new("new".into())).await.unwrap();
    world
        .register(&maker(), RegisterServer::new("new".into(), "/opt/tools/server", Vec::new()))
        .await
        .unwrap();
    for id in [shown, "new".into()] {
        let error = world.registry.approve(&admin(), None, &id).await.unwrap_err();
        assert!(matches!(&error, RegistryError::NotWaiting(of) if *of == id), "{error}");
        assert!(world.registry.deny(&admin(), None, &id).await.is_err());
    }
    assert!(world.ships.log().is_empty() && !world.registry.registered()[0].is_approved());
    // Code that changed meanwhile waits under another id as well.
    world.register(&maker(), script("own", "a.py")).await.unwrap();
    let shown = world.waiting("own");
    *world.eye.0.lock() += 1;
    assert!(world.registry.approve(&admin(), None, &shown).await.is_err());
    let error = world.registry.approve(&admin(), None, &shown).await.unwrap_err();
    assert!(matches!(error, RegistryError::NotWaiting(_)), "{error}");
    world.registry.approve(&admin(), None, &world.waiting("own")).await.unwrap();
}

#[tokio::test]
async fn what_the_policy_no_longer_allows_is_not_approved() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    world.registry.set_policy(RegistrationPolicy::default());
    let outcome = world.registry.approve(&admin(), None, &world.waiting("new")).await;
    assert!(matches!(outcome, Err(RegistryError::Forbidden(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_denied_server_is_gone_and_was_never_started() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    assert!(world.registry.deny(&maker(), None, &world.waiting("new")).await.is_err());
    world.registry.deny(&admin(), None, &world.waiting("new")).await.unwrap();
    assert!(world.registry.registered().is_empty() && world.ships.log().is_empty());
}

// covers: MGP-15.5-01..03
#[tokio::test]
async fn only_its_maker_and_operators_deregister_a_server() {
    let world = world();
    world.register(&maker(), script("one", "a.py")).await.unwrap();
    world.register(&admin(), standard("two")).await.unwrap();
    let wanted = |id: &str| DeregisterServer::new(id.into()).with_reason("no_longer_needed");
    for (by, id) in [
        (Principal::new("other"), "one"),
        (maker(), "two"),
        (maker(), "files"),
        (admin(), "files"),
        (admin(), "none"),
    ] {
        let error = world.registry.deregister(&by, None, &wanted(id)).await.unwrap_err();
        assert!(matches!(&error, RegistryError::Unknown(_)), "{id}: {error}");
    }
    let long = DeregisterServer::new("one".into()).with_reason("x".repeat(1001));
    assert!(world.registry.deregister(&maker(), None, &long).await.is_err());
    let deregistered = world.registry.deregister(&maker(), None, &wanted("one")).await.unwrap();
    let event = world.trail.events.lock().last().unwrap().clone();
    assert_eq!(event.details.text("reason").as_deref(), Some("no_longer_needed"));
    assert_eq!((deregistered.id.as_str(), deregistered.status), ("one", ServerStatus::Deregistered));
    world.registry.deregister(&admin(), None, &wanted("two")).await.unwrap();
    assert_eq!(world.ships.log(), ["+two", "-two"]);
    assert!(world.registry.registered().is_empty());
    assert_eq!(world.trail.lines().last().unwrap(), "server_deregistered SUCCESS");
}

#[tokio::test]
async fn a_server_that_cannot_be_stopped_is_not_forgotten() {
    let world = world();
    world.register(&admin(), standard("one")).await.unwrap();
    world.ships.break_down();
    let outcome = world.registry.deregister(&admin(), None, &DeregisterServer::new("one".into())).await;
    assert!(matches!(outcome, Err(RegistryError::Fleet(_))), "{outcome:?}");
    assert_eq!(world.registry.registered().len(), 1);
    assert_eq!(world.trail.lines().last().unwrap(), "server_deregistered FAILURE");
}

#[tokio::test]
async fn a_server_that_does_not_start_is_registered_and_says_so() {
    let world = world();
    world.ships.break_down();
    let registered = world.register(&admin(), standard("one")).await.unwrap();
    assert_eq!(registered.status, ServerStatus::Error);
    assert_eq!(world.registry.registered().len(), 1);
}

#[tokio::test]
async fn variables_that_are_not_listed_are_left_out_and_told() {
    let world = world();
    let mut wanted = standard("one");
    wanted.env.insert("API_KEY".into(), "${API_KEY}".into());
    wanted.env.insert("HOME_KEY".into(), String::new());
    let registered = world.register(&admin(), wanted).await.unwrap();
    assert!(registered.message.unwrap().ends_with("HOME_KEY"));
    let LaunchMethod::Program { env, .. } = &world.registry.registered()[0].launch else {
        panic!("a program")
    };
    assert_eq!(env, &["API_KEY"]);
}

/// Returns the terms of a server that is made for a session, and approved.
fn for_session(session: &str) -> RegistrationTerms {
    RegistrationTerms { lifetime: Lifetime::Session(session.into()), approved_by: Some("creating".into()) }
}

#[tokio::test]
async fn what_is_made_for_a_session_goes_with_it_unless_kept() {
    let store = Arc::new(SqliteRegistryStore::in_memory().unwrap());
    let world = world_with(store.clone());
    for (id, session) in [("one", "s1"), ("two", "s1"), ("other", "s2")] {
        let terms = for_session(session);
        let registered = world.registry.register(&maker(), None, script(id, "a.py"), terms).await.unwrap();
        assert_eq!(registered.status, ServerStatus::Registered);
    }
    assert!(store.load().unwrap().is_empty());
    assert!(world.registry.keep(&maker(), None, &"two".into()).await.is_err());
    world.registry.keep(&admin(), None, &"two".into()).await.unwrap();
    assert!(world.registry.session_ended("s1").await.is_empty());
    let left: Vec<_> = world.registry.registered().iter().map(|server| server.id.to_string()).collect();
    assert_eq!(left, ["other", "two"]);
    assert_eq!(store.load().unwrap().len(), 1);
    assert_eq!(world.ships.log(), ["+one", "+two", "+other", "-one"]);
}

#[tokio::test]
async fn an_approval_given_beforehand_is_none_of_code_that_nobody_inspected() {
    let world = world();
    let own = RegisterServer::new("own".into(), "/opt/tools/server", Vec::new());
    let terms = for_session("s");
    let registered = world.registry.register(&maker(), None, own, terms).await.unwrap();
    assert_eq!(registered.status, ServerStatus::PendingApproval);
    assert!(registered.message.unwrap().contains("could not be inspected") && world.ships.log().is_empty());
}

#[tokio::test]
async fn a_change_beside_another_of_the_same_server_is_put_off() {
    let world = world();
    world.register(&maker(), script("one", "a.py")).await.unwrap();
    let (by, id) = (admin(), world.waiting("one"));
    let (approved, denied) =
        tokio::join!(world.registry.approve(&by, None, &id), world.registry.deny(&by, None, &id));
    assert_eq!(approved.unwrap().status, ServerStatus::Registered);
    let error = Error::from(denied.unwrap_err());
    assert_eq!(error.code(), code::SERVER_NOT_READY);
    assert!(error.recovery().unwrap().may_retry());
}

#[tokio::test]
async fn code_that_changed_before_a_start_is_held_until_it_is_approved_again() {
    let world = world();
    world.register(&maker(), script("new", "a.py")).await.unwrap();
    world.registry.approve(&admin(), None, &world.waiting("new")).await.unwrap();
    let checked = world.registry.check_code(&"new".into()).await.unwrap().unwrap();
    assert_eq!((checked.argument, &*checked.code.script), (0, "a.py"));
    *world.eye.0.lock() += 1;
    let held = world.registry.check_code(&"new".into()).await.unwrap_err();
    assert!(
        held.to_string().contains("a.py") && held.to_string().contains("registrations approve"),
        "{held}"
    );
    assert!(!world.registry.registered()[0].is_approved());
    let again = world.registry.check_code(&"new".into()).await;
    assert!(matches!(again, Err(RegistryError::Forbidden(_))), "nobody approved the new code: {again:?}");
    tokio::task::yield_now().await;
    world.registry.approve(&admin(), None, &world.waiting("new")).await.unwrap();
    assert_eq!(world.ships.log(), ["+new", "-new", "+new"]);
    assert!(world.registry.check_code(&"nobody".into()).await.unwrap().is_none());
}

#[tokio::test]
async fn where_nothing_can_be_confined_an_operator_decides() {
    let world = world();
    *world.ships.unconfined.lock() = Some("it is too old".into());
    let terms = RegistrationTerms { lifetime: Lifetime::Kept, approved_by: Some("auto_approve".into()) };
    let registered = world.registry.register(&maker(), None, script("new", "a.py"), terms).await.unwrap();
    assert!(registered.message.unwrap().contains("it would run unconfined: it is too old"));
    assert!(world.ships.log().is_empty());
    world.registry.approve(&admin(), None, &world.waiting("new")).await.unwrap();
    assert!(!world.registry.registered()[0].is_confined());
    *world.ships.unconfined.lock() = None;
    world.register(&maker(), script("other", "a.py")).await.unwrap();
    assert!(world.registry.registered()[1].is_confined());
}
