//! Tests of standing requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Event, EventSubscribe, EventSubscribed, Extension, SubscriptionId, Timestamp};
use mgp_types::{Error, Gate, Object, Request, Response, Revision, RpcService, Session};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tower_service::Service;

use super::StandingRequests;
use crate::ServerEnd;
use crate::doubles::{Upstream, UpstreamAnswer, agreed, each_seed, is_whole, secs};
use crate::supervise::{ConnectedServer, Supervisor};

fn session(revision: Revision, extensions: &[Extension]) -> Arc<Session> {
    Arc::new(agreed(revision, extensions))
}

fn with_events() -> Arc<Session> {
    session(Revision::V2025_11_25, &[Extension::Events])
}

fn request(method: &str, params: &str) -> Request {
    Request::call(method, Object::parse(params.to_owned()).unwrap())
}

async fn ask<S: RpcService>(service: &S, method: &str, params: &str) -> UpstreamAnswer {
    service.clone().call(request(method, params)).await
}

/// Subscribes to so many resources, the first of which is `u0`.
async fn follow<S: RpcService>(service: &S, count: usize) {
    for number in 0..count {
        ask(service, "resources/subscribe", &format!(r#"{{"uri":"u{number}"}}"#)).await.unwrap();
    }
}

fn subscribed(id: &str, last_seq: Option<u64>) -> UpstreamAnswer {
    let mut answer = EventSubscribed::new(SubscriptionId::new(id));
    answer.subscribed = vec!["a".into()];
    answer.last_seq = last_seq;
    Response::with_body(&answer)
}

/// Returns a server that answers all requests, and names subscriptions `id`.
fn willing(id: &'static str) -> Upstream {
    Upstream::working(move |_, request| {
        let subscribes = request.method.as_str() == "mgp/events/subscribe";
        std::future::ready(if subscribes { subscribed(id, Some(0)) } else { Ok(Response::empty()) })
    })
}

fn event(id: &str, seq: u64) -> Event {
    Event::new(SubscriptionId::new(id), "a", Timestamp::EPOCH, Object::new()).with_seq(seq)
}

fn lines(server: &Upstream) -> Vec<String> {
    let line = |request: &Request| {
        let raw = request.params.to_raw();
        format!("{} {}", request.method, std::str::from_utf8(raw.as_bytes()).unwrap())
    };
    server.seen().iter().map(line).collect()
}

/// Returns the requests that another incarnation gets.
async fn asked_again(standing: &StandingRequests, session: Arc<Session>) -> Vec<String> {
    let next = willing("s");
    standing.restore(next.clone(), session).await.unwrap();
    lines(&next)
}

#[tokio::test(start_paused = true)]
async fn what_the_server_was_asked_to_keep_in_mind_is_asked_again() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    for (method, params) in [
        ("resources/subscribe", r#"{"uri":"file:///a","_meta":{"progressToken":7},"x":1}"#),
        ("resources/subscribe", r#"{"uri":"file:///b"}"#),
        ("resources/subscribe", r#"{"uri":"file:///c"}"#),
        ("resources/subscribe", r#"{"uri":"file:///b"}"#),
        ("resources/unsubscribe", r#"{"uri":"file:\/\/\/c"}"#),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("logging/setLevel", r#"{"level":"error"}"#),
        ("mgp/events/subscribe", r#"{"channels":["a"],"_mgp":{"deadline_ms":5}}"#),
        ("tools/call", r#"{"name":"t"}"#),
    ] {
        ask(&service, method, params).await.unwrap();
    }
    service.clone().call(Request::notify("logging/setLevel", Object::new())).await.unwrap();
    standing.heard(&event("s", 6));
    standing.heard(&event("s", 4));
    standing.heard(&event("other", 9));
    let expected = [
        r#"logging/setLevel {"level":"error"}"#,
        r#"resources/subscribe {"uri":"file:///a","x":1}"#,
        r#"resources/subscribe {"uri":"file:///b"}"#,
        r#"mgp/events/subscribe {"channels":["a"],"subscription_id":"s","after_seq":6}"#,
    ];
    assert_eq!(asked_again(&standing, with_events()).await, expected);
    assert_eq!(asked_again(&standing, with_events()).await, expected, "and after each restart");
    ask(&service, "mgp/events/unsubscribe", r#"{"subscription_id":"s"}"#).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await, expected[..3]);
}

#[tokio::test(start_paused = true)]
async fn a_server_is_asked_only_what_its_session_has() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    ask(&service, "resources/subscribe", r#"{"uri":"u"}"#).await.unwrap();
    ask(&service, "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    let asked = async |revision, extensions: &[Extension]| {
        asked_again(&standing, session(revision, extensions)).await.len()
    };
    assert_eq!(asked(Revision::V2025_11_25, &[Extension::Audit]).await, 1);
    assert_eq!(asked(Revision::V2026_07_28, &[Extension::Events]).await, 1, "no such method there");
    let plain = Arc::new(Session::new(Revision::V2025_11_25));
    assert_eq!(asked_again(&standing, plain).await, [r#"resources/subscribe {"uri":"u"}"#]);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_dropped_or_subscribed_to_nothing_does_not_stand() {
    let standing = StandingRequests::new();
    let refuses = standing.layer(Upstream::failing(&Error::invalid_request("no")));
    let hangs = standing.layer(Upstream::after(secs(60)));
    let knows_no_channel = standing.layer(Upstream::answering(|_| {
        Response::with_body(&EventSubscribed::new(SubscriptionId::new("none")))
    }));
    let answers_nonsense = standing.layer(Upstream::answering(|_| Ok(Response::empty())));
    let subscribe = r#"{"channels":["a"],"uri":"u","level":"info"}"#;
    for method in ["resources/subscribe", "logging/setLevel", "mgp/events/subscribe"] {
        assert!(ask(&refuses, method, subscribe).await.is_err());
        assert!(tokio::time::timeout(secs(1), ask(&hangs, method, subscribe)).await.is_err());
    }
    ask(&knows_no_channel, "mgp/events/subscribe", subscribe).await.unwrap();
    ask(&answers_nonsense, "mgp/events/subscribe", subscribe).await.unwrap();
    ask(&answers_nonsense, "resources/subscribe", r#"{"uri":7}"#).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_does_not_know_is_opened_anew_and_found_by_its_former_name() {
    let standing = StandingRequests::new();
    ask(&standing.layer(willing("old")), "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    standing.heard(&event("old", 6));
    let next = Upstream::working(|_, request| async move {
        let asked: EventSubscribe = request.body()?;
        match asked.subscription_id {
            Some(id) if id.as_str() == "old" => {
                Err(Error::from_origin(mgp_types::Origin::Peer, 4004, "no such subscription"))
            }
            _ => subscribed("new", Some(0)),
        }
    });
    standing.restore(next.clone(), with_events()).await.unwrap();
    let anew = r#"mgp/events/subscribe {"channels":["a"]}"#;
    let resumed = r#"mgp/events/subscribe {"channels":["a"],"subscription_id":"old","after_seq":6}"#;
    assert_eq!(lines(&next), [resumed, anew]);

    // After the next restart the new one goes on, with numbers of its own.
    standing.heard(&event("new", 2));
    let resumed = r#"mgp/events/subscribe {"channels":["a"],"subscription_id":"new","after_seq":2}"#;
    let third = willing("new");
    standing.restore(third.clone(), with_events()).await.unwrap();
    assert_eq!(lines(&third), [resumed]);

    let service = standing.layer(third.clone());
    let by_former_name = r#"{"channels":["a"],"subscription_id":"old","after_seq":6}"#;
    ask(&service, "mgp/events/subscribe", by_former_name).await.unwrap();
    assert_eq!(lines(&third)[1], r#"mgp/events/subscribe {"channels":["a"],"subscription_id":"new"}"#);
    ask(&service, "mgp/events/unsubscribe", r#"{"subscription_id":"new"}"#).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_ends_a_subscription_by_its_former_name_ends_the_new_one() {
    let standing = StandingRequests::new();
    ask(&standing.layer(willing("old")), "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    // A server that knows nothing of resuming opens another.
    let next = willing("new");
    standing.restore(next.clone(), with_events()).await.unwrap();
    let service = standing.layer(next.clone());
    ask(&service, "mgp/events/unsubscribe", r#"{"subscription_id":"old"}"#).await.unwrap();
    assert_eq!(lines(&next)[1], r#"mgp/events/unsubscribe {"subscription_id":"new"}"#);
    assert_eq!(asked_again(&standing, with_events()).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn who_resumes_goes_on_where_it_says_and_need_not_repeat_what_it_wants() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    let wanted = r#"{"channels":["a"],"filter":{"min_severity":"error"}}"#;
    ask(&service, "mgp/events/subscribe", wanted).await.unwrap();
    let resumes = r#"{"channels":[],"subscription_id":"s","after_seq":3}"#;
    ask(&service, "mgp/events/subscribe", resumes).await.unwrap();
    let expected = concat!(
        r#"mgp/events/subscribe {"channels":["a"],"filter":{"min_severity":"error"},"#,
        r#""subscription_id":"s","after_seq":3}"#
    );
    assert_eq!(asked_again(&standing, with_events()).await, [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_stops_nothing_and_a_lost_connection_does() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    follow(&service, 20).await;
    ask(&service, "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    let peer = |code| Error::from_origin(mgp_types::Origin::Peer, code, "no");
    for refused in [peer(-32601), peer(3000), Error::timeout("late"), Error::misbehaved("what")] {
        let next = Upstream::failing(&refused);
        standing.restore(next.clone(), with_events()).await.unwrap();
        assert!(next.calls() >= 21);
    }
    let gone = Upstream::failing(&Error::disconnected("gone"));
    assert!(standing.restore(gone, with_events()).await.is_err());
    let panics = Upstream::working(|_, _| async { panic!("on purpose") });
    standing.restore(panics, with_events()).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await.len(), 21, "all of it is tried again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for_for_long() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    follow(&service, 500).await;
    let began = Instant::now();
    let mute = Upstream::working(|_, _| std::future::pending());
    standing.restore(mute.clone(), with_events()).await.unwrap();
    assert_eq!((began.elapsed(), mute.most(), mute.running()), (secs(10), 16, 0));

    let slow = Upstream::after(Duration::from_millis(100));
    standing.restore(slow.clone(), with_events()).await.unwrap();
    assert_eq!((slow.calls(), slow.most()), (500, 16));
    assert!(tokio::time::timeout(secs(1), standing.restore(mute.clone(), with_events())).await.is_err());
    tokio::task::yield_now().await;
    assert_eq!(mute.running(), 0, "what was on its way is taken back");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_bounded() {
    let standing = StandingRequests::new();
    let service = standing.layer(willing("s"));
    follow(&service, 3000).await;
    ask(&service, "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await.len(), 1024);
    ask(&service, "resources/unsubscribe", r#"{"uri":"u0"}"#).await.unwrap();
    let long = format!(r#"{{"channels":["{}"]}}"#, "a".repeat(10_000));
    ask(&service, "mgp/events/subscribe", &long).await.unwrap();
    let names_it_at_length = Upstream::answering(|_| subscribed(&"s".repeat(10_000), None));
    let service = standing.layer(names_it_at_length);
    ask(&service, "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    assert_eq!(asked_again(&standing, with_events()).await.len(), 1023, "what is too long takes no room");
}

/// The memory of one incarnation.
#[derive(Debug, Clone, Default, PartialEq)]
struct Mind {
    level: Option<String>,
    resources: BTreeSet<String>,
    /// The channel of each subscription, by its name.
    subscriptions: BTreeMap<String, String>,
    named: u64,
}

impl Mind {
    fn answer(&mut self, request: &Request) -> UpstreamAnswer {
        let text = |name: &str| request.params.text(name).map(std::borrow::Cow::into_owned);
        match request.method.as_str() {
            "logging/setLevel" => self.level = text("level"),
            "resources/subscribe" => drop(self.resources.insert(text("uri").unwrap())),
            "resources/unsubscribe" => drop(self.resources.remove(&text("uri").unwrap())),
            "mgp/events/unsubscribe" => drop(self.subscriptions.remove(&text("subscription_id").unwrap())),
            "mgp/events/subscribe" => {
                let asked: EventSubscribe = request.body()?;
                let id = match asked.subscription_id {
                    Some(id) if self.subscriptions.contains_key(id.as_str()) => id.as_str().to_owned(),
                    Some(_) => return Err(Error::from_origin(mgp_types::Origin::Peer, 4004, "unknown")),
                    None => format!("{}", self.named),
                };
                self.named += 1;
                self.subscriptions.insert(id.clone(), asked.channels.concat());
                return subscribed(&id, Some(0));
            }
            _ => {}
        }
        Ok(Response::empty())
    }

    fn channels(&self) -> Vec<&String> {
        let mut channels: Vec<_> = self.subscriptions.values().collect();
        channels.sort();
        channels
    }
}

fn minding(mind: &Arc<Mutex<Mind>>) -> Upstream {
    let mind = Arc::clone(mind);
    Upstream::working(move |_, request| std::future::ready(mind.lock().answer(&request)))
}

#[test]
fn whatever_was_asked_the_next_incarnation_keeps_in_mind_what_the_last_one_did() {
    let restarts = each_seed(300, async |mut random| {
        let (standing, mut mind) = (StandingRequests::new(), Arc::new(Mutex::new(Mind::default())));
        let (mut known, mut restarts) = (Vec::new(), 0);
        for _ in 0..random.below(60) {
            let service = standing.layer(minding(&mind));
            let number = random.below(6);
            match random.below(7) {
                0 => drop(ask(&service, "logging/setLevel", &format!(r#"{{"level":"{number}"}}"#)).await),
                1 | 2 => {
                    drop(ask(&service, "resources/subscribe", &format!(r#"{{"uri":"{number}"}}"#)).await);
                }
                3 => drop(ask(&service, "resources/unsubscribe", &format!(r#"{{"uri":"{number}"}}"#)).await),
                4 => {
                    let asked = format!(r#"{{"channels":["c{number}"]}}"#);
                    let answer = ask(&service, "mgp/events/subscribe", &asked).await.unwrap();
                    known.push(answer.body::<EventSubscribed>().unwrap().subscription_id);
                }
                5 if !known.is_empty() => {
                    let which = usize::try_from(random.below(known.len() as u64)).unwrap();
                    let ended = format!(r#"{{"subscription_id":"{}"}}"#, known.swap_remove(which).as_str());
                    ask(&service, "mgp/events/unsubscribe", &ended).await.unwrap();
                }
                _ => {
                    let before = mind.lock().clone();
                    let mut next = Mind { named: before.named, ..Mind::default() };
                    if random.below(2) == 0 {
                        next.subscriptions.clone_from(&before.subscriptions);
                    }
                    mind = Arc::new(Mutex::new(next));
                    standing.restore(minding(&mind), with_events()).await.unwrap();
                    let after = mind.lock().clone();
                    assert_eq!((&after.level, &after.resources), (&before.level, &before.resources));
                    assert_eq!(after.channels(), before.channels());
                    restarts += 1;
                }
            }
        }
        for id in &known {
            let service = standing.layer(minding(&mind));
            let ended = format!(r#"{{"subscription_id":"{}"}}"#, id.as_str());
            ask(&service, "mgp/events/unsubscribe", &ended).await.unwrap();
        }
        assert!(mind.lock().subscriptions.is_empty(), "each is found by the name that its caller knows");
        restarts
    });
    assert!(restarts.iter().sum::<usize>() > 0 || !is_whole());
}

#[tokio::test(start_paused = true)]
async fn whoever_finds_the_server_connected_finds_it_as_it_was() {
    let minds: Arc<Mutex<Vec<Arc<Mutex<Mind>>>>> = Arc::default();
    let (ended, born) = (Arc::new(Notify::new()), Arc::clone(&minds));
    let end = Arc::clone(&ended);
    let connect = move || {
        let mind = Arc::new(Mutex::new(Mind::default()));
        born.lock().push(Arc::clone(&mind));
        let ended = Arc::clone(&ended);
        async move {
            let ended = async move {
                ended.notified().await;
                ServerEnd::InError
            };
            Ok(ConnectedServer::new(minding(&mind), ended))
        }
    };
    let standing = StandingRequests::new();
    let again = standing.clone();
    let server = Supervisor::new("s".into(), connect)
        .with_restore(move |service| again.restore(service, with_events()))
        .spawn();
    let service = standing.layer(server.gate());
    server.start();
    server.ready(secs(1)).await.unwrap();
    ask(&service, "resources/subscribe", r#"{"uri":"u"}"#).await.unwrap();
    ask(&service, "mgp/events/subscribe", r#"{"channels":["a"]}"#).await.unwrap();
    for _ in 0..3 {
        end.notify_one();
        tokio::time::sleep(Duration::from_millis(1)).await;
        server.ready(secs(60)).await.unwrap();
    }
    let minds = minds.lock();
    assert_eq!(minds.len(), 4);
    for mind in &*minds {
        assert!(mind.lock().resources.contains("u") && mind.lock().channels() == ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_uses_its_names_again_mixes_nothing_up() {
    let (standing, mind) = (StandingRequests::new(), Arc::new(Mutex::new(Mind::default())));
    let service = standing.layer(minding(&mind));
    for channel in ["a", "b", "c"] {
        ask(&service, "mgp/events/subscribe", &format!(r#"{{"channels":["{channel}"]}}"#)).await.unwrap();
    }
    ask(&service, "mgp/events/unsubscribe", r#"{"subscription_id":"0"}"#).await.unwrap();
    // The server counts from 0 once more, so that `b`, which was 1, is 0, and `c`, which was 2, is 1.
    let next = Arc::new(Mutex::new(Mind::default()));
    standing.restore(minding(&next), with_events()).await.unwrap();
    assert_eq!(next.lock().channels(), ["b", "c"]);
    let service = standing.layer(minding(&next));
    ask(&service, "mgp/events/unsubscribe", r#"{"subscription_id":"1"}"#).await.unwrap();
    assert_eq!(next.lock().channels(), ["c"], "its caller knows `b` by that name");
    let third = Arc::new(Mutex::new(Mind::default()));
    standing.restore(minding(&third), with_events()).await.unwrap();
    assert_eq!(third.lock().channels(), ["c"]);
}
