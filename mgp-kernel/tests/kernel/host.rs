//! A kernel, its clients, and what they ask of it.

#[path = "../support/host.rs"]
mod shared;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_kernel::{Kernel, ServerView};
use mgp_server_sdk::{Server, ServerCore};
use mgp_types::mcp::{CallToolResult, ElicitResult};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, Object, Principal, RawJson, Revision, RpcService};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower_layer::Layer;

pub(crate) use self::shared::{
    Host, PATIENCE, Plain, STATE, child, gone, is_there, names, quiet, read, say, start_when_free, text,
    until,
};

impl Host {
    pub(crate) async fn with(config: Value) -> Self {
        Self::start_with(read(config)).await
    }

    /// A kernel with these servers, all of which are up.
    pub(crate) async fn ready(servers: impl IntoIterator<Item = Value>) -> Self {
        Self::ready_with(quiet(servers)).await
    }

    /// A kernel with this configuration, whose servers are all up.
    pub(crate) async fn ready_with(config: Value) -> Self {
        let config = read(config);
        let ids: Vec<_> = config.servers.iter().map(|server| server.id.clone()).collect();
        let host = Self::start_with(config).await;
        for id in ids {
            host.up(&id).await;
        }
        host
    }

    /// A client of this agent that speaks all of MGP.
    pub(crate) async fn client(&self, agent: &str) -> Plain {
        self.connect(agent, speaking_mgp()).await
    }

    /// A client of this agent that knows nothing of MGP.
    pub(crate) async fn plain(&self, agent: &str) -> Plain {
        self.connect(agent, Client::builder("tests", "1.0.0").mgp(None)).await
    }

    pub(crate) async fn operator(&self) -> Plain {
        speaking_mgp().in_process(self.kernel.accept(Principal::operator("root"))).await.unwrap()
    }

    /// The recorded events for which the filter holds, the oldest first.
    pub(crate) async fn recorded(&self, mut filter: Value) -> Vec<Value> {
        filter["oldest_first"] = json!(true);
        let page = ask(&self.operator().await, "kernel/audit/query", filter).await;
        page["events"].as_array().unwrap().iter().map(|row| row["event"].clone()).collect()
    }

    /// The questions that wait for an operator, when there are so many.
    pub(crate) async fn questions(&self, count: usize) -> Vec<Value> {
        let operator = self.operator().await;
        until_found("so many questions wait", async || {
            let pending = ask(&operator, "kernel/permissions/pending", json!({})).await;
            pending["questions"].as_array().filter(|questions| questions.len() == count).cloned()
        })
        .await
    }
}

/// A server of the SDK that the test itself serves over HTTP, until this is dropped.
pub(crate) struct Served {
    /// The server in a configuration.
    pub(crate) config: Value,
    serving: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start<L, S>(id: &str, server: Server<L>) -> Self
    where
        L: Layer<ServerCore, Service = S> + Send + 'static,
        S: RpcService<Future: 'static> + Sync + Unpin + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { drop(server.serve_http(listener).await) });
        Self { config: json!({"id": id, "url": url}), serving }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Serves as a process of its own, to the end.
pub(crate) fn serve<E>(serving: impl Future<Output = Result<(), E>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if runtime.block_on(serving).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A client of a name that is known for asking its person.
pub(crate) fn claude(revision: Revision) -> ClientBuilder {
    Client::builder("claude-code", "1.0.0").revisions([revision])
}

/// A client in front of which a person fills in each form with what `answer` makes of its message.
pub(crate) fn with_person(
    builder: ClientBuilder,
    answer: impl FnMut(String) -> Value + Send + 'static,
) -> ClientBuilder {
    let answer = Mutex::new(answer);
    builder.on_elicitation(move |form, _| {
        let answer = json!({"action": "accept", "content": (answer.lock())(form.message)});
        async { serde_json::from_value::<ElicitResult>(answer).unwrap() }
    })
}

/// The notifications that a client got: their methods and parameters.
pub(crate) type Heard = Arc<Mutex<Vec<(&'static str, String)>>>;

/// A client that notes these notifications.
pub(crate) fn hearing(builder: ClientBuilder, methods: &[&'static str]) -> (ClientBuilder, Heard) {
    let heard = Heard::default();
    let builder = methods.iter().fold(builder, |builder, &method| {
        let heard = Arc::clone(&heard);
        builder.on_notification(method, move |params, _| {
            let params = String::from_utf8(params.to_raw().as_bytes().to_vec()).unwrap();
            heard.lock().push((method, params));
            std::future::ready(())
        })
    });
    (builder, heard)
}

/// A client that speaks all of MGP.
pub(crate) fn speaking_mgp() -> ClientBuilder {
    Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()))
}

/// Waits until a kernel offers tools of a server.
pub(crate) async fn offers(kernel: &Kernel, server: &str) {
    let is_it = |view: &ServerView| view.id.as_str() == server && view.tools > 0;
    until("tools are offered", || kernel.servers().iter().any(is_it).then_some(())).await;
}

/// Why a call was refused, however the refusal came.
pub(crate) fn refused(outcome: Result<CallToolResult, Error>) -> String {
    match outcome {
        Err(error) => error.message().to_owned(),
        Ok(result) => {
            assert_eq!(result.is_error, Some(true), "{result:?}");
            text(&result)
        }
    }
}

/// Params as the client of the SDK writes them: from their type, which has each member that is meant.
pub(crate) fn typed<P: Serialize + DeserializeOwned>(params: &Value) -> P {
    let read: P = serde_json::from_value(params.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *params);
    read
}

/// What a method answers.
pub(crate) async fn ask<S: RpcService>(client: &Client<S>, method: &'static str, params: Value) -> Value {
    client.request(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}")).to().unwrap()
}

/// Returns the value that the future of `find` finds, and waits for it a while.
pub(crate) async fn until_found<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it did not come to be in time that {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the tools that a search finds, once this tool is one of them: tools are searched a moment after they are listed.
pub(crate) async fn found<S: RpcService>(client: &Client<S>, query: &str, tool: &str) -> Vec<RawJson> {
    until_found(&format!("{tool} is found"), async || {
        let params = json!({"query": query, "max_results": 10});
        let found = client.request("mgp/tools/discover", params).await.unwrap();
        let found: Vec<RawJson> = Object::from_raw(&found).unwrap().get("tools").unwrap().to().unwrap();
        let is_it = |found: &RawJson| {
            Object::from_raw(found).unwrap().text("name").is_some_and(|name| is_called(&name, tool))
        };
        found.iter().any(is_it).then_some(found)
    })
    .await
}

/// Returns whether a client's name of a tool means `server.tool`, whichever style it is given.
fn is_called(name: &str, tool: &str) -> bool {
    name == tool || name.replacen("__", ".", 1) == tool
}

/// Waits until a client has a tool of this name in its list.
pub(crate) async fn listed<S: RpcService>(client: &Client<S>, tool: &str) {
    until_listed(client, |names| names.iter().any(|name| is_called(name, tool))).await;
}

/// Waits until a client's list is as it should be.
pub(crate) async fn until_listed<S: RpcService>(
    client: &Client<S>,
    is_it: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    until_found("the list is the right one", async || {
        // Not what the client kept of an earlier list.
        client.clear_cache();
        Some(names(client).await).filter(|names| is_it(names))
    })
    .await
}
