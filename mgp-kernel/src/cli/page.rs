//! `mgp ui`: opens the page of the kernel in a browser.

use clap::Args;

use super::browser::open_in_browser;
use super::context::CommandContext;
use super::link::KernelLink;
use crate::admin::operation::Operation as _;
use crate::admin::page::OpenPage;
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct PageArgs {
    /// Print the address and the code, and open no browser
    #[arg(long)]
    no_browser: bool,
}

pub(super) async fn run(cx: &CommandContext, args: &PageArgs) -> Result<Exit, Failure> {
    let opened = KernelLink::with(cx, OpenPage {}.need(), async |link| link.ask(&OpenPage {}).await).await?;
    if !args.no_browser && !cx.output.json {
        open_in_browser(&format!("http://{}/", opened.address));
    }
    cx.output.result(&opened)
}
