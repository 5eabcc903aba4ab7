//! A server that answers before it has read the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mgp_transport::http::HttpClient;
use mgp_types::{Params, RawJson, Request, Revision};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::server::*;

/// Reads the beginning of a request, refuses it, and reads no more.
async fn refuse(mut stream: DuplexStream) {
    let mut beginning = [0; 64];
    stream.read_exact(&mut beginning).await.unwrap();
    stream.write_all(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_request_is_not_read_keeps_no_other_request_waiting() {
    let dialled = Arc::new(AtomicUsize::new(0));
    let builder = HttpClient::builder(URL).dial_with({
        let dialled = Arc::clone(&dialled);
        move |_| {
            dialled.fetch_add(1, Ordering::Relaxed);
            let (ours, theirs) = tokio::io::duplex(1024);
            tokio::spawn(refuse(theirs));
            async { Ok(ours) }
        }
    });
    let client = builder.connect_with(Recorder::default()).unwrap();
    let mut params = Params::new();
    params.set("text", RawJson::from_value(&"x".repeat(100_000)).unwrap());
    let asked = within(Revision::V2026_07_28, Request::call("tools/list", params));
    for connections in 1..=3 {
        let refused = tokio::time::timeout(Duration::from_secs(5), start(&client, asked.clone()));
        assert!(refused.await.expect("it is refused at once").unwrap().is_err());
        assert_eq!(dialled.load(Ordering::Relaxed), connections);
    }
}
