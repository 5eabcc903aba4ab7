//! `mgp ui`: opens the page of the kernel in a browser; and opening pages in the browser of the person.

use std::process::{Command, Stdio};

use clap::Args;
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::operators::OpenPage;
use mgp_kernel_core::terminal::Result;

use super::context::CommandContext;
use super::link::KernelLink;

#[derive(Debug, Args)]
pub(super) struct PageArgs {
    /// Print the address and the code, and open no browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    page: OpenPage,
}

pub(super) async fn run(cx: &CommandContext, args: &PageArgs) -> Result {
    let opened =
        KernelLink::with(cx, KernelNeed::ANY_SERVERS, async |link| link.ask(&args.page).await).await?;
    // The code of an auditor is for another person.
    if !args.no_browser && !args.page.auditor && !cx.output.json {
        open_in_browser(&opened.address);
    }
    cx.output.result(&opened)
}

/// Opens a page in the browser, and returns whether a program for that was started. The address goes to the program as one
/// argument, never through a shell, and only addresses of the web are opened.
pub(super) fn open_in_browser(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    // White space, quotes and control characters are no part of an address.
    let is_plain =
        url.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\'));
    is_web && is_plain && OPENERS.iter().any(|opener| is_started(opener, url))
}

fn is_started(opener: &[&str], url: &str) -> bool {
    let [program, args @ ..] = opener else { return false };
    let mut command = Command::new(program);
    command.args(args).arg(url).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

/// The programs that open pages, each with the arguments in front of the address.
const OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else {
    &[&["xdg-open"], &["gio", "open"], &["wslview"], &["rundll32.exe", "url.dll,FileProtocolHandler"]]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_the_web_are_opened() {
        for url in [
            "file:///etc/passwd", "javascript:alert(1)", "-h", "https://a.example/ --new",
            "https://a.example/$(id)`id`", "https://a.example/\"x", "vscode://install",
        ] {
            assert!(!open_in_browser(url), "{url}");
        }
    }
}
