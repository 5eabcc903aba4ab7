//! Tools that a client finds, calls and puts together.

use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::{Json, Server, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::servers::{MODES, connect, declaring};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Quote {
    ticker: String,
    price: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Company {
    name: String,
}

fn market() -> Server {
    Server::new("market", "1.0.0")
        .tool(Tool::new("quote", "Looks up the price of a company."), async |company: Company| {
            Json(Quote { ticker: company.name.to_uppercase(), price: 12.5 })
        })
        .tool(Tool::new("describe", "Describes a quote."), async |quote: Quote| {
            format!("{} costs {}", quote.ticker, quote.price)
        })
}

// covers: GGEN-1-01
#[tokio::test]
async fn the_output_of_a_tool_that_was_found_is_the_input_of_another() {
    for mode in MODES {
        let client = connect(market(), declaring(&[]), mode).await;
        let tools = client.list_tools().await.unwrap();
        let that = |word: &str| {
            tools.iter().find(|tool| tool.description.as_deref().unwrap().contains(word)).unwrap()
        };
        let quote = client.call_listed(that("price"), json!({"name": "acme"})).await.unwrap();
        let told = client.call_listed(that("Describes"), quote.structured_content.unwrap()).await.unwrap();
        assert_eq!(told.content[0].as_text(), Some("ACME costs 12.5"));
    }
}
