//! A server with many tools, which lists the used ones only.

use std::sync::Arc;

use mgp_server_sdk::{Json, Server, Tool};
use mgp_toolindex::budget::default_counter;
use mgp_toolindex::discovery::{ToolDiscoveryGate, ToolDiscoverySettings};
use mgp_toolindex::embed::StaticEmbedder;
use mgp_toolindex::session::{SessionSettings, ToolSessions};
use mgp_toolindex::{Index, ServerTools, ToolListing};
use mgp_types::mgp::{ExtensionSet, Offer, RiskLevel, ToolContextBudget, ToolSecurity};
use mgp_types::{Gate, GateLayer, RawJson};
use tower_layer::{Identity, Stack};

/// Returns a server with many tools, of which it lists those that a client used.
pub(crate) async fn server() -> Server<Stack<GateLayer<ToolDiscoveryGate>, Identity>> {
    let server = many();
    let index = Index::new(Arc::new(StaticEmbedder::new()));
    let tools = server.tools().iter().map(ToolListing::read).collect::<Result<_, _>>().unwrap();
    index.put_server(ServerTools::new("many", tools)).await;
    index.settled().await;
    let (settings, counter) = (ToolDiscoverySettings::new().tell_uses(true), default_counter());
    let meta_tools = settings.definitions(&*counter);
    let budget = ToolContextBudget::of(BUDGET);
    let sessions = ToolSessions::new(SessionSettings::new(budget, counter).meta_tools(&meta_tools)).unwrap();
    let layer = ToolDiscoveryGate::new(index, Arc::new(sessions), settings).into_layer();
    server.mgp(Offer::new(ExtensionSet::from_names(["tool_discovery"]))).layer(layer)
}

/// So little that the tools of a few calls fill it.
pub(crate) const BUDGET: u32 = 1200;

pub(crate) const COUNT: usize = VERBS.len() * NOUNS.len() + 3;

const VERBS: [&str; 6] = ["create", "delete", "archive", "rename", "share", "export"];
const NOUNS: [&str; 10] = [
    "invoice", "calendar", "contract", "playlist", "recipe", "spreadsheet", "ticket", "photo", "vehicle",
    "warehouse",
];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Which {
    /// The id of the item.
    id: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Where {
    /// In which region the weather is wanted.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Weight {
    kilograms: f64,
}

fn many() -> Server {
    let names = VERBS.iter().flat_map(|verb| NOUNS.iter().map(move |noun| (verb, noun)));
    let server = names.fold(Server::new("many", "1.0.0").page_size(7), |server, (verb, noun)| {
        let did = format!("{verb} {noun}");
        let tool =
            Tool::new(format!("{verb}_{noun}"), format!("Can {verb} one {noun}, and says that it did."));
        server.tool(tool, move |which: Which| {
            let did = format!("{did} {}", which.id);
            async move { did }
        })
    });
    let risky = ToolSecurity::new(RiskLevel::Dangerous);
    let opaque = r#"{"type":"object","properties":{"parcel":{"type":"string"}},"required":["parcel"]}"#;
    server
        .tool(
            Tool::with_schema(
                "post/parcel.weigh",
                "Weighs a parcel on a scale.",
                RawJson::parse(opaque).unwrap(),
            )
            .read_only(),
            async || Json(Weight { kilograms: 2.5 }),
        )
        .tool(Tool::new("forecast", "Tells the weather of tomorrow."), async |at: Where| {
            format!("rain in {}", at.region)
        })
        .tool(
            Tool::new("demolish", "Demolishes a building with explosives.").security(&risky),
            async || "boom",
        )
}
