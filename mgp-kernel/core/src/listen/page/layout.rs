//! The parts that all pages have in common: their frame, forms of operations, and the forms of values.

use std::sync::LazyLock;

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use mgp_transport::http::HttpBody;
use mgp_types::mgp::{RiskLevel, Timestamp};
use mgp_types::{RawJson, is_hidden};
use sha2::{Digest as _, Sha256};

use super::form::Form;
use crate::lifecycle::page_door::{PageHolder, PageRole};

/// A page as a browser shows it: its title, and what stands in its frame.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: Markup,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}

/// Returns the document of a page. `here` is the path of its section, and `holder` the person who is signed in.
pub(super) fn document(page: &Page, here: &str, holder: Option<&PageHolder>) -> Markup {
    let is_auditor = holder.is_some_and(|holder| holder.role == PageRole::Auditor);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) " · mgp" }
                link rel="stylesheet" href=(STYLE.path);
                link rel="icon" href="data:,";
                script type="module" src=(SCRIPT.path) {}
            }
            body class=[is_auditor.then_some("auditor")] {
                a.skip href="#main" { "Skip to the content" }
                header {
                    a.brand href="/" { "mgp" }
                    @if let Some(holder) = holder {
                        nav aria-label="Sections" {
                            @for (path, name) in SECTIONS {
                                a href=(path) aria-current=[(path == here).then_some("page")] { (name) }
                            }
                        }
                        form.who method="post" action="/sign-out" {
                            span { (visible(&holder.by.id())) @if is_auditor { ", auditor" } }
                            button.quiet { "Sign out" }
                        }
                    }
                }
                p #lost .notice hidden role="status" {
                    "The kernel was restarted, or your login ended. "
                    a href="/login" target="_blank" rel="noopener" { "Sign in again" }
                    ", then go on here: what you typed stays."
                }
                main #main tabindex="-1" {
                    h1 { (page.title) }
                    (page.body)
                }
            }
        }
    }
}

/// The sections, in the order of the navigation.
const SECTIONS: [(&str, &str); 7] = [
    ("/", "Inbox"),
    ("/servers", "Servers"),
    ("/tools", "Tools"),
    ("/definitions", "Definitions"),
    ("/access", "Access"),
    ("/record", "Record"),
    ("/kernel", "Kernel"),
];

/// Returns a button that has the kernel do an operation with these params, and leads to `back` then.
pub(super) fn button(operation: &str, params: &[(&str, &str)], back: &str, text: &str, kind: &str) -> Markup {
    let fields = html! {
        @for (name, value) in params { input type="hidden" name=(name) value=(value); }
        button class=(kind) { (text) }
    };
    form(operation, back, &fields)
}

/// Returns a form whose fields are the params of an operation, and that leads to `back` then.
pub(super) fn form(operation: &str, back: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action={ "/do/" (operation) } {
            input type="hidden" name="_back" value=(back);
            (fields)
        }
    }
}

/// Returns the form that sends the fields of an earlier one again, with what is `asked` beside them, or leads to `back`.
pub(super) fn sent_again(action: &str, earlier: &Form, asked: &Markup, text: &str, back: &str) -> Markup {
    html! {
        form method="post" action=(action) {
            @for (name, value) in earlier.fields() { input type="hidden" name=(name) value=(value); }
            (asked)
            button.primary { (text) }
            a href=(back) { "Leave it" }
        }
    }
}

/// Returns a labelled field of a form.
pub(super) fn field(label: &str, input: &Markup) -> Markup {
    html! { label.field { span { (label) } (input) } }
}

/// Returns a table, or what to say where it has no rows.
pub(super) fn table(headings: &[&str], rows: impl IntoIterator<Item = Markup>, none: &str) -> Markup {
    let rows: Vec<_> = rows.into_iter().collect();
    html! {
        @if rows.is_empty() {
            p.none { (none) }
        } @else {
            div.scroll tabindex="0" role="region" aria-label=(headings.join(", ")) {
                table {
                    thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                    tbody { @for row in &rows { tr { (row) } } }
                }
            }
        }
    }
}

/// Returns the link to the rest of a list, which begins where `field` of the address says; nothing if there is no rest.
pub(super) fn more(path: &str, query: &Form, field: &str, next: Option<u64>) -> Markup {
    let rest = || query.clone().without(field).0.to_query();
    html! { @if let Some(next) = next { p { a href={ (path) "?" (rest()) "&" (field) "=" (next) } { "More" } } } }
}

pub(super) fn risk(risk: RiskLevel) -> Markup {
    html! { span class={ "badge " (risk) } { (risk) } }
}

/// Returns a bar: the part of `whole` that is `length` long and begins at `begin`.
pub(super) fn bar(begin: u64, length: u64, whole: u64) -> Markup {
    let scaled = |part: u64| part.saturating_mul(1_000) / whole.max(1);
    html! {
        svg.part viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" { rect.bar x=(scaled(begin).min(996)) width=(scaled(length).max(4)) height="10" {} }
    }
}

/// Returns a time as a distance from now; the whole time is shown when it is pointed at.
pub(super) fn moment(time: Timestamp) -> Markup {
    let seconds = Timestamp::now().since(time).as_secs();
    let away = match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    };
    html! { time datetime=(time) title=(time) { (away) } }
}

/// Returns a text of somebody else, in which each hidden character is marked and spelled out.
pub(super) fn visible(text: &str) -> Markup {
    let mut out = String::with_capacity(text.len());
    let mut plain = String::new();
    for letter in text.chars() {
        if matches!(letter, '\n' | '\t' | '\u{fe0f}') || !is_hidden(letter) {
            plain.push(letter);
        } else {
            out += &html! { (plain) mark title="a hidden character" { (letter.escape_unicode()) } }
                .into_string();
            plain.clear();
        }
    }
    out += &html! { (plain) }.into_string();
    PreEscaped(out)
}

/// Returns a text of several lines; a long one is folded, never cut.
pub(super) fn block(text: &str) -> Markup {
    let shown = html! { pre { (visible(text)) } };
    let lines = text.lines().count();
    if lines <= FOLDED_LINES && text.len() <= FOLDED_BYTES {
        return shown;
    }
    html! { details { summary { (lines) " lines, " (text.len()) " bytes" } (shown) } }
}

/// Returns a JSON value, indented.
pub(super) fn json(json: &RawJson) -> Markup {
    let value: Result<serde_json::Value, _> = json.to();
    let pretty = value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    block(&pretty.unwrap_or_else(|| json.to_string()))
}

/// The length of texts from which on they are folded.
const FOLDED_LINES: usize = 40;
const FOLDED_BYTES: usize = 4_000;

/// Returns a part of an address: no text of a server is anything else there.
pub(super) fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// A file that each page names.
pub(super) struct Asset {
    pub(super) path: String,
    kind: &'static str,
    bytes: &'static [u8],
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", include_bytes!("assets/page.css")));
pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", include_bytes!("assets/page.js")));

impl Asset {
    fn new(ending: &str, kind: &'static str, bytes: &'static [u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let [a, b, c, d] = [digest[0], digest[1], digest[2], digest[3]];
        Self { path: format!("/assets/page-{a:02x}{b:02x}{c:02x}{d:02x}.{ending}"), kind, bytes }
    }
}

/// Returns the file at a path.
pub(super) fn asset(path: &str) -> Option<Response<HttpBody>> {
    let asset = [&*STYLE, &*SCRIPT].into_iter().find(|asset| asset.path == path)?;
    let kept = "public, max-age=31536000, immutable";
    let response = Response::builder().header(CONTENT_TYPE, asset.kind).header(CACHE_CONTROL, kept);
    response.body(Bytes::from_static(asset.bytes).into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_are_texts_and_hide_nothing() {
        let shown = visible("<b>\u{202e}x</b>\u{1b}[2J").into_string();
        assert!(shown.starts_with("&lt;b&gt;<mark"), "{shown}");
        assert!(shown.contains(r"\u{202e}</mark>x&lt;/b&gt;<mark") && shown.contains(r"\u{1b}</mark>[2J"));
        assert_eq!(segment("a/../b?c#d"), "a%2F%2E%2E%2Fb%3Fc%23d");
    }

    #[test]
    fn long_texts_are_folded_and_not_cut() {
        let long = "x\n".repeat(FOLDED_LINES + 1);
        let shown = block(&long).into_string();
        assert!(shown.contains("<details>") && shown.contains(&long), "{shown}");
        assert!(!block("short").into_string().contains("details"));
    }
}
