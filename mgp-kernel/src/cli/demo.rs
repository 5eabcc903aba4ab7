//! `mgp demo`, and the command by which the demo starts its example servers.

use clap::Args;

use super::output::Output;
use crate::demo::{self, Options};
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct DemoServerArgs {
    /// The name of the demo's server
    name: String,
}

pub(super) async fn run(output: &Output) -> Result<Exit, Failure> {
    let options = Options::new().json(output.is_json()).color(output.is_colored());
    demo::run(options).await.map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

pub(super) async fn serve(args: &DemoServerArgs) -> Result<Exit, Failure> {
    demo::serve(&args.name).await.map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

fn failed(error: &anyhow::Error) -> Failure {
    Failure::new(Exit::Tool, format!("{error:#}"))
}
