//! A tool that is described field by field, with a validator of its own: `tools/validate` says what is wrong with
//! arguments before a call.
//!
//! ```text
//! registry
//! ```

use std::time::Duration;

use mgp_server_sdk::mcp::CacheScope;
use mgp_server_sdk::{
    Constraint, Error, FieldType, InputField, Json, OutputField, Resource, ResourceCache, Server, Signature,
    Timeouts, Tool, ToolMetadata, ToolValidator, Violation, schemars,
};
use serde_json::Value;

/// Refuses symbols that are no longer traded, which no pattern tells.
struct ListedSymbol;

impl ToolValidator for ListedSymbol {
    fn name(&self) -> &'static str {
        "listed_symbol"
    }

    fn validate(&self, arguments: &Value) -> Vec<Violation> {
        match arguments["ticker_symbol"].as_str() {
            Some("ENRN") => {
                let violation = Violation::new("/ticker_symbol", "The symbol is no longer traded");
                vec![violation.suggest("Look the symbol up in market://symbols")]
            }
            _ => Vec::new(),
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    ticker_symbol: String,
    period_days: u16,
    analysis_type: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Recommendation {
    recommendation: &'static str,
    summary: String,
}

async fn analyze(Order { ticker_symbol, period_days, analysis_type }: Order) -> Json<Recommendation> {
    let recommendation = if period_days < 7 { "wait" } else { "hold" };
    let summary = format!("{analysis_type} analysis of {ticker_symbol} over {period_days} days");
    Json(Recommendation { recommendation, summary })
}

/// Returns the signature of the example's tool.
pub(crate) fn financial_analyzer() -> Signature {
    Signature::new("FinancialAnalyzer", "Analyzes stock data and returns investment recommendations")
        .metadata(ToolMetadata::new("finance", "1.0.0", "ggen-ai"))
        .input(
            InputField::new("ticker_symbol", FieldType::String, "Stock ticker symbol (e.g., AAPL)")
                .constraint(Constraint::Pattern("^[A-Z]{1,5}$".into()))
                .constraint(Constraint::MinLength(1))
                .constraint(Constraint::MaxLength(5))
                .constraint(Constraint::Custom("listed_symbol".into()))
                .example("AAPL")
                .example("MSFT"),
        )
        .input(
            InputField::new("period_days", FieldType::Integer, "Historical analysis period in days")
                .constraint(Constraint::MinValue(1.into()))
                .constraint(Constraint::MaxValue(365.into()))
                .example(90)
                .example(30),
        )
        .input(
            InputField::new("analysis_type", FieldType::String, "Type of analysis")
                .constraint(Constraint::OneOf(
                    ["technical", "fundamental", "sentiment"].map(Value::from).into(),
                ))
                .constraint(Constraint::Default("technical".into())),
        )
        .output(OutputField::new("recommendation", FieldType::String, "What to do"))
        .output(OutputField::new("summary", FieldType::String, "What was analyzed"))
}

/// Returns the server of the example.
pub(crate) fn server() -> Server {
    let symbols =
        Resource::new("market://symbols", "symbols").cache(Duration::from_mins(1), CacheScope::Public);
    let cache = ResourceCache::new(100, 1 << 20);
    Server::new("registry", env!("CARGO_PKG_VERSION"))
        .tool(Tool::from_signature(&financial_analyzer()).read_only(), analyze)
        .validator(ListedSymbol)
        .resource(symbols.cached_in(&cache), async || "AAPL MSFT")
        .offer_validation()
        .require_schemas()
        .timeouts(Timeouts::default())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    server().serve_stdio().await
}
