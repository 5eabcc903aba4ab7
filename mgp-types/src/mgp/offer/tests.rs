//! Tests of reading, writing and answering offers, and of agreements.

use super::super::method;
use super::*;

fn object(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

fn raw(json: &str) -> RawJson {
    RawJson::parse(json.to_owned()).unwrap()
}

fn offer(names: &[&str]) -> Offer {
    Offer::new(ExtensionSet::from_names(names))
}

fn written(offer: &Offer, capabilities: &str, form: CapabilityMessage) -> String {
    let mut capabilities = object(capabilities);
    offer.write(&mut capabilities, form);
    String::from_utf8(capabilities.to_raw().as_bytes().to_vec()).unwrap()
}

const REQUEST: &str = r#"{"mgp":{"version":"0.1.0","extensions":["security","access_control","audit"]}}"#;

const RESULT: &str = r#"{"tools":{},"mgp":{"version":"0.1.0","extensions":["security","audit"],
    "permissions_required":["shell","network"],"server_id":"mind.cerebras","trust_level":"standard"}}"#;

// covers: MGP-2.2-01, MGP-2.2-04, MGP-2.2-05
#[test]
fn the_specifications_request_is_read() {
    let read = Offer::read(&object(REQUEST)).unwrap().unwrap();
    let expected = offer(&["security", "access_control", "audit"]).with_version(Version::new(0, 1, 0));
    assert_eq!(read, expected);
}

// covers: MGP-2.3-01..06
#[test]
fn the_specifications_result_is_read() {
    let read = Offer::read(&object(RESULT)).unwrap().unwrap();
    let expected = offer(&["security", "audit"])
        .with_version(Version::new(0, 1, 0))
        .with_permissions_required(["shell", "network"])
        .with_server_id("mind.cerebras")
        .with_trust_level(TrustLevel::Standard);
    assert_eq!(read, expected);
}

// covers: MGP-2.3-01..06
#[test]
fn a_result_is_written_as_the_specification_shows_it() {
    let ours = offer(&["security", "audit"])
        .with_permissions_required(["shell", "network"])
        .with_server_id("mind.cerebras")
        .with_trust_level(TrustLevel::Standard);
    let mgp = concat!(
        r#"{"version":"0.2.0","extensions":["security","audit"],"permissions_required":["shell","network"],"#,
        r#""server_id":"mind.cerebras","trust_level":"standard"}"#
    );
    assert_eq!(
        written(&ours, r#"{"tools":{}}"#, CapabilityMessage::SessionResult),
        format!(r#"{{"tools":{{}},"extensions":{{"dev.cloto/mgp":{mgp}}},"mgp":{mgp}}}"#)
    );
}

// covers: MGP-2.2-01, MGP-2.2-04, MGP-2.2-05
#[test]
fn a_request_carries_the_offer_wherever_a_server_may_look() {
    let mgp = r#"{"version":"0.2.0","extensions":["audit"]}"#;
    assert_eq!(
        written(&offer(&["audit"]), "{}", CapabilityMessage::SessionRequest),
        format!(r#"{{"extensions":{{"dev.cloto/mgp":{mgp}}},"mgp":{mgp},"experimental":{{"mgp":{mgp}}}}}"#)
    );
}

#[test]
fn stateless_messages_carry_the_offer_as_extension_only() {
    assert_eq!(
        written(&offer(&[]), "{}", CapabilityMessage::Stateless),
        r#"{"extensions":{"dev.cloto/mgp":{"version":"0.2.0","extensions":[]}}}"#
    );
}

#[test]
fn writing_keeps_what_stands_beside_the_offer() {
    let before = r#"{"extensions":{"x/y":{"a": 1},"dev.cloto/mgp":{}},"roots":{},"experimental":{"z":{}}}"#;
    let mgp = r#"{"version":"0.2.0","extensions":[]}"#;
    assert_eq!(
        written(&offer(&[]), before, CapabilityMessage::SessionRequest),
        format!(
            r#"{{"extensions":{{"x/y":{{"a": 1}},"dev.cloto/mgp":{mgp}}},"roots":{{}},"experimental":{{"z":{{}},"mgp":{mgp}}},"mgp":{mgp}}}"#
        )
    );
    assert_eq!(
        written(&offer(&[]), r#"{"extensions":[]}"#, CapabilityMessage::Stateless),
        format!(r#"{{"extensions":{{"dev.cloto/mgp":{mgp}}}}}"#)
    );
}

#[test]
fn places_are_looked_at_in_order() {
    let place = |name: &str| format!(r#"{{"version":"0.2.0","extensions":["{name}"]}}"#);
    let all = format!(
        r#"{{"experimental":{{"mgp":{}}},"mgp":{},"extensions":{{"dev.cloto/mgp":{}}}}}"#,
        place("third"),
        place("second"),
        place("first")
    );
    let mut capabilities = object(&all);
    for (expected, remove) in [("first", "extensions"), ("second", "mgp"), ("third", "experimental")] {
        let read = Offer::read(&capabilities).unwrap().unwrap();
        assert_eq!(read.extensions.names().collect::<Vec<_>>(), [expected]);
        capabilities.remove(remove);
    }
    assert_eq!(Offer::read(&capabilities), Ok(None));
}

// covers: MGP-2.2-02, MGP-2.4-02
#[test]
fn capabilities_without_an_offer_are_those_of_a_plain_peer() {
    for plain in [
        "{}",
        r#"{"tools":{},"extensions":{"x/y":{}},"experimental":{}}"#,
        r#"{"mgp":null}"#,
        r#"{"extensions":[],"experimental":1}"#,
    ] {
        assert_eq!(Offer::read(&object(plain)), Ok(None), "{plain}");
    }
}

#[test]
fn a_malformed_offer_is_reported_with_its_place_and_fault() {
    for (json, place, fault) in [
        (r#"{"mgp":"yes"}"#, "mgp", "not an object"),
        (r#"{"experimental":{"mgp":true}}"#, r#"experimental["mgp"]"#, "not an object"),
        (
            r#"{"extensions":{"dev.cloto/mgp":{}},"mgp":1}"#,
            r#"extensions["dev.cloto/mgp"]"#,
            "no semantic version in `version`",
        ),
        (r#"{"mgp":{"version":2,"extensions":[]}}"#, "mgp", "no semantic version in `version`"),
        (r#"{"mgp":{"version":"two","extensions":[]}}"#, "mgp", "no semantic version in `version`"),
        (r#"{"mgp":{"version":"0.2.0"}}"#, "mgp", "no list of names in `extensions`"),
        (r#"{"mgp":{"version":"0.2.0","extensions":"audit"}}"#, "mgp", "no list of names in `extensions`"),
        (
            r#"{"mgp":{"version":"0.2.0","extensions":[],"permissions_required":"shell"}}"#,
            "mgp",
            "no list of names in `permissions_required`",
        ),
    ] {
        let error = Offer::read(&object(json)).unwrap_err();
        assert_eq!(error.to_string(), format!("malformed offer in {place}: {fault}"), "{json}");
    }
}

#[test]
fn a_malformed_offer_does_not_hide_a_well_formed_one() {
    let both = r#"{"extensions":{"dev.cloto/mgp":{}},"mgp":{"version":"0.2.0","extensions":["audit"]}}"#;
    assert_eq!(Offer::read(&object(both)), Ok(Some(offer(&["audit"]))));
}

#[test]
fn optional_members_of_another_shape_do_no_harm() {
    let odd =
        r#"{"version":"0.2.0","extensions":[],"server_id":7,"trust_level":{},"permissions_required":null}"#;
    assert_eq!(Offer::from_raw(&raw(odd)), Ok(offer(&[]).with_trust_level(TrustLevel::Sandboxed)));
}

#[test]
fn unknown_members_survive_in_order() {
    let json = r#"{"version":"0.2.0","extensions":["audit","x"],"z":{"k": [1]},"a\"":null}"#;
    let read = Offer::from_raw(&raw(json)).unwrap();
    assert_eq!(read.to_raw().as_bytes(), json.as_bytes());
    assert!(read.extensions.contains(&Extension::from("x")));
}

// covers: MGP-2.3-03
#[test]
fn the_answer_is_the_intersection_in_the_clients_spelling() {
    let ours = Offer::new(ExtensionSet::standard());
    let theirs = offer(&["permissions", "tool_security", "events", "audit", "delegation", "x"]);
    let answer = ours.answer(&theirs).unwrap();
    let names: Vec<_> = answer.extensions.names().collect();
    assert_eq!(names, ["audit", "permissions", "tool_security", "events"]);
}

// covers: MGP-2.3-02, MGP-2.3-04..06
#[test]
fn the_answer_says_what_the_server_says_of_itself() {
    let ours = offer(&["audit"])
        .with_permissions_required(["network.outbound"])
        .with_server_id("tool.web")
        .with_trust_level(TrustLevel::Standard);
    let theirs = offer(&["audit"])
        .with_version(Version::new(0, 6, 0))
        .with_server_id("mine")
        .with_trust_level(TrustLevel::Trusted);
    assert_eq!(ours.answer(&theirs), Some(ours));
}

// covers: MGP-2.4-03
#[test]
fn a_client_that_offers_nothing_or_nonsense_is_answered_nothing() {
    let ours = Offer::new(ExtensionSet::standard());
    for silent in ["{}", r#"{"mgp":"yes"}"#] {
        let theirs = Offer::read(&object(silent)).unwrap_or_default();
        let mut result = object(r#"{"tools":{}}"#);
        if let Some(answer) = theirs.and_then(|theirs| ours.answer(&theirs)) {
            answer.write(&mut result, CapabilityMessage::SessionResult);
        }
        assert_eq!(result, object(r#"{"tools":{}}"#));
    }
}

// covers: MGP-2.4-01
#[test]
fn both_sides_find_the_same_extensions_active() {
    let (client, server) =
        (offer(&["security", "access_control", "audit"]), offer(&["audit", "streaming", "security"]));
    let answer = server.answer(&client).unwrap();
    let at_client = Negotiated::agree(&client, &answer).unwrap();
    let at_server = Negotiated::agree(&server, &client).unwrap();
    for extension in Extension::STANDARD {
        let active = matches!(extension, Extension::Security | Extension::Audit);
        assert_eq!(at_client.has(extension), active, "{extension}");
        assert_eq!(at_server.has(extension), active, "{extension}");
    }
    assert_eq!(at_client.extensions(), at_server.extensions());
}

// covers: MGP-2.2-15
#[test]
fn error_handling_needs_no_name() {
    let negotiated = Negotiated::agree(&offer(&[]), &offer(&[])).unwrap();
    assert!(negotiated.extensions().is_empty());
    assert!(negotiated.has(&Extension::ErrorHandling));
    assert!(!negotiated.has(&Extension::Audit));
    let named = Negotiated::agree(&offer(&[]), &offer(&["error_handling"])).unwrap();
    assert_eq!(named.extensions().names().collect::<Vec<_>>(), ["error_handling"]);
}

// covers: MGP-2.4-04
#[test]
fn majors_decide_and_the_lower_minor_is_spoken() {
    let at = |major, minor| offer(&[]).with_version(Version::new(major, minor, 0));
    assert_eq!(Negotiated::agree(&at(0, 2), &at(0, 6)).unwrap().version(), Version::OURS);
    assert_eq!(Negotiated::agree(&at(0, 2), &at(0, 1)).unwrap().version(), Version::new(0, 1, 0));
    assert_eq!(Negotiated::agree(&at(0, 2), &at(1, 2)), None);
    assert!(at(0, 2).answer(&at(0, 9)).is_some() && at(0, 2).answer(&at(1, 2)).is_none());
}

#[test]
fn the_peers_offer_is_kept() {
    let theirs = offer(&["audit"]).with_permissions_required(["shell.execute"]).with_server_id("a.b");
    assert_eq!(*Negotiated::agree(&offer(&[]), &theirs).unwrap().peer(), theirs);
}

#[test]
fn static_property_negotiated_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Negotiated>();
}

proptest::proptest! {
    #[test]
    fn any_offer_is_read_as_it_was_written(
        names: Vec<String>, permissions: Vec<String>, id: Option<String>, minor: u32, form in 0..3
    ) {
        let mut offer = Offer::new(ExtensionSet::from_names(&names))
            .with_permissions_required(permissions)
            .with_version(Version::new(0, minor, 1));
        offer.server_id = id.map(Into::into);
        let form = [CapabilityMessage::SessionRequest, CapabilityMessage::SessionResult, CapabilityMessage::Stateless][usize::try_from(form).unwrap()];
        let mut capabilities = Object::new();
        offer.write(&mut capabilities, form);
        proptest::prop_assert_eq!(Offer::read(&capabilities), Ok(Some(offer)));
    }
}

#[test]
fn the_keys_of_mgp_in_meta_are_known() {
    for key in [EXTENSION_ID, method::GRANTS_META, method::INDEX_META] {
        assert!(crate::mcp::meta::KEYS.iter().any(|known| known.name == key), "{key}");
    }
}
