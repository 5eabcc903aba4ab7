use std::sync::Arc;

use mgp_stream::event::EventsGate;
use mgp_types::mgp::{
    Event, EventSeverity, EventSubscribe, EventSubscribed, LifecycleChange, ServerState, SubscriptionId,
    Timestamp,
};
use mgp_types::{Gate, Gated, Method, Object, Principal, Request};
use tower_service::Service;

use super::ChannelAudience;
use crate::router::Router;
use crate::servers::upstream::ConnectionKey;
use crate::test_kernel::{GRANTED, TestClient, TestKernel};

fn front(scene: &TestKernel) -> Gated<EventsGate, Router> {
    let (access, fleet) = (scene.policies.access.clone(), Arc::downgrade(&scene.fleet));
    let audience = ChannelAudience { access, fleet };
    EventsGate::new(scene.support.events.publisher.clone())
        .for_audience(move |who, channel| audience.sees(who, channel))
        .layer(scene.router.clone())
}

async fn subscribe(
    service: &Gated<EventsGate, Router>,
    peer: &TestClient,
    channels: &[&str],
) -> EventSubscribed {
    let asked = Object::from_value(&EventSubscribe::new(channels.to_vec())).unwrap();
    let asked = String::from_utf8(asked.to_raw().as_bytes().to_vec()).unwrap();
    service.clone().call(peer.request("mgp/events/subscribe", &asked)).await.unwrap().body().unwrap()
}

async fn event(peer: &TestClient) -> Event {
    let notification: Request = peer.next_message().await;
    assert_eq!(notification.method, Method::EVENT);
    notification.body().unwrap()
}

fn connection(server: &mgp_types::mgp::ServerId, agent: Option<&str>) -> ConnectionKey {
    agent.map_or_else(
        || ConnectionKey::shared(server.clone()),
        |agent| ConnectionKey::of_agent(server.clone(), &Principal::new(agent)),
    )
}

fn failed(scene: &TestKernel, server: &str, agent: Option<&str>) {
    let server = mgp_types::mgp::ServerId::from(server);
    let change =
        LifecycleChange::new(server.clone(), ServerState::Connected, ServerState::Error, Timestamp::EPOCH);
    let from = connection(&server, agent);
    scene.support.events.tell_lifecycle(&from, EventSeverity::Error, &change);
}

/// Has a server tell something on a channel of its own.
fn tell(scene: &TestKernel, server: &str, agent: Option<&str>, channel: &str) {
    let server = server.into();
    let from = connection(&server, agent);
    let channel = scene.support.events.channel_of(&from, channel).unwrap();
    scene.support.events.publisher.declare(&channel).unwrap();
    let event = Event::new(SubscriptionId::new("s"), &*channel, Timestamp::EPOCH, Object::new());
    scene.support.events.tell_of_server(&from, &channel, &event).unwrap();
}

#[tokio::test]
async fn an_agent_hears_of_servers_that_it_may_use_and_an_operator_of_the_life_of_all() {
    let scene = TestKernel::with(GRANTED).await;
    for server in ["files", "mail"] {
        scene.server(server).await;
        tell(&scene, server, None, "changed");
    }
    scene.grant("ada", "files").await;
    let service = front(&scene);
    let nobody = TestClient::speaking(&scene, Principal::new("eve")).await;
    let ada = TestClient::speaking(&scene, Principal::new("ada")).await;
    let operator = TestClient::speaking(&scene, Principal::operator("root")).await;
    let all = ["*", "lifecycle", "audit", "files.*", "mail.changed"];
    let answer = subscribe(&service, &nobody, &all).await;
    assert_eq!(answer.subscribed, ["*", "lifecycle"]);
    assert_eq!(answer.available, ["lifecycle", "tool.completed", "tool.failed", "tools"]);
    let answer = subscribe(&service, &ada, &all).await;
    assert_eq!(answer.subscribed, ["*", "lifecycle", "files.*"]);
    let answer = subscribe(&service, &operator, &all).await;
    assert_eq!(answer.subscribed, ["*", "lifecycle", "audit"]);

    for server in ["mail", "files"] {
        failed(&scene, server, None);
        tell(&scene, server, None, "changed");
    }
    let first = event(&ada).await;
    assert_eq!(
        (first.channel.as_str(), first.data.text("server_id").as_deref()),
        ("lifecycle", Some("files"))
    );
    assert_eq!(event(&ada).await.channel, "files.changed");
    for server in ["mail", "files"] {
        assert_eq!(event(&operator).await.data.text("server_id").as_deref(), Some(server));
    }
    for peer in [&ada, &operator, &nobody] {
        assert!(peer.hears_nothing().await);
    }
}

#[tokio::test]
async fn what_happens_on_a_connection_of_an_agents_own_is_for_that_agent() {
    let scene = TestKernel::open().await;
    scene.server("mail").await;
    tell(&scene, "mail", None, "changed");
    let service = front(&scene);
    let (ada, bob) = (
        TestClient::speaking(&scene, Principal::new("ada")).await,
        TestClient::speaking(&scene, Principal::new("bob")).await,
    );
    for peer in [&ada, &bob] {
        subscribe(&service, peer, &["*"]).await;
    }
    tell(&scene, "mail", Some("ada"), "changed");
    failed(&scene, "mail", Some("ada"));
    assert_eq!(event(&ada).await.channel, "mail.changed");
    assert_eq!(event(&ada).await.channel, "lifecycle");
    assert!(bob.hears_nothing().await);
}

#[tokio::test]
async fn a_server_publishes_on_no_channel_of_another() {
    let scene = TestKernel::open().await;
    for server in ["a", "a.b"] {
        scene.server(server).await;
    }
    let (a, b) = ("a".into(), "a.b".into());
    let on = |server, channel: &str| scene.support.events.channel_of(&connection(server, None), channel);
    assert_eq!(on(&a, "c").as_deref(), Some("a.c"));
    assert_eq!(on(&b, "c").as_deref(), Some("a.b.c"));
    assert_eq!(on(&a, "b.c"), None);
    assert_eq!(on(&"gone".into(), "c"), None);
}
