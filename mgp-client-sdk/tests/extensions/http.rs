//! Messages that a client writes to a server over HTTP, with binary arguments and with keys.

use std::sync::Arc;

use mgp_client_sdk::{Client, RpcService, json};
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::{Server, ServerCore, Tool, schemars};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower_layer::Layer;

use crate::servers::MODES;

/// A server, and the bytes that its clients send it.
struct Overheard {
    url: String,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Overheard {
    async fn start<L>(server: Server<L>) -> Self
    where
        L: Layer<ServerCore, Service: RpcService + Sync + Unpin> + Send + 'static,
    {
        let (behind, front) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let url = format!("http://{}/mcp", front.local_addr().unwrap());
        let address = behind.local_addr().unwrap();
        tokio::spawn(server.serve_http(behind));
        let sent: Arc<Mutex<Vec<u8>>> = Arc::default();
        let heard = sent.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = front.accept().await {
                let server = TcpStream::connect(address).await.unwrap();
                tokio::spawn(pass(client, server, heard.clone()));
            }
        });
        Self { url, sent }
    }

    /// Returns the heads and bodies of the requests with a body that one connection after the other carried.
    fn requests(&self) -> Vec<(String, Vec<u8>)> {
        let sent = self.sent.lock();
        let (mut rest, mut requests) = (&sent[..], Vec::new());
        while let Some(end) = rest.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(rest[..end].to_vec()).unwrap().to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse().unwrap());
            if length > 0 {
                requests.push((head, rest[end + 4..end + 4 + length].to_vec()));
            }
            rest = &rest[end + 4 + length..];
        }
        requests
    }
}

/// Passes bytes both ways, and notes those of the client once its connection or the server's is over.
async fn pass(client: TcpStream, server: TcpStream, heard: Arc<Mutex<Vec<u8>>>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let back = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    });
    let (mut buffer, mut noted) = (vec![0; 1 << 16], Vec::new());
    while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
        noted.extend_from_slice(&buffer[..count]);
        // A request is noted before the server can answer it, and is not mixed with those of other connections.
        if is_whole(&noted) {
            heard.lock().append(&mut noted);
        }
        if to_server.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    drop(to_server);
    back.abort();
}

/// Returns whether the bytes end with a request.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    bytes.len() >= end + 4 + length.map_or(0, |length| length.parse::<usize>().unwrap())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pictures {
    before: String,
    scale: Option<u32>,
}

fn studio(binary_transport: Option<&str>) -> Server {
    let declared =
        ToolDeclaration { binary_transport: binary_transport.map(Into::into), ..ToolDeclaration::default() };
    let tool = Tool::new("look", "Looks at a picture in base64.").declare(declared);
    Server::new("studio", "1.0.0").tool(tool, async |Pictures { before, scale }: Pictures| {
        let sum = before.bytes().map(u64::from).enumerate().map(|(at, byte)| at as u64 * byte).sum::<u64>();
        format!("{} {sum} {scale:?}", before.len())
    })
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

// covers: EXT-10-03
#[tokio::test]
async fn bytes_go_in_parts_to_a_tool_that_takes_them_and_in_base64_to_any_other() {
    // The bytes hold what looks like a boundary.
    let mut picture: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    picture.extend_from_slice(b"\r\n--part-0--\r\n--part-1\r\n\r\n");
    for (binary_transport, in_parts) in [(Some("multipart"), true), (None, false)] {
        for mode in MODES {
            let server = Overheard::start(studio(binary_transport)).await;
            let client =
                Client::builder("tester", "1.0.0").era(mode).connect_http(&server.url).await.unwrap();
            let tool = client.list_tools().await.unwrap().remove(0);
            let plain = client.call_tool("look", json!({"scale": 2}));
            let plain = plain.attach("before", "image/png", picture.clone()).await.unwrap();
            assert!(plain.content[0].as_text().unwrap().ends_with("Some(2)"), "{plain:?}");
            let before = server.requests().len();
            let call = client.call_listed(&tool, json!({"scale": 2}));
            let result = call.attach("before", "image/png", picture.clone()).await.unwrap();
            assert_eq!(result.content, plain.content, "{mode:?}");
            let (head, body) = server.requests().swap_remove(before);
            assert_eq!(holds(&body, &picture), in_parts, "{head}");
            assert_eq!(head.contains("content-type: multipart/related;"), in_parts, "{head}");
            assert_eq!(holds(&body, b"Content-Type: image/png\r\n"), in_parts);
            let wrong = client.call_listed(&tool, json!({})).attach("before", "image/png\r\nX: y", "a");
            assert_eq!(wrong.await.unwrap_err().code(), -32602);
        }
    }
}

// covers: GGEN-7-13
#[tokio::test]
async fn each_message_of_a_client_with_a_key_carries_it_beside_the_params() {
    const KEY: &str = "mgp_0123456789\"abcdef";
    for mode in MODES {
        let server = Overheard::start(studio(Some("multipart"))).await;
        let builder = || Client::builder("tester", "1.0.0").era(mode);
        let client = builder().connect_http_with(&server.url, |wire| wire.auth_member(KEY)).await.unwrap();
        let tool = client.list_tools().await.unwrap().remove(0);
        client.call_tool("look", json!({"before": "AAEC"})).await.unwrap();
        let mut requests = server.requests();
        assert!(requests.len() >= 3, "{mode:?}");
        // The message of a request in parts has the key, too.
        client.call_listed(&tool, json!({})).attach("before", "image/png", "abc").await.unwrap();
        let (_, in_parts) = server.requests().swap_remove(requests.len());
        let message = in_parts.split(|byte| *byte == b'\n').nth(3).unwrap();
        requests.push((String::new(), message.to_vec()));
        for (head, body) in requests {
            let message: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(message["auth"], json!({"type": "bearer", "token": KEY}), "{message}");
            assert!(!message["params"].to_string().contains("mgp_0123"), "{message}");
            assert!(!head.contains("authorization") && !head.contains("mgp_0123"), "{head}");
        }
        let shown = format!("{client:?}");
        assert!(!shown.contains("mgp_0123"), "{shown}");

        let plain = Overheard::start(studio(None)).await;
        let client = builder().connect_http(&plain.url).await.unwrap();
        client.list_tools().await.unwrap();
        assert!(!holds(&plain.sent.lock(), b"\"auth\""));
    }
}
