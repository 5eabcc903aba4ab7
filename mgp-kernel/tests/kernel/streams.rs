//! What servers say beside their answers, to two clients at once.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_types::mcp::{CreateMessageResult, Role, SamplingContents};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{MethodRule, RawJson, Revision};
use parking_lot::Mutex;
use serde_json::json;

use crate::host::{Heard, Host, Plain, ask, hearing, listed, say, until, with_person};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    progress_questions_and_changes_come_to_the_client_that_they_are_for,
    a_result_says_what_the_kernel_is_and_not_what_its_server_is,
    whatever_happens_nothing_of_mgp_is_told_to_a_plain_client,
];

/// A client that writes down what it hears.
struct Listening {
    name: &'static str,
    client: Plain,
    progress: Arc<Mutex<Vec<(String, f64)>>>,
    changes: Heard,
}

impl Listening {
    async fn start(host: &Host, name: &'static str, revision: Revision) -> Self {
        let progress = Arc::<Mutex<Vec<_>>>::default();
        let telling = Arc::clone(&progress);
        let builder = Client::builder("tests", "1.0.0").revisions([revision]).on_progress(move |report| {
            let token = serde_json::to_string(&report.progress_token).unwrap();
            telling.lock().push((token, report.total.unwrap().as_f64()));
        });
        let (builder, changes) = hearing(builder, &["notifications/tools/list_changed"]);
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
    let builder = builder.on_sampling(move |_, _| async move {
        // The other one asks meanwhile.
        tokio::time::sleep(Duration::from_millis(5)).await;
        CreateMessageResult::new(Role::Assistant, SamplingContents::from("I am"), name)
    });
    with_person(builder, move |_| json!({"colour": name}))
}

async fn progress_questions_and_changes_come_to_the_client_that_they_are_for() {
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
        listening.changes.lock().clear();
    }
    say(&one.client, "files.grow", json!({"name": "late"})).await;
    for listening in [&one, &other] {
        until("a change is told", || (!listening.changes.lock().is_empty()).then_some(())).await;
        listed(&listening.client, "files.late").await;
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
    let of_protocol: Vec<_> = MethodRule::all()
        .map(|rule| rule.method)
        .filter(|name| name.starts_with("notifications/mgp."))
        .collect();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for server in ["files", "plain"] {
            host.up(server).await;
        }
        let offer = Offer::new(ExtensionSet::standard());
        let [(speaking, of_mgp), (plain, heard)] = [Some(offer), None].map(|offer| {
            let builder = Client::builder("tests", "1.0.0").mgp(offer).revisions([revision]);
            hearing(answering(builder, "hearing"), &of_protocol)
        });
        let (speaking, plain) =
            (host.connect("hearing", speaking).await, host.connect("hearing", plain).await);
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
        assert!(
            of_mgp.lock().iter().any(|(name, _)| name.ends_with("stream.progress")),
            "{:?}",
            of_mgp.lock()
        );
        assert!(plain.ping().await.is_ok());
        assert!(heard.lock().is_empty(), "{revision:?}: {:?}", heard.lock());
    }
}
