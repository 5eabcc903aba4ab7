//! Data that a tool refers to, for other servers to fetch.

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::ContentBlock;
use mgp_server_sdk::mgp::Timestamp;
use mgp_server_sdk::types::Error;
use mgp_server_sdk::types::ext::{ErrorClass, ImportData, ImportedData, StructuredError};
use mgp_server_sdk::{Cx, ReferenceRequest, ReferenceStore, Server, Tool, ToolError};
use serde_json::{Value, json};

const ROWS: usize = 20_000;

fn rows() -> String {
    let rows: Vec<String> = (0..ROWS).map(|row| format!("{row},{}", row * 7)).collect();
    rows.join("\n")
}

async fn export(cx: Cx) -> Result<ContentBlock, ToolError> {
    if cx.wants_reference() {
        return Ok(cx.refer_to(rows(), "text/csv").await?);
    }
    Ok(ContentBlock::text(rows()))
}

async fn large(cx: Cx) -> Result<ContentBlock, ToolError> {
    Ok(cx.refer_to(vec![0; (1 << 20) + 1], "application/octet-stream").await?)
}

fn store() -> ReferenceStore {
    ReferenceStore::new("amplitude", "https://amplitude.example/data").unwrap()
}

async fn client(store: &ReferenceStore, era: Era, extensions: Value) -> Peer {
    let server = Server::new("amplitude", "1.0.0")
        .references(store)
        .tool(Tool::new("export", "Exports rows."), export)
        .tool(Tool::new("large", "Exports much."), large);
    Peer::silent(server, era, json!({"extensions": extensions})).await
}

fn knowing() -> Value {
    json!({"io.github.mcp-extension-proposals/data_references": {}})
}

async fn link(peer: &mut Peer, tool: &str) -> Value {
    let wish = json!({"name": tool, "arguments": {}, "_meta": {"return_reference": true}});
    peer.call("tools/call", wish).await.unwrap()["content"][0].clone()
}

/// Returns the status of the answer to a request for data, and its body.
fn fetch(store: &ReferenceStore, url: &str, range: Option<&str>) -> (u16, Vec<u8>) {
    let (path, query) = url.split_once('?').unwrap();
    let mut request = ReferenceRequest::get(path.rsplit('/').next().unwrap(), query);
    request.range = range;
    let answer = store.answer(&request, Timestamp::now());
    let mut all = Vec::new();
    if let Some(mut body) = answer.body {
        while let Some(piece) = body.next_piece().unwrap() {
            all.extend_from_slice(&piece);
        }
    }
    (answer.status, all)
}

// covers: EXT-09-01, EXT-09-02, EXT-09-05
#[tokio::test]
async fn a_client_that_knows_references_passes_a_few_bytes_on_for_many() {
    for era in Era::BOTH {
        let store = store();
        let mut peer = client(&store, era, knowing()).await;
        let link = link(&mut peer, "export").await;
        assert!(link.to_string().len() < 1000, "{link}");
        let reference = &link["_meta"]["data_reference"];
        assert_eq!(
            (&reference["origin_server"], &reference["mime_type"]),
            (&json!("amplitude"), &json!("text/csv"))
        );
        assert_eq!(reference["size_bytes"], rows().len());
        assert_eq!(reference["checksum"]["algorithm"], "sha256");
        assert_eq!(link["uri"], format!("mgp-ref://amplitude/{}", reference["ref_id"].as_str().unwrap()));
        let url = reference["access_url"].as_str().unwrap();
        assert_eq!(fetch(&store, url, None), (200, rows().into_bytes()));
        let digit = url.find("sig=").unwrap() + 4;
        let other = if url[digit..].starts_with('0') { "1" } else { "0" };
        for forged in [url.replace("exp=", "exp=9"), format!("{}{other}{}", &url[..digit], &url[digit + 1..])]
        {
            assert_eq!(fetch(&store, &forged, None).0, 403, "{forged}");
        }
    }
}

// covers: EXT-09-08
#[tokio::test]
async fn an_interrupted_transfer_goes_on_and_its_reference_is_renewed() {
    for era in Era::BOTH {
        let store = store();
        let mut peer = client(&store, era, knowing()).await;
        let link = link(&mut peer, "export").await;
        let reference = &link["_meta"]["data_reference"];
        let (status, first) = fetch(&store, reference["access_url"].as_str().unwrap(), Some("bytes=0-99999"));
        assert_eq!((status, first.len()), (206, 100_000));
        let renewed =
            store.renew(reference["ref_id"].as_str().unwrap(), std::time::Duration::from_mins(15)).unwrap();
        assert!(*renewed.expires_at.unwrap().to_string() > *reference["expires_at"].as_str().unwrap());
        let (status, rest) = fetch(&store, renewed.access_url.as_deref().unwrap(), Some("bytes=100000-"));
        assert_eq!((status, [first, rest].concat()), (206, rows().into_bytes()));
    }
}

// covers: EXT-09-10, EXT-09-12
#[tokio::test]
async fn a_plain_client_gets_a_link_that_it_can_read_and_no_address() {
    for era in Era::BOTH {
        let store = store();
        let mut peer = client(&store, era, json!({})).await;
        let link = link(&mut peer, "export").await;
        assert_eq!((&link["type"], link.get("_meta")), (&json!("resource_link"), None), "{link}");
        let read = peer.call("resources/read", json!({"uri": link["uri"]})).await.unwrap();
        assert_eq!(read["contents"][0]["text"], rows());
        assert_eq!(read["contents"][0]["mimeType"], "text/csv");
        let whole = peer.call("tools/call", json!({"name": "export", "arguments": {}})).await.unwrap();
        assert_eq!(whole["content"][0]["text"], rows());
        let unknown = peer.call("resources/read", json!({"uri": "mgp-ref://amplitude/ref-unknown"})).await;
        assert!(unknown.unwrap_err().message().contains("no such reference"));
        assert_eq!(fetch(&store, "https://amplitude.example/data/ref-unknown?sig=x&exp=1", None).0, 404);
    }
}

/// Answers each of the three ways, by the name of the reference.
fn import(asked: ImportData) -> ImportedData {
    match &*asked.ref_id {
        "ref-here" => ImportedData::imported(format!("{}-1", asked.target_format.unwrap_or_default())),
        "ref-slow" => ImportedData::pending("op-1"),
        _ => {
            let message = "reference exceeds 1 GiB";
            ImportedData::failed(StructuredError::new("PAYLOAD_TOO_LARGE", ErrorClass::InvalidInput, message))
        }
    }
}

// covers: EXT-09-03, EXT-09-04
#[tokio::test]
async fn a_server_imports_data_by_their_reference_and_says_how_far_it_is() {
    for era in Era::BOTH {
        let server = Server::new("sheets", "1.0.0")
            .method("mgp/data/import", async |asked: ImportData| Ok::<_, Error>(import(asked)));
        let capabilities = json!({"extensions": knowing()});
        let mut peer = Peer::silent(server, era, capabilities).await;
        for (reference, expected) in [
            ("ref-here", json!({"status": "imported", "imported_resource_id": "spreadsheet-1"})),
            ("ref-slow", json!({"status": "pending", "operation_id": "op-1"})),
            (
                "ref-large",
                json!({"status": "failed", "error": {
                    "code": "PAYLOAD_TOO_LARGE", "message": "reference exceeds 1 GiB", "category": "invalid_input",
                }}),
            ),
        ] {
            let asked = json!({
                "ref_id": reference, "origin_server": "amplitude", "target_format": "spreadsheet",
            });
            let answer = peer.call("mgp/data/import", asked).await.unwrap();
            for (member, value) in expected.as_object().unwrap() {
                assert_eq!(&answer[member], value, "{answer}");
            }
        }
        let incomplete = peer.call("mgp/data/import", json!({"ref_id": "ref-here"})).await.unwrap_err();
        assert_eq!(incomplete.code(), -32602, "{incomplete}");
    }
}

#[tokio::test]
async fn data_that_is_too_large_for_a_client_is_for_servers_alone() {
    for era in Era::BOTH {
        let store = store();
        let mut peer = client(&store, era, knowing()).await;
        let link = link(&mut peer, "large").await;
        let refused = peer.call("resources/read", json!({"uri": link["uri"]})).await.unwrap_err();
        assert!(refused.message().contains("have a server fetch it"), "{refused}");
        let url = link["_meta"]["data_reference"]["access_url"].as_str().unwrap();
        assert_eq!(fetch(&store, url, None).1.len(), (1 << 20) + 1);
    }
}
