//! The tools and questions of the folder `data`, which were written for these tests.

use std::sync::Arc;

use mgp_toolindex::embed::{Embedder, EmbedderChoice};
use mgp_toolindex::rows::read_rows;
use mgp_toolindex::{Index, ServerTools, ToolListing};
use mgp_types::RawJson;
use serde_json::Value;

use self::evaluation::EvalQuestion;

#[path = "../../examples/eval/evaluation/mod.rs"]
#[allow(dead_code, unused_imports, reason = "each test needs a part")]
pub(crate) mod evaluation;

/// Tools, and questions about them.
pub(crate) struct Set {
    pub(crate) tools: Vec<Value>,
    pub(crate) questions: Vec<EvalQuestion>,
}

impl Set {
    pub(crate) fn english() -> Self {
        Self::read(include_str!("../../data/tools.jsonl"), include_str!("../../data/questions.jsonl"))
    }

    pub(crate) fn read(tools: &str, questions: &str) -> Self {
        Self {
            tools: tools.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            questions: read_rows(questions.as_bytes()).unwrap(),
        }
    }

    pub(crate) fn servers(&self) -> Vec<ServerTools> {
        let mut servers: Vec<ServerTools> = Vec::new();
        for tool in &self.tools {
            let id = tool["server"].as_str().unwrap();
            if servers.last().is_none_or(|server| server.server.id.as_str() != id) {
                let description = tool["serverDescription"].as_str().unwrap();
                servers.push(ServerTools::new(id, Vec::new()).description(description));
            }
            let keys = ["name", "description", "inputSchema"];
            let definition = keys.map(|key| (key.to_owned(), tool[key].clone())).into_iter().collect();
            servers.last_mut().unwrap().tools.push(listing(&Value::Object(definition)));
        }
        servers
    }

    pub(crate) async fn index(&self) -> Index {
        index(self.servers()).await
    }
}

pub(crate) fn listing(definition: &Value) -> ToolListing {
    ToolListing::read(&RawJson::from_value(definition).unwrap()).unwrap()
}

pub(crate) async fn index(servers: Vec<ServerTools>) -> Index {
    let index = Index::new(embedder().await);
    for server in servers {
        index.put_server(server).await;
    }
    index.embedded().await;
    index
}

/// Returns the built-in embedder.
pub(crate) async fn embedder() -> Arc<dyn Embedder> {
    EmbedderChoice::Static.open().await
}
