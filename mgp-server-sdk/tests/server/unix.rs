//! Serving over a Unix domain socket.

use std::time::Duration;

use mgp_server_sdk::{Error, Server, Tool};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

fn server() -> Server {
    Server::new("test", "1").tool(Tool::new("hello", "Greets."), async || "hello")
}

#[tokio::test]
async fn clients_are_served_side_by_side_and_a_socket_left_behind_is_replaced() -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("mgp-server-sdk-{}.sock", std::process::id()));
    for _ in 0..2 {
        let serving = tokio::spawn(server().serve_unix(path.clone()));
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(BufReader::new(connect(&path).await));
        }
        assert!(
            matches!(server().serve_unix(path.clone()).await, Err(Error::Io(_))),
            "somebody listens there"
        );
        for client in &mut clients {
            let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
            client.get_mut().write_all(format!("{call}\n").as_bytes()).await?;
            let mut answer = String::new();
            client.read_line(&mut answer).await?;
            assert!(answer.contains(r#""text":"hello""#), "{answer}");
        }
        serving.abort();
        let _ = serving.await;
    }
    Ok(())
}

async fn connect(path: &std::path::Path) -> UnixStream {
    for _ in 0..500 {
        if let Ok(stream) = UnixStream::connect(path).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("nobody listens");
}
