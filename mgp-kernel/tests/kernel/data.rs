//! Data goes from server to server through the kernel: from where it may come, as it was promised, to one reader.

use std::sync::Arc;

use mgp_server_sdk::{Cx, Server, Tool, ToolError, ToolResult};
use mgp_types::ext::{Checksum, DataReference, ExtensionId};
use mgp_types::mcp::{CallToolResult, ContentBlock, Meta, ResourceLink};
use mgp_types::mgp::{ExtensionSet, Offer, Timestamp};
use mgp_types::{Object, Principal, Revision};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::host::{Host, Served, quiet, until, until_found};
use crate::http::{self, Answer};
use crate::runner::tests;
use crate::scripted::Script;
use crate::sections::raw::Raw;
use crate::web::{self, Asked};

tests![
    data_goes_to_the_server_that_it_was_handed_to_and_its_address_is_worth_nothing_to_others,
    a_reference_is_worth_nothing_to_another_agent_or_server,
    data_that_may_not_be_fetched_or_is_not_what_was_promised_reaches_nobody,
    a_reference_whose_name_is_written_with_escapes_is_taken_over_too,
    without_the_switch_no_reference_is_touched_and_no_data_served,
];

const DATA: &str = "id,name\n1,one\n2,two\n";

/// A source of data over HTTP, written by hand: `/good`, `/other` of the same length, and `/redirect` to the first.
struct Source {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Source {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let Some(Asked { path, .. }) = web::read(&mut stream).await else { continue };
                let other = DATA.replace("two", "TWO");
                let (status, more, body) = match path.split('?').next().unwrap_or_default() {
                    "/good" => ("200 OK", "ETag: \"1\"\r\n", DATA),
                    "/other" => ("200 OK", "ETag: \"1\"\r\n", other.as_str()),
                    "/redirect" => ("302 Found", "Location: /good\r\n", ""),
                    _ => ("404 Not Found", "", ""),
                };
                noted.lock().push(path);
                let answer = web::written(status, &format!("{more}Connection: close\r\n"), body);
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        Self { port, asked, serving }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A server whose tool `export` returns a link to the data at an address of `kind`.
fn shop(port: u16) -> Server {
    let export = move |arguments: Object| {
        let kind = arguments.text("kind").unwrap_or_default().into_owned();
        let mut reference = DataReference::new("theirs-1", "a-name-of-its-own", "text/csv");
        reference.size_bytes = Some(DATA.len() as u64);
        reference.checksum = Some(Checksum::sha256(&Sha256::digest(DATA).into()));
        let host = match &*kind {
            "private" => "10.0.0.1".to_owned(),
            "elsewhere" => format!("127.0.0.1:{}", port.wrapping_add(1)),
            _ => format!("127.0.0.1:{port}"),
        };
        if kind == "over" {
            reference.expires_at = Timestamp::from_millis(1);
        }
        reference.access_url = Some(format!("http://{host}/{kind}?sig=SECRET").into());
        let mut link = ResourceLink::new("mgp-ref://shop/theirs-1", "rows");
        link.meta = Some(Meta::new().with(DataReference::MEMBER, reference.to_raw()));
        let mut result = CallToolResult::text("exported");
        result.content = vec![ContentBlock::from(link)];
        std::future::ready(ToolResult::from(result))
    };
    Server::new("shop", "1.0.0").tool(Tool::new("export", "Exports rows."), export)
}

/// What servers were told of data that they may read.
type Told = Arc<Mutex<Vec<Value>>>;

/// A server that reads data: `import` notes what it is told, and `steal` asks the kernel for an address of anybody's.
fn reader(name: &'static str, received: &Told) -> Server {
    let received = Arc::clone(received);
    let steal = async |arguments: Object, cx: Cx| -> Result<String, ToolError> {
        let method = arguments.text("method").unwrap_or_default().into_owned();
        let mut params = Object::new();
        for name in ["ref_id", "origin_server", "audience"] {
            if let Some(value) = arguments.get(&format!("of_{name}")) {
                params.set(name.to_owned(), value);
            }
        }
        Ok(match cx.ask("data", &*method, params).await {
            Ok(answer) => answer.to_string(),
            Err(error) => format!("refused with {}", error.code()),
        })
    };
    Server::new(name, "1.0.0")
        .mgp(Offer::new(ExtensionSet::new()))
        .revisions([Revision::V2025_11_25])
        .tool(Tool::new("import", "Imports rows."), move |_: Object, cx: Cx| {
            let handed = cx.meta("data_references").map(|raw| raw.to::<Value>().unwrap());
            received.lock().push(handed.unwrap_or_default());
            std::future::ready("imported")
        })
        .tool(Tool::new("steal", "Asks for an address."), steal)
}

struct Scene {
    host: Host,
    source: Source,
    received: Told,
    of_mail: Told,
    /// The port of the kernel.
    port: u16,
    listening: JoinHandle<()>,
    _servers: [Served; 3],
}

impl Scene {
    async fn start(switched_on: bool) -> Self {
        let source = Source::start().await;
        let (received, of_mail) = (Told::default(), Told::default());
        let servers = [
            Served::start("shop", shop(source.port)).await,
            Served::start("sheets", reader("sheets", &received)).await,
            Served::start("mail", reader("mail", &of_mail)).await,
        ];
        let mut configs = servers.each_ref().map(|server| server.config.clone());
        let here = format!("127.0.0.1:{}", source.port);
        configs[0]["network"] =
            json!({"allow": [here], "data_origins": [format!("http://{here}"), "http://10.0.0.1"]});
        let mut config = quiet(configs);
        config["listen"] = json!({"data_references": switched_on});
        let host = Host::ready_with(config).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let kernel = host.kernel.clone();
        let listening = tokio::spawn(async move {
            drop(kernel.serve_http(listener, std::future::pending()).await);
        });
        let scene = Self { host, source, received, of_mail, port, listening, _servers: servers };
        // It listens once it answers.
        assert_eq!(scene.get("/healthz", None).status, 200);
        scene
    }

    async fn client(&self, agent: &str) -> Raw {
        let capabilities = json!({
            "extensions": {ExtensionId::DataReferences.id(): {}}, "mgp": {"version": "0.6.0", "extensions": []},
        });
        Raw::with(&self.host, Principal::new(agent), Revision::V2025_11_25, capabilities).await
    }

    /// Reads a path of the kernel.
    fn get(&self, path: &str, range: Option<&str>) -> Answer {
        let range = range.map(|range| format!("Range: {range}\r\n")).unwrap_or_default();
        http::send(self.port, "GET", path, &range, "")
    }

    /// The records of a type, when there are so many.
    async fn records(&self, kind: &str, count: usize) -> Vec<Value> {
        until_found("so many are recorded", async || {
            let events = self.host.recorded(json!({"event_types": [kind]})).await;
            (events.len() == count).then_some(events)
        })
        .await
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Exports data of a kind, and returns the reference to it.
async fn exported(client: &mut Raw, kind: &str) -> Value {
    let result = client.tool("shop.export", json!({"kind": kind})).await;
    let reference = result["content"][0]["_meta"]["data_reference"].clone();
    assert!(!result.to_string().contains("SECRET"), "no agent sees the address: {result}");
    assert_eq!(reference["origin_server"], "shop", "the name of a server is the kernel's: {result}");
    reference
}

fn import(reference: &Value) -> Value {
    json!({"ref_id": reference["ref_id"], "origin_server": reference["origin_server"]})
}

// covers: EXT-09-06, EXT-09-07, EXT-09-11
async fn data_goes_to_the_server_that_it_was_handed_to_and_its_address_is_worth_nothing_to_others() {
    let scene = Scene::start(true).await;
    let mut ada = scene.client("ada").await;
    let declared = &ada.opened["result"]["capabilities"]["extensions"][ExtensionId::DataReferences.id()];
    assert_eq!(*declared, json!({"transports": ["broker"]}), "{}", ada.opened);
    let reference = exported(&mut ada, "good").await;
    let uri = format!("mgp-ref://shop/{}", reference["ref_id"].as_str().unwrap());
    assert_eq!(reference["access_url"], json!(uri));
    assert!(scene.source.asked.lock().is_empty(), "nothing is fetched before somebody wants it");
    ada.tool("sheets.import", import(&reference)).await;
    let handed = scene.received.lock().pop().unwrap()[0].clone();
    assert_eq!(
        (&handed["ref_id"], &handed["origin_server"]),
        (&reference["ref_id"], &json!("shop")),
        "{handed}"
    );
    assert_eq!(
        (&handed["checksum"], &handed["size_bytes"]),
        (&reference["checksum"], &json!(DATA.len())),
        "{handed}"
    );
    let address = handed["access_url"].as_str().unwrap();
    let path = address.strip_prefix(&format!("http://127.0.0.1:{}", scene.port)).unwrap();
    assert!(path.starts_with("/data/") && path.contains("aud=sheets"), "{path}");

    // A second copy, whose address is swapped with that of the first.
    ada.tool("sheets.import", import(&reference)).await;
    let second = scene.received.lock().pop().unwrap()[0]["access_url"].as_str().unwrap().to_owned();
    let (own, query) = path.split_once('?').unwrap();
    let other = second.rsplit_once("/data/").unwrap().1.split_once('?').unwrap().0;
    let member = |name: &str| query.split('&').find(|member| member.starts_with(name)).unwrap();
    let (sig, exp) = (member("sig="), member("exp="));
    for (what, path, status) in [
        ("no signature", own.to_owned(), 403),
        ("forged", path.replace(sig, &format!("sig={}", "0".repeat(64))), 403),
        ("longer", path.replace(exp, "exp=99999999999"), 403),
        ("another reader", path.replace("aud=sheets", "aud=mail"), 403),
        ("any reader", path.replace("&aud=sheets", ""), 403),
        ("swapped", format!("/data/{other}?{query}"), 403),
        ("unknown", format!("/data/ref-0?{query}"), 404),
    ] {
        assert_eq!(scene.get(&path, None).status, status, "{what}: {path}");
    }
    let part = scene.get(path, Some("bytes=0-6"));
    assert_eq!((part.status, &*part.body), (206, "id,name"), "{}", part.head);
    assert_eq!(part.header("content-range"), Some("bytes 0-6/20"));
    let whole = scene.get(path, None);
    assert_eq!((whole.status, &*whole.body), (200, DATA), "{}", whole.head);
    // Whoever replays the address is late.
    until("the copy is given up", || (scene.get(path, None).status == 410).then_some(())).await;
    assert_eq!(*scene.source.asked.lock(), ["/good?sig=SECRET", "/good?sig=SECRET"]);
    let fetched = scene.records("dev.cloto.mgp.data_fetched", 2).await;
    assert!(
        fetched[0].to_string().contains("sheets") && !fetched[0].to_string().contains("SECRET"),
        "{fetched:?}"
    );
    assert!(!scene.records("dev.cloto.mgp.data_refused", 6).await.is_empty());
}

// covers: EXT-09-07
async fn a_reference_is_worth_nothing_to_another_agent_or_server() {
    let scene = Scene::start(true).await;
    let (mut ada, mut bob) = (scene.client("ada").await, scene.client("bob").await);
    let reference = exported(&mut ada, "good").await;
    let mut elsewhere = import(&reference);
    elsewhere["origin_server"] = json!("mail");
    let theirs = json!({"ref_id": "theirs-1", "origin_server": "shop"});
    for (client, arguments) in [(&mut bob, import(&reference)), (&mut ada, elsewhere)] {
        let refused = client.refused("sheets.import", arguments).await;
        assert_eq!(refused["code"], 3021, "{refused}");
    }
    assert_eq!(ada.refused("sheets.import", json!({"from": theirs})).await["code"], 3021);
    assert!(scene.received.lock().is_empty() && scene.source.asked.lock().is_empty());
    // What an agent says that a server may read is not passed on.
    let forged = json!([{"ref_id": "x", "origin_server": "shop", "access_url": "http://169.254.169.254/"}]);
    let params = json!({"name": "sheets.import", "arguments": {}, "_meta": {"data_references": forged}});
    ada.call("tools/call", params).await;
    assert_eq!(scene.received.lock().pop(), Some(Value::Null));

    ada.tool("sheets.import", json!({"from": reference})).await;
    assert_eq!(scene.received.lock().pop().unwrap().as_array().unwrap().len(), 1);
    let mut asking = json!({"method": "mgp/data/resolve", "of_origin_server": "shop"});
    asking["of_ref_id"] = reference["ref_id"].clone();
    let text = |result: Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let own = text(ada.tool("sheets.steal", asking.clone()).await);
    assert!(own.contains("/data/") && own.contains("aud=sheets"), "{own}");
    // The other server was not handed the data, and may not ask in the name of the one that was.
    assert_eq!(text(ada.tool("mail.steal", asking.clone()).await), "refused with 3021");
    let mut posing = asking.clone();
    posing["of_audience"] = json!("sheets");
    assert_eq!(text(ada.tool("mail.steal", posing).await), "refused with 3023");
    let mut renewing = asking.clone();
    renewing["method"] = json!("mgp/data/renew");
    assert!(text(ada.tool("sheets.steal", renewing).await).contains("expires_at"));
    let mut giving_up = asking.clone();
    giving_up["method"] = json!("mgp/data/release");
    ada.tool("sheets.steal", giving_up).await;
    assert_eq!(text(ada.tool("sheets.steal", asking).await), "refused with 3021");
    assert!(scene.of_mail.lock().is_empty());
}

// covers: EXT-09-07, EXT-09-09
async fn data_that_may_not_be_fetched_or_is_not_what_was_promised_reaches_nobody() {
    let scene = Scene::start(true).await;
    let mut ada = scene.client("ada").await;
    for (kind, code) in [
        ("other", 3024),
        ("redirect", 3023),
        ("private", 3023),
        ("elsewhere", 3023),
        ("over", 3021),
        ("missing", 3021),
    ] {
        let reference = exported(&mut ada, kind).await;
        let refused = ada.refused("sheets.import", import(&reference)).await;
        assert_eq!(refused["code"], code, "{kind}: {refused}");
        assert!(!refused.to_string().contains("SECRET"), "{kind}: {refused}");
    }
    assert!(scene.received.lock().is_empty(), "the reader is not called");
    let asked = scene.source.asked.lock().clone();
    assert_eq!(
        asked,
        ["/other?sig=SECRET", "/redirect?sig=SECRET", "/missing?sig=SECRET"],
        "nothing is followed"
    );
    // What was over before it was asked for is no transfer.
    let failed = scene.records("dev.cloto.mgp.data_not_fetched", 5).await;
    assert!(failed.iter().any(|event| event["details"]["code"] == 3024), "{failed:?}");
}

async fn without_the_switch_no_reference_is_touched_and_no_data_served() {
    let scene = Scene::start(false).await;
    let mut ada = scene.client("ada").await;
    let result = ada.tool("shop.export", json!({"kind": "good"})).await;
    let reference = &result["content"][0]["_meta"]["data_reference"];
    assert_eq!(reference["origin_server"], "a-name-of-its-own", "{result}");
    ada.tool("sheets.import", import(reference)).await;
    assert_eq!(scene.received.lock().pop(), Some(Value::Null));
    assert_eq!(scene.get("/data/ref-0?sig=0&exp=1", None).status, 404);
    let asking = json!({"method": "mgp/data/resolve", "of_ref_id": "x", "of_origin_server": "shop"});
    let answer = ada.tool("sheets.steal", asking).await;
    assert_eq!(answer["content"][0]["text"], "refused with -32601", "{answer}");
    let declared = &ada.opened["result"]["capabilities"]["extensions"];
    assert!(declared[ExtensionId::DataReferences.id()].is_null(), "{declared}");
}

async fn a_reference_whose_name_is_written_with_escapes_is_taken_over_too() {
    let result = concat!(
        r#"{"content":[{"type":"resource_link","uri":"mgp-ref://shop/1","name":"rows","_meta":{"data\u005freference":{"ref_id":"1","#,
        r#""origin_server":"shop","mime_type":"text/csv","access_url":"http://127.0.0.1:9/good?sig=SECRET"}}}]}"#
    );
    let script = Script::named(&["export"]).answers("tools/call", result);
    let mut config = quiet([script.server("shop")]);
    config["listen"] = json!({"data_references": true});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, &["data_references"]).await;
    let answer = ada.call("tools/call", json!({"name": "shop.export", "arguments": {}})).await;
    let reference = &answer["result"]["content"][0]["_meta"]["data_reference"];
    assert!(reference["ref_id"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("SECRET"), "{answer}");
}
