//! Servers that are processes, and are kept alive (§11.2, §11.5).

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, RestartSettings, StandingRequestsService, Supervised};
use mgp_types::mgp::{AuditEvent, AuditPort, EventType, ServerState, ShutdownReason};
use mgp_types::{BoxFuture, BoxedService, Error, Method, Object, Request, Response, RpcService};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::host::{builder, child, plain_builder, say};
use crate::leg::{Leg, Transport};
use crate::processes;
use crate::runner::tests;
use crate::seen::Seen;
use crate::server::Kind;

tests![
    a_server_that_is_killed_comes_back_with_its_tools if is_process,
    a_server_that_dies_again_and_again_is_given_up if is_process,
    a_server_that_is_stopped_leaves_nothing_behind if is_process,
    a_plain_server_is_kept_alive_as_well if is_process,
];

/// Returns whether the leg runs the tests with signals.
fn is_process(leg: Leg) -> bool {
    cfg!(target_os = "linux") && leg.transport == Transport::Stdio
}

fn restarts(max: u32, backoff_ms: u64) -> RestartSettings {
    let mut settings = RestartSettings::default();
    (settings.max_restarts, settings.backoff_base_ms, settings.backoff_max_ms) =
        (max, backoff_ms, backoff_ms);
    settings
}

/// A client of a server that is kept alive.
type Kept = Client<StandingRequestsService<BoxedService>>;

fn supervised(leg: Leg, backoff_ms: u64) -> Supervised<Kept> {
    let connect = move || async move { leg.settled(builder()).connect_child(|| child(Kind::Mgp)).await };
    let server = Client::supervise("tests", connect).with_restarts(restarts(5, backoff_ms)).spawn();
    server.start();
    server
}

async fn ready(server: &Supervised<Kept>) -> Kept {
    server.ready(Duration::from_secs(10)).await.unwrap()
}

async fn pid(client: &Client<impl RpcService>) -> u32 {
    say(client, "pid").await.parse().unwrap()
}

fn called(tool: &str) -> Request {
    let params = Object::from_value(&serde_json::json!({"name": tool, "arguments": {}})).unwrap();
    Request::call(Method::TOOLS_CALL, params)
}

async fn send<S: RpcService>(service: &S, request: Request) -> Result<Response, Error> {
    let mut service = service.clone();
    std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

async fn until(server: &Supervised<Kept>, state: ServerState) {
    let began = Instant::now();
    while server.state() != state {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", server.state());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

// covers: MGP-11.2-01, MGP-11.2-02, MGP-11.2-08, MGP-11.2-11, MGP-11.2-15, MGP-11.5-03, MGP-14.3-09
async fn a_server_that_is_killed_comes_back_with_its_tools(leg: Leg) {
    let seen = Seen::default();
    let connect = {
        let seen = seen.clone();
        move || {
            let builder = leg.settled(builder()).layer(seen.clone());
            async move { builder.connect_child(|| child(Kind::Mgp)).await }
        }
    };
    let server = Client::supervise("tests", connect).with_restarts(restarts(5, 2_000)).spawn();
    assert_eq!((server.state(), server.current().unwrap_err().code()), (ServerState::Registered, 2000));
    let gate = server.gate();
    let mut changes = server.changes();
    server.start();
    let first = ready(&server).await;
    assert!(seen.take().contains(&"tools/list".to_owned()));
    let killed = pid(&first).await;
    assert!(send(&gate, called("add")).await.is_ok());

    seen.take();
    processes::signal("KILL", killed);
    until(&server, ServerState::Restarting).await;
    for error in [send(&gate, called("add")).await.unwrap_err(), server.current().unwrap_err()] {
        assert_eq!(error.code(), 2002, "{error:?}");
        let recovery = error.recovery().unwrap();
        assert_eq!(recovery.retryable, Some(true));
        assert!(recovery.retry_after_ms.is_some_and(|millis| millis > 0));
    }
    processes::gone(killed).await;

    let second = ready(&server).await;
    assert!(seen.take().contains(&"tools/list".to_owned()));
    assert_ne!(pid(&second).await, killed);
    assert!(send(&gate, called("add")).await.is_ok());
    let mut states = vec![ServerState::Registered];
    while states.len() < 6 {
        let change = changes.next().await.unwrap();
        assert_eq!(states.last(), Some(&change.previous_state));
        states.push(change.new_state);
    }
    let expected = [
        ServerState::Registered,
        ServerState::Connecting,
        ServerState::Connected,
        ServerState::Error,
        ServerState::Restarting,
        ServerState::Connected,
    ];
    assert_eq!(states, expected);
}

/// The recorded events.
#[derive(Debug, Clone, Default)]
struct Records(Arc<Mutex<Vec<AuditEvent>>>);

impl AuditPort for Records {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        self.0.lock().push(event);
        Box::pin(std::future::ready(Ok(())))
    }
}

// covers: MGP-11.5-06, MGP-11.5-10, MGP-11.5-11, MGP-14.3-07
async fn a_server_that_dies_again_and_again_is_given_up(leg: Leg) {
    let records = Records::default();
    let connect = move || async move { leg.settled(builder()).connect_child(|| child(Kind::Mgp)).await };
    let supervisor = Client::supervise("tests", connect).with_restarts(restarts(2, 10));
    let server = supervisor.with_audit(Arc::new(records.clone())).spawn();
    let gate = server.gate();
    server.start();
    let given_up = loop {
        match send(&gate, called("die")).await {
            Err(error) if error.code() == 2000 && error.recovery().unwrap().retryable == Some(false) => {
                break error;
            }
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_eq!(given_up.recovery().unwrap().retry_after_ms, None);
    assert_eq!(server.state(), ServerState::Error);
    let records = records.0.lock();
    let of =
        |wanted: EventType| records.iter().filter(|event| event.event_type == wanted).collect::<Vec<_>>();
    assert_eq!(of(EventType::ServerConnected).len(), 3);
    let last = of(EventType::ServerDisconnected).last().copied().unwrap();
    let details = String::from_utf8(last.details.to_raw().as_bytes().to_vec()).unwrap();
    assert!(details.contains("restart_limit_exceeded"), "{details}");
    assert_eq!(last.target.server_id.as_ref().unwrap().as_str(), "tests");
}

// covers: MGP-11.2-05, MGP-11.2-13
async fn a_server_that_is_stopped_leaves_nothing_behind(leg: Leg) {
    let server = supervised(leg, 10);
    let client = ready(&server).await;
    let own = pid(&client).await;
    let spawned = say(&client, "spawn").await.parse().unwrap();
    assert!(processes::is_there(own) && processes::is_there(spawned));
    server.stop(ShutdownReason::OperatorRequest, Duration::from_secs(5)).await;
    assert_eq!(server.state(), ServerState::Disconnected);
    processes::gone(own).await;
    processes::gone(spawned).await;
    let error = server.current().unwrap_err();
    assert_eq!((error.code(), error.recovery().unwrap().retryable), (2000, Some(false)));
}

async fn a_plain_server_is_kept_alive_as_well(leg: Leg) {
    let connect =
        move || async move { leg.settled(plain_builder()).connect_child(|| child(Kind::Mcp)).await };
    let server = Client::supervise("tests", connect).with_restarts(restarts(5, 2_000)).spawn();
    server.start();
    let killed = pid(&ready(&server).await).await;
    processes::signal("KILL", killed);
    until(&server, ServerState::Restarting).await;
    assert_ne!(pid(&ready(&server).await).await, killed);
    server.stop(ShutdownReason::IdleTimeout, Duration::from_secs(5)).await;
}
