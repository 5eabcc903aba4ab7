//! The memory of clients about servers, beyond one connection.

use mgp_server_sdk::Server;
use mgp_transport::era::{Era, EraMemory};
use mgp_types::Revision;
use tokio::net::TcpListener;

use crate::peer::builder;

#[tokio::test]
async fn clients_that_share_a_memory_know_the_era_of_a_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::new("old", "1").revisions([Revision::V2025_11_25]);
    let serving = tokio::spawn(async move { drop(server.serve_http(listener).await) });
    let memory = EraMemory::new();
    for known in [None, Some(Era::Session)] {
        assert_eq!(memory.recall(&url), known);
        let client = builder().era_memory(memory.clone()).connect_http(&url).await.unwrap();
        assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    }
    serving.abort();
}
