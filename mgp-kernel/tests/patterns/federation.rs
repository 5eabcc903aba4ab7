//! `mgp-patterns federation` behind a kernel, with a second kernel elsewhere.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, StreamPart};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, Revision, code};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use crate::home::Home;
use crate::kernel::Kernel;
use crate::patterns;
use crate::runner::tests;

tests![
    a_tool_elsewhere_is_found_called_denied_and_named_in_the_record,
    a_kernel_that_was_killed_is_unavailable_and_called_again_when_it_is_back,
    what_is_found_at_several_kernels_comes_with_how_each_of_them_does,
    one_server_of_a_kernel_is_offered_as_soon_as_that_kernel_is_there,
    a_wrong_key_is_refused_and_shown_nowhere,
    a_federation_without_a_key_or_beyond_tls_does_not_start,
    only_a_kernel_with_a_trusted_certificate_is_called,
    parts_a_cancellation_and_a_timeout_pass_both_kernels,
    servers_elsewhere_are_registered_approved_and_used_like_those_here,
];

/// A kernel elsewhere: its home, its program, and the port at which it listens.
struct Elsewhere {
    home: Home,
    kernel: Option<Kernel>,
    port: u16,
    key: String,
}

impl Elsewhere {
    /// Starts a kernel with a clock, and with a server at `url` if there is one.
    fn start(url: Option<&str>) -> Self {
        let home = Home::with_state();
        home.add_server("clock", &home.clock());
        if let Some(url) = url {
            let config = home.read("mgp.toml");
            home.write("mgp.toml", &format!("{config}\n[[servers]]\nid = \"work\"\nurl = {url:?}\n"));
        }
        home.configure("[listen]\nrequire_keys = true\n");
        let mut elsewhere = Self { home, kernel: None, port: free_port(), key: String::new() };
        elsewhere.run();
        elsewhere.key = elsewhere.key_for("agent.federation");
        elsewhere
    }

    fn run(&mut self) {
        let address = format!("127.0.0.1:{}", self.port);
        self.kernel = Some(Kernel::start(&self.home, &["--http", &address, "--no-stdio"]));
        self.kernel.as_ref().unwrap().port();
    }

    fn key_for(&self, agent: &str) -> String {
        let allowed = ["--allow", "list", "--allow", "read", "--allow", "call:*"];
        let issued = self.home.json(["keys", "new", agent].into_iter().chain(allowed));
        for server in ["clock", "work"] {
            self.home.json(["access", "grant", agent, server, "--force"]);
        }
        issued["secret"].as_str().unwrap().to_owned()
    }
}

/// A kernel here, whose server `federation` reaches the one elsewhere.
struct Here {
    home: Home,
    kernel: Kernel,
}

impl Here {
    /// Starts a kernel whose federation has these further arguments, and this key in `PROD_KEY`.
    fn start(arguments: &[&str], key: &str) -> Self {
        let home = Self::home(arguments, key);
        let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
        Self { home, kernel }
    }

    fn home(arguments: &[&str], key: &str) -> Home {
        let home = Home::with_state();
        let arguments = [&["federation"], arguments].concat();
        home.configure(&format!(
            "[confirmation]\ndangerous = false\n\
             [[permissions.grants]]\nserver = \"federation\"\npermission = \"network.outbound\"\n\
             [[servers]]\nid = \"federation\"\ncommand = {:?}\nargs = {arguments:?}\n\
             env = {{ PROD_KEY = \"${{secret:PROD_KEY}}\" }}\n",
            patterns(&home)
        ));
        assert_eq!(home.run_with(["secrets", "set", "PROD_KEY", "--file"], key).code, Some(0));
        home
    }

    /// Returns a client of the kernel that speaks MGP, once it is offered `tool`.
    async fn client(&self, tool: &str) -> Client {
        let url = format!("http://127.0.0.1:{}/mcp", self.kernel.port());
        let client = Client::builder("tests", "1.0.0")
            .mgp(Offer::new(ExtensionSet::standard()))
            // In a session a call can be stopped by its name.
            .revisions([Revision::V2025_11_25])
            .caching(false)
            .connect_http(url)
            .await
            .unwrap()
            .boxed();
        until(tool, async || client.list_tools().await.unwrap().iter().any(|listed| listed.name == tool))
            .await;
        client
    }
}

fn reaching(elsewhere: &Elsewhere) -> [String; 4] {
    let url = format!("prod=http://127.0.0.1:{}/mcp", elsewhere.port);
    ["--instance".into(), url, "--key-env".into(), "prod=PROD_KEY".into()]
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, Error> {
    let (server, tool) = tool.split_once('.').unwrap();
    let arguments =
        json!({"instance": "prod", "server_id": server, "tool_name": tool, "arguments": arguments});
    client.call_tool("federation.federated_call", arguments).await
}

/// Waits until `is_so`.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < end, "it did not come to be in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Searches until the clock is found: tools are searched a moment after they are listed.
async fn clock_found(client: &Client, asked: &Value) -> Value {
    let mut found = Value::Null;
    until("the clock is found", async || {
        let result = client.call_tool("federation.federated_discover", asked.clone()).await.unwrap();
        found = result.structured_content.unwrap().to().unwrap();
        found["tools"].as_array().unwrap().iter().any(|tool| tool["tool_name"] == "now")
    })
    .await;
    found
}

// covers: P-3-04, P-3-10, P-3-11, P-3-12
async fn a_tool_elsewhere_is_found_called_denied_and_named_in_the_record() {
    let elsewhere = Elsewhere::start(None);
    let here = Here::start(&strs(&reaching(&elsewhere)), &elsewhere.key);
    let client = here.client("federation.federated_call").await;

    let asked = json!({"query": "what time is it", "instances": ["prod"], "strategy": "keyword"});
    let found = clock_found(&client, &asked).await;
    let now = found["tools"].as_array().unwrap().iter().find(|tool| tool["tool_name"] == "now").unwrap();
    assert_eq!((&now["instance"], &now["server_id"]), (&json!("prod"), &json!("clock")));

    let result = call(&client, "clock.time_between", json!({"start": 0, "end": 3725})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("1h 2m 5s"), "{result:?}");

    // The rules of this kernel hold first, and those of the other one after them.
    elsewhere.home.json(["access", "deny", "agent.federation", "clock", "unix_time"]);
    let denied = call(&client, "clock.unix_time", json!({})).await.unwrap_err();
    assert_eq!(denied.code(), code::UPSTREAM_ERROR, "{denied:?}");
    here.home.json(["access", "deny", "local-http", "federation", "federated_call"]);
    let denied = call(&client, "clock.now", json!({})).await.unwrap_err();
    assert_eq!(denied.code(), code::ACCESS_DENIED, "{denied:?}");

    // The record names the instance, whatever became of the call.
    let target = json!({
        "server_id": "federation", "tool_name": "federated_call",
        "arguments": {"instance": "prod", "server_id": "clock", "tool_name": "now"},
    });
    let blocked = here.home.json(["audit", "query", "--type", "TOOL_BLOCKED"]);
    assert_eq!(blocked["events"][0]["event"]["target"], target, "{blocked}");
    let executed = here.home.json(["audit", "query", "--type", "TOOL_EXECUTED", "--result", "success"]);
    let executed = &executed["events"][0]["event"];
    assert_eq!(executed["target"]["arguments"]["tool_name"], "time_between", "{executed}");
    let shown = here.home.run(["audit", "tail"]);
    assert!(shown.out.contains("federation.federated_call  instance=prod"), "{shown:?}");
    // Both records have the call under one id.
    let trace = executed["trace_id"].as_str().unwrap();
    let there = elsewhere.home.json(["audit", "query", "--trace", trace]);
    assert_eq!(there["events"][0]["event"]["target"]["tool_name"], "time_between", "{there}");
}

// covers: P-3-16, P-3-19
async fn a_kernel_that_was_killed_is_unavailable_and_called_again_when_it_is_back() {
    let mut elsewhere = Elsewhere::start(None);
    let here = Here::start(&strs(&reaching(&elsewhere)), &elsewhere.key);
    let client = here.client("federation.federated_call").await;
    assert!(call(&client, "clock.now", json!({})).await.is_ok());
    let mut killed = elsewhere.kernel.take().unwrap();
    killed.signal("KILL");
    killed.child.wait().unwrap();
    let away = call(&client, "clock.now", json!({})).await.unwrap_err();
    assert_eq!(away.code(), code::UPSTREAM_UNAVAILABLE, "{away:?}");
    assert!(away.message().contains("`prod`"), "{away}");
    elsewhere.run();
    until("the clock is back", async || call(&client, "clock.now", json!({})).await.is_ok()).await;
}

// covers: EXT-13-06
async fn what_is_found_at_several_kernels_comes_with_how_each_of_them_does() {
    let mut prod = Elsewhere::start(None);
    let gone = format!("gone=http://127.0.0.1:{}/mcp", free_port());
    let mut arguments = reaching(&prod).to_vec();
    arguments.extend(["--instance".into(), gone, "--key-env".into(), "gone=PROD_KEY".into()]);
    let here = Here::start(&strs(&arguments), &prod.key);
    let client = here.client("federation.federated_call").await;
    let asked = json!({"query": "what time is it", "strategy": "keyword"});
    let found = clock_found(&client, &asked).await;
    let of = |found: &Value, name: &str| {
        let instances = found["instances"].as_array().unwrap();
        instances.iter().find(|one| one["instance"] == name).unwrap().clone()
    };
    assert!(of(&found, "prod")["total_available"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(of(&found, "prod").get("failure"), None, "{found}");
    assert_eq!(of(&found, "gone")["failure"]["code"], code::UPSTREAM_UNAVAILABLE, "{found}");
    assert!(found["tools"].as_array().unwrap().iter().all(|tool| tool["instance"] == "prod"), "{found}");
    // Where nobody answers, nothing is found, and that is said.
    let mut killed = prod.kernel.take().unwrap();
    killed.signal("KILL");
    killed.child.wait().unwrap();
    let nobody = client.call_tool("federation.federated_discover", asked).await.unwrap_err();
    assert_eq!(nobody.code(), code::UPSTREAM_UNAVAILABLE, "{nobody:?}");
}

async fn one_server_of_a_kernel_is_offered_as_soon_as_that_kernel_is_there() {
    let mut elsewhere = Elsewhere::start(None);
    drop(elsewhere.kernel.take());
    let server = ["--server".into(), "prod.clock".into()];
    let here = Here::start(&strs(&[&reaching(&elsewhere)[..], &server].concat()), &elsewhere.key);
    elsewhere.run();
    let client = here.client("federation.time_between").await;
    let result = client.call_tool("federation.time_between", json!({"start": 0, "end": 60})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("0h 1m 0s"), "{result:?}");
}

// covers: P-3-08, P-3-09
async fn a_wrong_key_is_refused_and_shown_nowhere() {
    let elsewhere = Elsewhere::start(None);
    let wrong = format!("{}x", elsewhere.key);
    let here = Here::start(&strs(&reaching(&elsewhere)), &wrong);
    let client = here.client("federation.federated_call").await;
    let refused = call(&client, "clock.now", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), code::UPSTREAM_ERROR, "{refused:?}");
    assert!(refused.message().contains("refuses the key in `PROD_KEY`"), "{refused}");
    let shown = [
        format!("{refused:?}"),
        format!("{:?}", here.home.run(["logs", "federation"])),
        format!("{:?}", here.home.run(["audit", "export"])),
        format!("{:?}", here.home.run(["servers"])),
        here.home.read("stderr"),
    ];
    assert!(shown.iter().all(|shown| !shown.contains(&elsewhere.key)), "{shown:?}");
}

// covers: P-3-07
async fn a_federation_without_a_key_or_beyond_tls_does_not_start() {
    let home = Home::with_state();
    let run = |arguments: &[&str]| {
        let mut federation = std::process::Command::new(patterns(&home));
        federation.arg("federation").args(arguments);
        Home::ran(federation, "")
    };
    let without_key = run(&["--instance", "prod=https://example.com/mcp"]);
    assert!(
        without_key.code != Some(0) && without_key.err.contains("--key-env prod=VARIABLE"),
        "{without_key:?}"
    );
    let unset = run(&["--instance", "prod=https://example.com/mcp", "--key-env", "prod=NO_SUCH_KEY"]);
    assert!(unset.code != Some(0) && unset.err.contains("NO_SUCH_KEY"), "{unset:?}");
    for host in ["example.com", "10.0.0.1", "localhost.example.com"] {
        let instance = format!("prod=http://{host}/mcp");
        let plain = run(&["--instance", &instance, "--key-env", "prod=PATH"]);
        assert!(plain.code != Some(0) && plain.err.contains("https"), "{plain:?}");
    }
    // Nobody is there, and nobody asks for anything.
    let here = run(&["--instance", "prod=http://127.0.0.1:1/mcp", "--key-env", "prod=PATH"]);
    assert_eq!(here.code, Some(0), "{here:?}");
}

// covers: P-3-06
async fn only_a_kernel_with_a_trusted_certificate_is_called() {
    let elsewhere = Elsewhere::start(None);
    let (port, certificate) = tls_in_front_of(elsewhere.port).await;
    let url = format!("prod=https://localhost:{port}/mcp");
    let arguments = ["--instance", &url, "--key-env", "prod=PROD_KEY"];

    let here = Here::start(&arguments, &elsewhere.key);
    let client = here.client("federation.federated_call").await;
    let stranger = call(&client, "clock.now", json!({})).await.unwrap_err();
    assert_eq!(stranger.code(), code::UPSTREAM_UNAVAILABLE, "{stranger:?}");
    assert!(stranger.message().contains("--ca prod=FILE"), "{stranger}");
    assert_eq!(stranger.recovery().unwrap().retryable, Some(false));
    drop(here);

    elsewhere.home.write("authority.pem", &certificate);
    let file = format!("prod={}", elsewhere.home.path("authority.pem").display());
    let here = Here::start(&[&arguments[..], &["--ca", &file]].concat(), &elsewhere.key);
    let client = here.client("federation.federated_call").await;
    let called = call(&client, "clock.now", json!({})).await;
    assert!(called.is_ok(), "{called:?}");
}

/// Puts TLS in front of a kernel, as docs/http.md asks for; returns the port and the certificate (PEM).
async fn tls_in_front_of(kernel: u16) -> (u16, String) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = issued.cert.der().to_vec();
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], issued.signing_key.serialize_der().try_into().unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate hangs up here.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let Ok(mut inner) = tokio::net::TcpStream::connect(("127.0.0.1", kernel)).await else {
                    return;
                };
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
            });
        }
    });
    let encoded = mgp_server_sdk::base64(issued.cert.der());
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    (port, format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n")))
}

/// The calls of the server `work` that began and that were taken back.
#[derive(Default)]
struct Work {
    taken_back: watch::Sender<bool>,
}

async fn wait(cx: Cx) -> Result<&'static str, ToolError> {
    struct Running(Arc<Work>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.taken_back.send_replace(true);
        }
    }
    let _running = Running(Arc::clone(cx.state::<Arc<Work>>()?));
    cx.stream("one ").await?;
    cx.stream("two").await?;
    std::future::pending::<()>().await;
    Ok("never")
}

// covers: P-3-15, P-3-17, P-3-18
async fn parts_a_cancellation_and_a_timeout_pass_both_kernels() {
    let work = Arc::<Work>::default();
    let server = Server::new("work", "1.0.0")
        .state(Arc::clone(&work))
        .tool(Tool::new("wait", "Waits for ever.").read_only(), wait)
        .streaming();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let _serving = tokio::task::JoinSet::from_iter([async move { drop(server.serve_http(listener).await) }]);
    let elsewhere = Elsewhere::start(Some(&url));
    let mut arguments = reaching(&elsewhere).to_vec();
    arguments.extend(["--timeout".into(), "5".into()]);
    let here = Here::start(&strs(&arguments), &elsewhere.key);
    let client = here.client("federation.federated_call").await;

    let arguments = json!({"instance": "prod", "server_id": "work", "tool_name": "wait", "arguments": {}});
    let mut streamed = client.call_tool("federation.federated_call", arguments.clone()).stream().unwrap();
    for expected in ["one ", "two"] {
        let Some(StreamPart::Chunk(chunk)) = streamed.next().await else {
            panic!("{expected} does not come")
        };
        assert_eq!(chunk.content.as_text(), Some(expected));
    }
    assert!(!*work.taken_back.borrow());
    assert!(streamed.cancel(Some("enough")).await.unwrap().cancelled);
    work.taken_back.subscribe().wait_for(|taken_back| *taken_back).await.unwrap();

    let late = client.call_tool("federation.federated_call", arguments).await.unwrap_err();
    assert_eq!(late.code(), code::UPSTREAM_TIMEOUT, "{late:?}");
}

// covers: P-3-05, P-3-11, P-3-12
async fn servers_elsewhere_are_registered_approved_and_used_like_those_here() {
    let elsewhere = Elsewhere::start(None);
    let port = free_port();
    let here = format!("http://127.0.0.1:{port}/mcp");
    let mut arguments = reaching(&elsewhere).to_vec();
    arguments.extend(["--register-at".into(), here, "--register-key-env".into(), "LOCAL_KEY".into()]);
    let home = Here::home(&strs(&arguments), &elsewhere.key);
    let config = home.read("mgp.toml").replace("env = { ", "env = { LOCAL_KEY = \"${secret:LOCAL_KEY}\", ");
    let registration = format!(
        "[registration]\nagents = [\"federation\"]\ncommands = [{:?}]\nenv = [\"PROD_KEY\"]\n\
         [[permissions.grants]]\nserver = \"remote.prod.clock\"\npermission = \"network.outbound\"\n",
        patterns(&home)
    );
    home.write("mgp.toml", &format!("{config}{registration}"));
    let issued = home.json(["keys", "new", "federation", "--allow", "register"]);
    let set = home.run_with(["secrets", "set", "LOCAL_KEY", "--file"], issued["secret"].as_str().unwrap());
    assert_eq!(set.code, Some(0), "{set:?}");
    let address = format!("127.0.0.1:{port}");
    // What is registered gets variables of the kernel, and no secrets.
    let variables = [("PROD_KEY", elsewhere.key.as_str())];
    let kernel = Kernel::start_where(&home, &variables, &["--http", &address, "--no-stdio"]);
    let here = Here { home, kernel };

    until("the clock is registered", async || {
        let waiting = here.home.json(["registrations", "list", "--waiting"]);
        waiting["registrations"][0]["server_id"] == "remote.prod.clock"
    })
    .await;
    let waiting = here.home.json(["registrations", "list"]);
    let launch = waiting["registrations"][0]["launch"].as_str().unwrap();
    assert!(launch.contains("--server prod.clock") && !launch.contains(&elsewhere.key), "{launch}");
    here.home.json(["registrations", "approve", waiting["registrations"][0]["id"].as_str().unwrap()]);

    let client = here.client("remote.prod.clock.time_between").await;
    let arguments = json!({"start": 0, "end": 60});
    let result = client.call_tool("remote.prod.clock.time_between", arguments.clone()).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("0h 1m 0s"), "{result:?}");
    let executed =
        here.home.json(["audit", "query", "--server", "remote.prod.clock", "--type", "TOOL_EXECUTED"]);
    let target = &executed["events"][0]["event"]["target"];
    assert_eq!(target, &json!({"server_id": "remote.prod.clock", "tool_name": "time_between"}));

    // Each tool elsewhere is held to the rules here.
    here.home.json(["access", "deny", "local-http", "remote.prod.clock", "time_between"]);
    let denied = client.call_tool("remote.prod.clock.time_between", arguments).await.unwrap_err();
    assert_eq!(denied.code(), code::ACCESS_DENIED, "{denied:?}");
    let other: Result<_, Error> = client.call_tool("remote.prod.clock.unix_time", json!({})).await;
    assert!(other.is_ok(), "{other:?}");
}

const PATIENCE: Duration = Duration::from_mins(1);
