//! Each optional extension by itself: a server declares it, and nothing else changes.

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::{CallToolResult, ContentBlock, Meta, TextContent};
use mgp_server_sdk::types::ext::{Confidence, ExtensionId, PREFIX, Provenance, Quota, SourceLocation};
use mgp_server_sdk::{Cx, Object, RawJson, Server, Tool};
use serde::Serialize;
use serde_json::{Value, json};

/// A server whose tool gives every hint there is.
fn server() -> Server {
    Server::new("reports", "1").tool(Tool::new("sum", "Adds up."), async |cx: Cx| {
        cx.cost(1.0, "credits");
        cx.quota(Quota::new(9, None));
        cx.source(Provenance::new("invoices.xlsx"));
        "42"
    })
}

fn declaring(server: Server, id: ExtensionId) -> Server {
    server.extension(id.id(), RawJson::empty_object())
}

fn capabilities(ids: impl IntoIterator<Item = ExtensionId>) -> Value {
    let ids = ids.into_iter().map(|id| (id.id().to_owned(), json!({})));
    json!({"extensions": ids.collect::<serde_json::Map<_, _>>()})
}

/// Connects as a client that declares every extension.
async fn client(server: Server, era: Era) -> Peer {
    let all = capabilities(ExtensionId::ALL.iter().copied());
    Peer::silent(server, era, all).await
}

async fn declared(peer: &mut Peer) -> Value {
    let described = match peer.era {
        Era::Session => peer.initialized.clone(),
        Era::Stateless => peer.call("server/discover", json!({})).await.unwrap(),
    };
    described["capabilities"].clone()
}

/// Takes the hints out of the metadata of a result, and the metadata with the last one.
fn take_hints(result: &mut Value) -> Vec<&'static str> {
    let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) else { return vec![] };
    let names = ["cost", "quota", "provenance", "suggestion"];
    let hints = names.into_iter().filter(|name| meta.remove(*name).is_some()).collect();
    if meta.is_empty() {
        result.as_object_mut().unwrap().remove("_meta");
    }
    hints
}

// covers: EXT-00-01, EXT-00-03
#[tokio::test]
async fn a_server_declares_any_one_extension_and_a_client_gets_that_one_alone() {
    for era in Era::BOTH {
        let mut plain = client(server(), era).await;
        let core = declared(&mut plain).await;
        assert_eq!(core.get("extensions"), None, "nothing of a vendor is there by itself");
        let plain = plain.tool("sum", json!({})).await.unwrap();
        for id in ExtensionId::ALL.iter().copied().filter(|id| *id != ExtensionId::Transactions) {
            let mut peer = client(declaring(server(), id), era).await;
            let mut now = declared(&mut peer).await;
            assert_eq!(now["extensions"], json!({ id.id(): {} }), "{era:?}");
            assert!(id.id().starts_with(PREFIX));
            now.as_object_mut().unwrap().remove("extensions");
            assert_eq!(now, core, "{id:?} changes no member of the core");

            let mut result = peer.tool("sum", json!({})).await.unwrap();
            let hints = take_hints(&mut result);
            let expected: &[&str] = match id {
                ExtensionId::CostTransparency => &["cost", "quota"],
                ExtensionId::Provenance => &["provenance"],
                _ => &[],
            };
            assert_eq!(hints, expected, "{id:?}");
            assert_eq!(result, plain, "{id:?} changes nothing else of a result");
        }
    }
}

// covers: EXT-00-03
#[tokio::test]
async fn transactions_are_refused_without_idempotency_and_served_with_it_in_any_order() {
    let (transactions, idempotency) = (ExtensionId::Transactions, ExtensionId::Idempotency);
    let refused = declaring(server(), transactions).accept().unwrap_err().to_string();
    assert!(refused.contains(transactions.id()) && refused.contains(idempotency.id()), "{refused}");
    for order in [[transactions, idempotency], [idempotency, transactions]] {
        let both = order.into_iter().fold(server(), declaring);
        let mut peer = client(both, Era::Session).await;
        assert_eq!(declared(&mut peer).await, {
            let mut expected = declared(&mut client(server(), Era::Session).await).await;
            expected["extensions"] = capabilities(order)["extensions"].clone();
            expected
        });
    }
}

/// A source of which everything is known.
fn invoice() -> Provenance {
    let mut source = Provenance::new("invoice_v2.pdf");
    source.location = Some(SourceLocation {
        page: Some(3),
        paragraph: Some(2),
        line: Some(7),
        cell: Some("B14".into()),
        json_path: Some("$.total".into()),
        url_fragment: Some("totals".into()),
    });
    source.retrieved_at = Some("2026-03-10T16:22:00+02:00".parse().unwrap());
    source.version = Some("v2.1".into());
    source.confidence = Some(Confidence::Derived);
    source.transformation = Some("SUM of rows 2-15 in column B".into());
    source.license = Some("CC-BY-4.0".into());
    source.derived_from = vec!["scan-1".into(), "scan-2".into()];
    source
}

// covers: EXT-07-02, EXT-07-03, EXT-07-04
#[tokio::test]
async fn a_source_has_a_name_a_place_a_moment_a_version_and_how_it_was_changed() {
    let server = || {
        declaring(Server::new("reports", "1"), ExtensionId::Provenance)
            .tool(Tool::new("sum", "Adds up."), async |cx: Cx| {
                cx.source(invoice());
                "42"
            })
            .tool(Tool::new("name", "Names a source alone."), async |cx: Cx| {
                cx.source(Provenance::new("rates.json"));
                "43"
            })
    };
    for era in Era::BOTH {
        let mut peer = client(server(), era).await;
        let provenance = peer.tool("sum", json!({})).await.unwrap()["_meta"]["provenance"].clone();
        assert_eq!(provenance["source"], "invoice_v2.pdf");
        assert_eq!(
            provenance["location"],
            json!({
                "page": 3, "paragraph": 2, "line": 7, "cell": "B14", "json_path": "$.total",
                "url_fragment": "totals",
            })
        );
        assert_eq!(provenance["retrieved_at"], "2026-03-10T14:22:00.000Z");
        assert_eq!(
            (&provenance["version"], &provenance["transformation"]),
            (&json!("v2.1"), &json!("SUM of rows 2-15 in column B"))
        );
        let alone = peer.tool("name", json!({})).await.unwrap()["_meta"]["provenance"].clone();
        assert_eq!(alone, json!({"source": "rates.json"}), "only the name is required");
    }
}

// covers: EXT-07-08
#[tokio::test]
async fn each_block_of_a_result_has_its_own_source_with_its_chain_and_its_licence() {
    let server = || {
        let block = |text: &str, source: &Provenance| {
            let mut meta = Meta::new();
            meta.insert("provenance", Provenance::to_raw(std::slice::from_ref(source)));
            let mut block = TextContent::new(text);
            block.meta = Some(meta);
            ContentBlock::Text(block)
        };
        declaring(Server::new("reports", "1"), ExtensionId::Provenance).tool(
            Tool::new("two", "Returns two parts."),
            move || async move {
                CallToolResult::new([
                    block("4.2 M", &invoice()),
                    block("1.1", &Provenance::new("rates.json")),
                    ContentBlock::text("a remark"),
                ])
            },
        )
    };
    for era in Era::BOTH {
        let result = client(server(), era).await.tool("two", json!({})).await.unwrap();
        let first = &result["content"][0]["_meta"]["provenance"];
        assert_eq!(first["derived_from"], json!(["scan-1", "scan-2"]));
        assert_eq!((&first["license"], &first["confidence"]), (&json!("CC-BY-4.0"), &json!("derived")));
        assert_eq!(first["retrieved_at"], "2026-03-10T14:22:00.000Z");
        assert_eq!(result["content"][1]["_meta"]["provenance"], json!({"source": "rates.json"}));
        assert_eq!(result["content"][2].get("_meta"), None, "a source is optional");
        let block = Object::from_value(&result["content"][0]["_meta"]).unwrap();
        assert_eq!(Provenance::read(&block).into_claim(), [invoice()]);
    }
}

// covers: EXT-07-06
#[tokio::test]
async fn a_structured_result_can_be_wrapped_together_with_its_sources() {
    #[derive(Serialize)]
    struct Wrapper {
        result: Value,
        provenance: Vec<Provenance>,
    }
    let schema = r#"{"type":"object","properties":{"result":{"type":"object"},"provenance":{"type":"array"}},
        "required":["result","provenance"]}"#;
    let revenue = Tool::new("revenue", "Returns the revenue.").output_schema(RawJson::parse(schema).unwrap());
    let server = declaring(Server::new("reports", "1"), ExtensionId::Provenance).require_schemas().tool(
        revenue,
        async || {
            let provenance = vec![invoice(), Provenance::new("rates.json")];
            CallToolResult::structured(&Wrapper { result: json!({"revenue_q3": 4_200_000}), provenance })
                .unwrap()
        },
    );
    let mut peer = client(server, Era::Stateless).await;
    let wrapper = peer.tool("revenue", json!({})).await.unwrap()["structuredContent"].clone();
    assert_eq!(wrapper["result"], json!({"revenue_q3": 4_200_000}));
    assert_eq!(wrapper["provenance"][0]["license"], "CC-BY-4.0");
    let wrapper = Object::from_value(&wrapper).unwrap();
    assert_eq!(Provenance::read(&wrapper).into_claim(), [invoice(), Provenance::new("rates.json")]);
}
