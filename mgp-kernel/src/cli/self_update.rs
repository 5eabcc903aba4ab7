//! `mgp self`: looks for a newer version of this program, and installs it.

use std::env;

use clap::Subcommand;
use mgp_kernel_core::install::is_newer;
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use serde_json::json;

use super::context::CommandContext;
use super::input::{agrees, is_person_there};
use crate::releases::{ReleaseSource, upgrade_command};

#[derive(Debug, Subcommand)]
pub(super) enum SelfCommand {
    /// Say whether a newer version is there
    Check,
    /// Put the newest version in the place of this program, and keep the former one as mgp.former
    Update {
        /// Install it without asking
        #[arg(long, short)]
        yes: bool,
    },
}

pub(super) async fn run(cx: &CommandContext, command: &SelfCommand) -> Result {
    let source = ReleaseSource::new(&cx.read()?.config.downloads)?;
    let list = source.read().await?;
    let newest = printable(&list.version);
    let program = env::current_exe().and_then(|path| path.canonicalize());
    let program = program.map_err(Failure::with_error("the file of this program is not known"))?;
    let (managed, is_there) = (upgrade_command(&program), is_newer(&list.version, VERSION));
    let upgrade = managed.unwrap_or("mgp self update");
    let &SelfCommand::Update { yes } = command else {
        let report = json!({ "version": VERSION, "newest": newest, "newer": is_there, "upgrade": upgrade });
        let text = format!("mgp {VERSION} is the newest version");
        let text =
            if is_there { format!("mgp {newest} is available; install it: `{upgrade}`") } else { text };
        return cx.output.line(&report, &text);
    };
    if !is_there {
        return Err(Failure::usage(format!("nothing was changed: mgp {newest} is not newer than {VERSION}")));
    }
    if managed.is_some() {
        let message = format!("nothing was changed: a package manager owns {}", program.display());
        return Err(
            Failure::usage(message).hint(format!("install the package of the new version: `{upgrade}`"))
        );
    }
    let question = format!("put mgp {newest} in the place of {}?", program.display());
    if !(yes || is_person_there() && agrees(&question).await?) {
        return Err(Failure::usage("nothing was changed: nobody agreed").hint("`--yes` agrees"));
    }
    let former = source.install(&list, &program).await?.display().to_string();
    let report = json!({ "version": newest, "updated": true, "former": former });
    cx.output.line(&report, &format!("mgp is {newest} from now on; the former program is {former}"))?;
    cx.output.note("`mgp restart` has a running kernel become the new version without a gap");
    Ok(Exit::Done)
}

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
