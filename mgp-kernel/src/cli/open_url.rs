//! Opening a web page in the person's browser.

use std::process::{Command, Stdio};

/// Opens a page in the browser, and returns whether a program for that was started. The address goes to the program as one
/// argument, never through a shell, and only addresses of the web are opened.
pub(super) fn open_in_browser(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    // White space, quotes and control characters are no part of an address.
    let is_plain =
        url.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\'));
    is_web && is_plain && openers().iter().any(|opener| opener.start(url))
}

/// A program that opens pages, and the arguments in front of the address.
struct PageOpener {
    program: &'static str,
    args: &'static [&'static str],
}

impl PageOpener {
    fn start(&self, url: &str) -> bool {
        let mut program = Command::new(self.program);
        program.args(self.args).arg(url);
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    }
}

const fn openers() -> &'static [PageOpener] {
    if cfg!(target_os = "macos") {
        &[PageOpener { program: "open", args: &[] }]
    } else if cfg!(windows) {
        &[PageOpener { program: "rundll32", args: &["url.dll,FileProtocolHandler"] }]
    } else {
        &[
            PageOpener { program: "xdg-open", args: &[] },
            PageOpener { program: "gio", args: &["open"] },
            PageOpener { program: "wslview", args: &[] },
        ]
    }
}

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
