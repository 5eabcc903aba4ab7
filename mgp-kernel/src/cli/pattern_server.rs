//! `mgp server`: serves one of the servers that the program carries.

use super::exit::{Exit, Failure};
use crate::patterns::PatternServer;

pub(super) async fn run(server: PatternServer) -> Result<Exit, Failure> {
    server.serve().await.map_err(|error| Failure::new(Exit::Tool, format!("{error:#}")))?;
    Ok(Exit::Done)
}
