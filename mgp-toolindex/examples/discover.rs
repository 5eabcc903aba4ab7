//! A model that searches for its tools instead of having them all: `cargo run -p mgp-toolindex --example discover`.
#![expect(clippy::print_stdout, reason = "it shows what is found")]

use std::{collections::BTreeMap, error::Error, sync::Arc};

use mgp_toolindex::discovery::{ToolDiscoveryGate, ToolDiscoverySettings};
use mgp_toolindex::session::{SessionSettings, ToolSessions};
use mgp_toolindex::{Index, Search, ServerTools, ToolListing, budget, embed::EmbedderChoice};
use mgp_types::mgp::{RequestTools, ToolContextBudget};
use mgp_types::{Error as CallError, Gate, Object, RawJson, Request, Response, Revision, Session};
use tower::{ServiceExt, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let index = Index::new(EmbedderChoice::Static.open().await);
    let files = [tool("read_text", "Returns a text file")?, tool("trash_path", "Removes a file or folder")?];
    index.put_server(ServerTools::new("files", files.into())).await;
    index.put_server(ServerTools::new("babelfish", vec![tool("translate", "Translates a text")?])).await;
    index.embedded().await;
    for hit in index.search(&Search::new("what does this file say")).await.hits {
        println!("{:.2} {}", hit.score, hit.tool.id());
    }

    // The gate stands in front of the service that calls tools: a model searches for tools, and its session keeps the
    // tools it used.
    let settings = SessionSettings::new(ToolContextBudget::default(), budget::default_counter());
    let sessions = Arc::new(ToolSessions::new(settings)?);
    let gate = ToolDiscoveryGate::new(index, sessions, ToolDiscoverySettings::new());
    let server =
        gate.layer(service_fn(async |_: Request| Ok::<_, CallError>(Response::new(RawJson::null()))));
    let session = Arc::new(Session::new(Revision::V2025_11_25));
    let call = async |name: &str, arguments: Object| {
        let params =
            BTreeMap::from([("name", RawJson::from_value(name)?), ("arguments", arguments.to_raw())]);
        let mut request = Request::with_body("tools/call", &params)?;
        request.context.session = Some(Arc::clone(&session));
        let answer = server.clone().oneshot(request).await?.to_raw();
        println!("{name}: {}", String::from_utf8_lossy(answer.as_bytes()));
        Ok::<_, Box<dyn Error>>(())
    };
    call("mgp.tools.request", Object::from_value(&RequestTools::new(["translate a text"]))?).await?;
    call("translate", Object::new()).await?;
    call("mgp.tools.session", Object::new()).await
}

fn tool(name: &str, description: &str) -> Result<ToolListing, Box<dyn Error>> {
    let definition = BTreeMap::from([("name", name), ("description", description)]);
    Ok(ToolListing::read(&RawJson::from_value(&definition)?)?)
}
