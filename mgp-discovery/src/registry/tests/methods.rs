//! Tests of the methods and tools of the gate.

use mgp_types::Gate as _;
use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
use mgp_types::{Flow, Object, Request, Response, Revision, Session, code};

use super::*;

fn request(by: Option<Principal>, method: &str, params: &str) -> Request {
    let offer = Offer::new(ExtensionSet::from_names(["discovery"]));
    let mut session = Session::new(Revision::LATEST);
    session.mgp = Negotiated::agree(&offer, &offer);
    let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
    request.context.session = Some(Arc::new(session));
    request.context.principal = by;
    request
}

async fn ask(world: &World, mut request: Request) -> Result<String, Error> {
    let mut flow = DiscoveryGate::new(world.registry.clone()).enter(&mut request);
    let response = loop {
        match flow {
            Flow::Pass(()) => break Response::empty(),
            Flow::Answer(outcome) => break outcome?,
            Flow::Wait(later) => flow = later.await.1,
        }
    };
    Ok(String::from_utf8(response.to_raw().as_bytes().to_vec()).unwrap())
}

const LIST: &str = "mgp/discovery/list";
const REGISTER: &str = concat!(
    r#"{"id":"dynamic.custom_tool","command":"python","args":["scripts/mcp_custom.py"],"transport":"stdio","#,
    r#""mgp":{"extensions":["security"],"permissions_required":["network.outbound"],"trust_level":"sandboxed"},"#,
    r#""created_by":"agent.cloto_default","justification":"Agent needs custom data processing tool"}"#
);

// covers: MGP-15.2-16, MGP-15.2-20..26
#[tokio::test]
async fn servers_are_listed_as_the_specification_has_it() {
    let filter = concat!(
        r#"{"filter":{"extensions":["streaming"],"permissions":["network.outbound"],"#,
        r#""status":"connected"}}"#
    );
    let expected = concat!(
        r#"{"servers":[{"id":"mind.cerebras","status":"connected","mgp_version":"0.1.0","#,
        r#""extensions":["security","lifecycle","streaming"],"tools":["think","analyze"],"#,
        r#""trust_level":"standard"}]}"#
    );
    assert_eq!(ask(&world(), request(Some(maker()), LIST, filter)).await.unwrap(), expected);
}

// covers: MGP-15.2-17..19
#[tokio::test]
async fn a_server_is_listed_if_all_holds_that_is_asked() {
    let world = world();
    for (filter, found) in [
        (r#"{"extensions":["streaming","audit"]}"#, false),
        (r#"{"extensions":["progress"]}"#, true),
        (r#"{"extensions":["com.example.other"]}"#, false),
        (r#"{"permissions":["shell.execute"]}"#, false),
        (r#"{"permissions":["network"]}"#, true),
        (r#"{"status":"draining"}"#, false),
        (r#"{"status":"CONNECTED"}"#, true),
        ("{}", true),
    ] {
        let answer =
            ask(&world, request(Some(maker()), LIST, &format!(r#"{{"filter":{filter}}}"#))).await.unwrap();
        assert_eq!(answer.contains("mind.cerebras"), found, "{filter}");
    }
    let wrong = ask(&world, request(Some(maker()), LIST, r#"{"filter":{"status":"any"}}"#)).await;
    assert_eq!(wrong.unwrap_err().code(), code::INVALID_PARAMS);
}

// covers: MGP-15.4-01, MGP-15.4-02, MGP-15.4-06, MGP-15.4-07, MGP-15.4-09, MGP-15.4-12
#[tokio::test]
async fn a_server_is_registered_as_the_specification_has_it() {
    let world = world();
    let answer = ask(&world, request(Some(maker()), "mgp/discovery/register", REGISTER)).await.unwrap();
    let answer = Object::parse(answer).unwrap();
    assert_eq!(answer.text("id").as_deref(), Some("dynamic.custom_tool"));
    assert_eq!(answer.text("status").as_deref(), Some("pending_approval"));
    assert!(answer.contains("message"));
    let registered = &world.registry.registered()[0];
    assert_eq!(registered.registrant, Registrant::Agent("maker".into()));
    assert_eq!(registered.label.as_deref(), Some("agent.cloto_default"));
    assert_eq!(registered.extensions, ["security"]);
    assert_eq!(registered.permissions, [Permission::NetworkOutbound]);
    let event = world.trail.events.lock()[0].clone();
    assert_eq!(event.details.text("created_by_label").as_deref(), Some("agent.cloto_default"));
    assert_eq!(
        (event.actor.id.as_str(), event.target.server_id.unwrap().as_str()),
        ("maker", "dynamic.custom_tool")
    );
}

// covers: MGP-15.5-01..03
#[tokio::test]
async fn a_server_is_deregistered_as_the_specification_has_it() {
    let world = world();
    ask(&world, request(Some(maker()), "mgp/discovery/register", REGISTER)).await.unwrap();
    let wanted = r#"{"id":"dynamic.custom_tool","reason":"no_longer_needed"}"#;
    let answer = ask(&world, request(Some(maker()), "mgp/discovery/deregister", wanted)).await.unwrap();
    assert_eq!(answer, r#"{"id":"dynamic.custom_tool","status":"deregistered"}"#);
    let again = ask(&world, request(Some(maker()), "mgp/discovery/deregister", wanted)).await.unwrap_err();
    assert_eq!(again.code(), code::INVALID_PARAMS);
}

#[tokio::test]
async fn without_the_extension_there_are_no_such_methods_but_the_tools() {
    let world = world();
    for method in [LIST, "mgp/discovery/register", "mgp/discovery/deregister"] {
        let mut request = request(Some(maker()), method, REGISTER);
        request.context.session = Some(Arc::new(Session::new(Revision::LATEST)));
        assert_eq!(ask(&world, request).await.unwrap_err().code(), code::METHOD_NOT_FOUND, "{method}");
    }
    for name in ["mgp.discovery.list", "mgp/discovery/list", "mgp_discovery_list"] {
        let mut call =
            request(Some(maker()), "tools/call", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
        call.context.session = None;
        let answer = ask(&world, call).await.unwrap();
        assert!(answer.contains(r#""structuredContent":{"servers":["#), "{answer}");
    }
}

#[tokio::test]
async fn nobody_is_told_anything_without_a_name() {
    let world = world();
    for method in [LIST, "mgp/discovery/register", "mgp/discovery/deregister"] {
        let error = ask(&world, request(None, method, REGISTER)).await.unwrap_err();
        assert_eq!(error.code(), code::AUTH_REQUIRED, "{method}");
    }
}

#[tokio::test]
async fn what_is_not_asked_here_passes() {
    let world = world();
    for (method, params) in [
        ("tools/call", r#"{"name":"mgp.discovery.other"}"#),
        ("mgp/discovery/other", "{}"),
        ("tools/list", "{}"),
    ] {
        assert_eq!(ask(&world, request(None, method, params)).await.unwrap(), "{}", "{method}");
    }
}

#[tokio::test]
async fn a_notification_changes_nothing() {
    let world = world();
    let mut request = request(Some(admin()), "mgp/discovery/register", REGISTER);
    request.kind = mgp_types::RequestKind::Notify;
    assert_eq!(ask(&world, request).await.unwrap_err().code(), code::INVALID_REQUEST);
    assert!(world.registry.registered().is_empty());
}
