//! Tests of the connections of agents and clients.

use mgp_discovery::config::model::ListenTls;
use mgp_types::mgp::ShutdownReason;
use mgp_types::{
    BoxedService, ClientSession, Context as CallContext, Object, PrincipalKind, RawJson, Response,
};

use super::starts_and_ends::{IDLE, IDLE_OF_CLIENT};
use super::*;
use crate::call::RefusingService;
use crate::replicas::{ClusterLink, Peers};
use crate::servers::upstream::ServerSupport;
use crate::servers::upstream::connect::marks;
use crate::test_kernel::{TestClient, TestKernel};

/// The context of a call of `agent`.
fn calling(agent: &str) -> CallContext {
    *TestClient::stateless(agent).request("tools/call", "{}").context
}

#[tokio::test]
async fn a_connection_on_which_a_task_goes_on_is_not_idle() {
    let scene = TestKernel::open().await;
    let server = r#"{"id":"mail","url":"http://127.0.0.1:9/mcp","sharing":"agent"}"#;
    let agents = Upstream::new(&scene.support, serde_json::from_str(server).unwrap()).unwrap();
    let [ada, bob] = ["ada", "bob"].map(TestClient::stateless);
    let connections = [&ada, &bob].map(|peer| agents.connection(&peer.principal).unwrap().connection);
    let (tasks, place) = (scene.fleet.tasks(), &connections[0].shared.tasks_at);
    let begun = RawJson::parse(r#"{"resultType":"task","taskId":"1","status":"working"}"#).unwrap();
    tasks.learn(place, &ada.principal, &mut Response::new(begun), || None);
    tokio::time::pause();
    tokio::time::advance(IDLE).await;
    let ended = |agents: &Upstream| {
        let ended = agents.idle();
        ended
            .iter()
            .map(|ended| ended.shared.key.agent.as_ref().unwrap().as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ended(&agents), ["bob"]);
    let mut status = Object::parse(r#"{"taskId":"1","status":"completed"}"#).unwrap();
    assert_eq!(tasks.hear(place, &mut status), Some(ada.principal.clone()));
    assert_eq!(ended(&agents), ["ada"]);
    // The server, which goes on, has it still, and it is still hers.
    let again = agents.connection(&ada.principal).unwrap().connection;
    let about = r#"{"taskId":"1"}"#;
    let task = tasks.meant_by(&ada.request("tasks/get", about)).unwrap().unwrap();
    assert_eq!(task.place, again.shared.tasks_at);
    assert!(tasks.meant_by(&bob.request("tasks/get", about)).is_err());
}

#[tokio::test]
async fn a_connection_that_fails_takes_no_callback_of_anothers_with_it() {
    let scene = TestKernel::open().await;
    let server = r#"{"id":"mail","command":"/nowhere/at/all","sharing":"agent","restart_policy":"never"}"#;
    let server = serde_json::from_str(server).unwrap();
    let prepared = scene.fleet.prepare(&[server], false).unwrap();
    scene.fleet.install(prepared);
    let of_bob = calling("bob");
    let asked = Object::parse(r#"{"callback_id":"1","type":"confirmation","message":"?"}"#).unwrap();
    let passed = {
        let way = ("mail".into(), BoxedService::new(RefusingService(Error::cancelled())));
        let mut callbacks = scene.fleet.callbacks().lock();
        callbacks.pass_on((&way.0, way.1), &of_bob, &asked, Instant::now()).unwrap()
    };

    let upstream = scene.fleet.get("mail").unwrap();
    let start = upstream.begun(&Principal::new("ada")).unwrap();
    start.over().await;
    assert!(scene.fleet.callbacks().lock().answered(&of_bob, &passed).is_some());
}

/// A client of the user, in a session of its own.
fn client() -> Principal {
    Principal::of(PrincipalKind::LocalClient, "local").through(ClientSession::new(|_| {}).id())
}

async fn of_clients(settings: &str) -> (TestKernel, Arc<Upstream>) {
    let scene = TestKernel::open().await;
    let server = format!(r#"{{"id":"mail","url":"http://127.0.0.1:9/mcp"{settings}}}"#);
    let own = Upstream::new(&scene.support, serde_json::from_str(&server).unwrap()).unwrap();
    (scene, own)
}

#[tokio::test]
async fn the_first_client_takes_the_connection_that_lists_and_the_next_one_gets_its_own() {
    let (_scene, own) = of_clients("").await;
    let [one, other] = [client(), client()];
    assert_eq!(own.all().len(), 1);
    let first = own.connection(&one).unwrap().connection;
    let second = own.connection(&other).unwrap().connection;
    assert!(!first.shared.key.is_own());
    assert_eq!(second.shared.key.client, Some(ClientKey::of(&other)));
    assert!(Arc::ptr_eq(&first, &own.connection(&one).unwrap().connection));
    assert!(Arc::ptr_eq(&second, &own.connection(&other).unwrap().connection));
    // An operator needs none.
    assert!(Arc::ptr_eq(&first, &own.connection(&Principal::operator("ada")).unwrap().connection));
    assert_eq!(own.all().len(), 2);
}

#[tokio::test]
async fn an_unused_connection_of_a_client_ends_and_the_first_one_stays() {
    let (_scene, own) = of_clients("").await;
    let [one, other] = [client(), client()];
    let (first, second) =
        (own.connection(&one).unwrap().connection, own.connection(&other).unwrap().connection);
    tokio::time::pause();
    tokio::time::advance(IDLE).await;
    assert!(own.idle().is_empty());
    tokio::time::advance(IDLE_OF_CLIENT).await;
    let ended = own.idle();
    assert!(ended.len() == 1 && Arc::ptr_eq(&ended[0], &second));
    assert!(Arc::ptr_eq(&first, &own.connection(&one).unwrap().connection));
}

#[tokio::test(start_paused = true)]
async fn a_held_server_waits_for_its_first_use_and_is_waited_for_from_then_on() {
    for used in [false, true] {
        let (_scene, own) = of_clients(r#","restart_policy":"never""#).await;
        own.hold();
        tokio::time::advance(IDLE).await;
        assert!(own.is_held() && !own.is_starting());
        assert_eq!(own.state(), ServerState::Registered);
        if used {
            let mut call = TestClient::stateless("local").request("tools/call", "{}");
            call.context.principal = Some(client());
            own.route(&call).unwrap();
        } else {
            let start = own.begun(&Principal::operator("ada")).unwrap();
            assert!(start.age() < IDLE);
        }
        assert!(!own.is_held() && own.is_starting());
        own.first().unwrap().shared.start.over().await;
        assert!(!own.is_starting());
    }
}

#[tokio::test]
async fn a_held_server_that_is_stopped_is_held_no_longer_and_one_that_ends_never_begins() {
    let (_scene, own) = of_clients("").await;
    own.hold();
    own.stop(ShutdownReason::OperatorRequest, IDLE).await;
    assert!(!own.is_held() && !own.is_starting());
    own.start();
    own.close();
    own.hold();
    own.release();
    assert!(!own.is_held() && !own.is_starting());
}

#[tokio::test]
async fn what_a_client_leaves_nobody_takes_over() {
    let (_scene, own) = of_clients("").await;
    let [one, other] = [client(), client()];
    let (first, second) =
        (own.connection(&one).unwrap().connection, own.connection(&other).unwrap().connection);
    own.client_ended(one.client().unwrap());
    // Who stays keeps what it has, also while the first connection is free.
    assert!(Arc::ptr_eq(&second, &own.connection(&other).unwrap().connection));
    let next = own.connection(&client()).unwrap().connection;
    assert!(!next.shared.key.is_own() && !Arc::ptr_eq(&next, &first) && !Arc::ptr_eq(&next, &second));
    own.client_ended(other.client().unwrap());
    assert_eq!(own.all().len(), 1);
}

#[tokio::test]
async fn the_place_of_a_call_that_is_not_over_is_no_other_clients() {
    let (_scene, own) = of_clients(r#","max_instances":2"#).await;
    let used = [client(), client()].map(|client| own.connection(&client).unwrap());
    let refused = own.connection(&client()).map(|used| used.connection.shared.key.clone());
    assert_eq!(refused.unwrap_err().code(), code::RESOURCE_EXHAUSTED);
    drop(used);
    own.connection(&client()).unwrap();
}

#[tokio::test]
async fn a_client_that_needs_a_place_takes_the_one_that_was_unused_for_longest() {
    let (_scene, own) = of_clients(r#","max_instances":2"#).await;
    let [one, other, third] = [client(), client(), client()];
    own.connection(&one).unwrap();
    let second = own.connection(&other).unwrap().connection;
    own.connection(&third).unwrap();
    assert!(Arc::ptr_eq(&second, &own.connection(&other).unwrap().connection));
    assert_eq!(own.all().len(), 2);
    assert!(own.connection_key(&one).is_own(), "its place is another's");
}

#[tokio::test]
async fn at_the_kernel_that_runs_a_server_the_connection_of_a_client_of_another_kernel_is_that_clients() {
    let scene = TestKernel::open().await;
    let peers = Peers::at_loopback(ListenTls::default());
    peers.leases.tell(r#"{"mail":["10.0.0.6:7334",7,600000]}"#);
    let link = Some(ClusterLink::with_peers(peers));
    let support = Arc::new(ServerSupport { link, ..ServerSupport::clone(&scene.support) });
    let server = r#"{"id":"mail","command":"/nowhere/at/all","restart_policy":"never","max_instances":2}"#;
    let own = Upstream::new(&support, serde_json::from_str(server).unwrap()).unwrap();
    let [sessionless, in_session] = [Principal::of(PrincipalKind::KeyHolder, "agent.a"), client()];
    for (caller, has_session) in [(&sessionless, false), (&in_session, true)] {
        let key = own.connection(caller).unwrap().connection.shared.key.clone();
        assert_eq!(key.client, Some(ClientKey::of(caller)));
        let marks = marks(&key, 7);
        assert_eq!((&marks.caller, marks.has_session), (caller, has_session));
    }
    let first = own.connection(&Principal::operator("ada")).unwrap().connection;
    assert!(
        !first.shared.key.is_own() && marks(&first.shared.key, 7).caller.role() == PrincipalRole::Operator
    );
}
