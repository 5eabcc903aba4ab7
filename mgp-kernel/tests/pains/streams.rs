//! What servers say beside their answers, to two clients at once.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_types::mcp::{CreateMessageResult, ElicitResult, Role, SamplingContents};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{MethodRule, RawJson, Revision};
use parking_lot::Mutex;
use serde_json::json;

use crate::host::{Host, Plain, ask, listed, say, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    pain_09_progress_questions_and_changes_come_to_the_client_that_they_are_for,
    a_client_that_does_not_speak_mgp_hears_nothing_of_it,
    a_result_says_what_the_kernel_is_and_not_what_its_server_is,
    whatever_happens_nothing_of_mgp_is_told_to_a_plain_client,
];

/// A client that writes down what it hears.
struct Listening {
    name: &'static str,
    client: Plain,
    progress: Arc<Mutex<Vec<(String, f64)>>>,
    changes: Arc<Mutex<usize>>,
}

impl Listening {
    async fn start(host: &Host, name: &'static str, revision: Revision) -> Self {
        let (progress, changes) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<usize>>::default());
        let (telling, counting) = (Arc::clone(&progress), Arc::clone(&changes));
        let builder = Client::builder("tests", "1.0.0").revisions([revision]).on_progress(move |report| {
            let token = serde_json::to_string(&report.progress_token).unwrap();
            telling.lock().push((token, report.total.unwrap().as_f64()));
        });
        let builder = builder.on_notification("notifications/tools/list_changed", move |_, _| {
            *counting.lock() += 1;
            std::future::ready(())
        });
        let client = host.connect(name, answering(builder, name)).await;
        Self { name, client, progress, changes }
    }

    /// Calls everything that asks or tells, again and again.
    async fn work(&self, to: u32) {
        for _ in 0..3 {
            let token = RawJson::from_value(&7).unwrap();
            let counted =
                self.client.call_tool("files.count", json!({"to": to})).meta("progressToken", token);
            assert!(counted.await.is_ok());
            assert_eq!(say(&self.client, "files.think", json!({})).await, self.name);
            assert_eq!(say(&self.client, "files.colour", json!({})).await, self.name);
        }
    }
}

fn answering(builder: ClientBuilder, name: &'static str) -> ClientBuilder {
    builder
        .on_sampling(move |_, _| async move {
            // The other one asks meanwhile.
            tokio::time::sleep(Duration::from_millis(5)).await;
            CreateMessageResult::new(Role::Assistant, SamplingContents::from("I am"), name)
        })
        .on_elicitation(move |_, _| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let answer = json!({"action": "accept", "content": {"colour": name}});
            serde_json::from_value::<ElicitResult>(answer).unwrap()
        })
}

async fn pain_09_progress_questions_and_changes_come_to_the_client_that_they_are_for() {
    let host = Host::ready([talking::server("files")]).await;
    let one = Listening::start(&host, "one", Revision::V2025_11_25).await;
    let other = Listening::start(&host, "other", Revision::V2025_06_18).await;
    let stateless = Listening::start(&host, "stateless", Revision::V2026_07_28).await;
    tokio::join!(one.work(20), other.work(30), stateless.work(40));
    for (listening, total) in [(&one, 20.0), (&other, 30.0), (&stateless, 40.0)] {
        until("progress comes", || (listening.progress.lock().len() >= 30).then_some(())).await;
        let heard = listening.progress.lock();
        let is_own = |(token, of): &(String, f64)| token == "7" && (of - total).abs() < 0.1;
        assert!(heard.iter().all(is_own), "{}: {heard:?}", listening.name);
    }

    // A changed list concerns both sessions, whoever changed it.
    for listening in [&one, &other] {
        listed(&listening.client, "files.count").await;
        *listening.changes.lock() = 0;
    }
    say(&one.client, "files.grow", json!({"name": "late"})).await;
    for listening in [&one, &other] {
        until("a change is told", || (*listening.changes.lock() > 0).then_some(())).await;
        listed(&listening.client, "files.late").await;
    }
}

async fn a_client_that_does_not_speak_mgp_hears_nothing_of_it() {
    let host = Host::ready([talking::server("files")]).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for offer in [Some(Offer::new(ExtensionSet::standard())), None] {
            let (speaks, heard) = (offer.is_some(), Arc::<Mutex<Vec<&str>>>::default());
            let mut builder = Client::builder("tests", "1.0.0").mgp(offer).revisions([revision]);
            for method in ["notifications/progress", "notifications/mgp.stream.progress"] {
                let heard = Arc::clone(&heard);
                builder = builder.on_notification(method, move |_, _| {
                    heard.lock().push(method);
                    std::future::ready(())
                });
            }
            let client = host.connect("one", builder).await;
            let token = RawJson::from_value(&7).unwrap();
            let counted = client.call_tool("files.count", json!({"to": 3})).meta("progressToken", token);
            assert!(counted.await.is_ok());
            until("progress comes", || heard.lock().contains(&"notifications/progress").then_some(())).await;
            let of_mgp = heard.lock().contains(&"notifications/mgp.stream.progress");
            assert_eq!(of_mgp, speaks, "{revision:?} {:?}", heard.lock());
        }
    }
}

async fn a_result_says_what_the_kernel_is_and_not_what_its_server_is() {
    let host = Host::ready([talking::server("files")]).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = host.connect("one", Client::builder("tests", "1.0.0").revisions([revision])).await;
        let call = json!({"name": "files.variable", "arguments": {"name": "serverInfo"}});
        let result = ask(&client, "tools/call", call).await;
        let of_kernel = json!({"io.modelcontextprotocol/serverInfo": {"name": "mgp", "version": env!("CARGO_PKG_VERSION")}});
        let expected = if revision.is_stateless() { of_kernel } else { json!(null) };
        assert_eq!(result["_meta"], expected, "{result}");
    }
}

async fn whatever_happens_nothing_of_mgp_is_told_to_a_plain_client() {
    let script = Script::named(&["crash", "tell", "works"]);
    let host = Host::start([talking::server("files"), script.server("plain")]).await;
    let operator = host.operator().await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for server in ["files", "plain"] {
            host.up(server).await;
        }
        let offer = Offer::new(ExtensionSet::standard());
        let (speaking, of_mgp) = hearing(&host, revision, Some(offer)).await;
        let (plain, heard) = hearing(&host, revision, None).await;
        let channels = json!({"channels": ["lifecycle", "audit"]});
        ask(&speaking, "mgp/events/subscribe", channels.clone()).await;
        assert!(plain.request("mgp/events/subscribe", channels).await.is_err());
        for client in [&speaking, &plain] {
            let token = RawJson::from_value(&7).unwrap();
            let counted = client.call_tool("files.count", json!({"to": 3})).meta("progressToken", token);
            assert!(counted.await.is_ok());
            assert_eq!(say(client, "files.think", json!({})).await, "hearing");
            assert_eq!(say(client, "files.colour", json!({})).await, "hearing");
            say(client, "plain.tell", json!({})).await;
        }
        for method in ["mgp/access/grant", "mgp/access/revoke"] {
            let rule = json!({
                "agent_id": "hearing", "server_id": "plain", "tool_name": "works", "entry_type": "tool_grant",
                "permission": "allow", "justification": "a test",
            });
            let _ = operator.request(method, rule).await;
        }
        let _ = plain.call_tool("plain.crash", json!({})).await;
        assert!(host.kernel.restart("files").await.is_ok());
        for server in ["files", "plain"] {
            host.up(server).await;
        }
        assert!(of_mgp.lock().iter().any(|name| name.ends_with("stream.progress")), "{:?}", of_mgp.lock());
        assert!(plain.ping().await.is_ok());
        assert_eq!(*heard.lock(), Vec::<String>::new(), "{revision:?}");
    }
}

/// A client that answers questions, and the notifications of MGP that it heard.
async fn hearing(host: &Host, revision: Revision, offer: Option<Offer>) -> (Plain, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let builder = Client::builder("tests", "1.0.0").mgp(offer).revisions([revision]);
    let mut builder = answering(builder, "hearing");
    for method in
        MethodRule::all().map(|rule| rule.method).filter(|name| name.starts_with("notifications/mgp."))
    {
        let heard = Arc::clone(&heard);
        builder = builder.on_notification(method, move |_, _| {
            heard.lock().push(method.to_owned());
            std::future::ready(())
        });
    }
    (host.connect("hearing", builder).await, heard)
}
