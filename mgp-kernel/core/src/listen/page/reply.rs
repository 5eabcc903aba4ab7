//! The forms of answers to browsers: pages, ways to other pages, and refusals.

use http::header::LOCATION;
use http::{Response, StatusCode};
use maud::html;
use mgp_transport::http::HttpBody;
use mgp_types::{Error, code};

use super::layout::{Page, document, visible};
use super::logins::PageLogin;
use crate::listen::http::uncached;
use crate::terminal::with_causes;

pub(super) fn shown(status: StatusCode, page: &Page, at: &str, by: Option<&PageLogin>) -> Response<HttpBody> {
    let document = document(page, at, by.map(|by| &by.client.holder)).into_string();
    uncached(status, "text/html; charset=utf-8", document)
}

pub(super) fn led_to(path: &str) -> Response<HttpBody> {
    let answer = Response::builder().status(StatusCode::SEE_OTHER).header(LOCATION, path);
    answer.body(HttpBody::default()).unwrap_or_default()
}

pub(super) fn refused(why: &str) -> Response<HttpBody> {
    plain(StatusCode::FORBIDDEN, why)
}

pub(super) fn plain(status: StatusCode, text: &str) -> Response<HttpBody> {
    uncached(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

pub(super) fn failed(login: &PageLogin, error: &Error, here: &str) -> Response<HttpBody> {
    let status = match error.code() {
        code::RESOURCE_NOT_FOUND | code::TOOL_NOT_FOUND | code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::PERMISSION_DENIED | code::ACCESS_DENIED => StatusCode::FORBIDDEN,
        code::INVALID_PARAMS | code::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ => StatusCode::CONFLICT,
    };
    let body = html! {
        p.notice.bad role="alert" { (visible(&with_causes(error.message(), error))) }
        a href=(here) { "Back" }
    };
    shown(status, &Page::new("That was not done", body), here, Some(login))
}

/// Returns whether an address leads to a page of this kernel.
pub(super) fn is_local(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    address.starts_with('/') && !address.starts_with("//") && address.bytes().all(is_plain)
}
