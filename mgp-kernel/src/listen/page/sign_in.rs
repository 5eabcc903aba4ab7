//! Signing in: the codes and passphrases by which browsers get a login.

use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming;
use maud::{Markup, html};
use mgp_transport::http::HttpBody;
use mgp_types::Principal;

use super::PageServer;
use super::form::Form;
use super::guard::{self, Browser, Scheme};
use super::layout::{Page, field, segment};
use super::page_client::PageClient;
use super::reply::{is_local, led_to, plain, refused, shown};
use crate::lifecycle::page_door::{PageHolder, PageRole};

/// Signs a browser in, or asks for the code.
pub(super) async fn login(
    server: &PageServer,
    head: &Parts,
    browser: &Browser,
    body: Incoming,
) -> Response<HttpBody> {
    if head.method != Method::POST {
        let query = Form::parse(head.uri.query().unwrap_or_default().as_bytes());
        return shown(StatusCode::OK, &login_page(server, query.get("_to"), None, ""), LOGIN, None);
    }
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(error) => return refused(error.message()),
    };
    let (to, kept) = (form.get("_to").map(str::to_owned), form.get("_form").map(str::to_owned));
    let client = match form.get("passphrase") {
        Some(passphrase) => by_passphrase(server, browser, passphrase).await,
        None => by_code(server, browser, form.get("code").unwrap_or_default()).await,
    };
    let process = browser.process().await;
    let Some(secret) = client.and_then(|client| server.logins.sign_in(client, process)) else {
        let wrong = "This does not hold, or not any more. `mgp ui` shows a new code.";
        let page = login_page(server, to.as_deref(), kept.as_deref(), wrong);
        return shown(StatusCode::FORBIDDEN, &page, LOGIN, None);
    };
    let cookie = server.scheme.cookie(&secret);
    let to = to.as_deref().filter(|to| is_local(to)).unwrap_or("/");
    let mut response = match kept {
        None => led_to(to),
        Some(kept) => {
            let kept = Form::parse(kept.as_bytes());
            let body = html! {
                p { "You are signed in. What you sent before was not done yet." }
                form method="post" action=(to) {
                    @for (name, value) in kept.fields() { input type="hidden" name=(name) value=(value); }
                    button.primary { "Send it now" }
                    a href="/" { "Leave it" }
                }
            };
            shown(StatusCode::OK, &Page::new("Signed in", body), LOGIN, None)
        }
    };
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Returns the client of the person who was given this code.
async fn by_code(server: &PageServer, browser: &Browser, code: &str) -> Option<PageClient> {
    let mut holder = server.kernel.sections().lifecycle.page.redeem(code)?;
    if browser.is_elsewhere().await && holder.role == PageRole::Account {
        holder.role = PageRole::Member;
    }
    browser.may_be_of(&holder).await.then(|| PageClient::new(server.kernel.clone(), holder))
}

/// Returns the client of a person on another machine who knows the operators' passphrase.
async fn by_passphrase(server: &PageServer, browser: &Browser, passphrase: &str) -> Option<PageClient> {
    let _place = server.guesses.try_acquire().ok()?;
    if !browser.is_elsewhere().await {
        return None;
    }
    let by = Principal::operator(format!("browser at {}", browser.address()));
    let client = PageClient::new(server.kernel.clone(), PageHolder { by, role: PageRole::Member });
    client.prove(passphrase.to_owned()).await.ok().map(|()| client)
}

fn login_page(server: &PageServer, to: Option<&str>, kept: Option<&str>, wrong: &str) -> Page {
    let code = html! {
        input name="code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"
            placeholder="K7QF-9M2X" required autofocus;
    };
    let passphrase = html! { input type="password" name="passphrase" autocomplete="off" required; };
    let form = |label: &str, input: &Markup| {
        html! {
            form method="post" action=(LOGIN) {
                @if let Some(to) = to { input type="hidden" name="_to" value=(to); }
                @if let Some(kept) = kept { input type="hidden" name="_form" value=(kept); }
                (field(label, input))
                button.primary { "Sign in" }
            }
        }
    };
    let body = html! {
        p { "Run " code { "mgp ui" } " in a terminal, and type the code that it shows." }
        @if !wrong.is_empty() { p.notice.bad role="alert" { (wrong) } }
        (form("Code", &code))
        @if server.scheme == Scheme::Https { (form("Operators' passphrase", &passphrase)) }
    };
    Page::new("Sign in", body)
}

/// Returns the answer to a browser that is not signed in. What a form brought is kept until it is.
pub(super) async fn unknown(server: &PageServer, head: &Parts, body: Incoming) -> Response<HttpBody> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    if head.method == Method::POST && guard::is_navigation(&head.headers) {
        let kept = Form::read(body).await.unwrap_or_default().without("_passphrase").0.to_query();
        let why = "Your login ended. Sign in again; what you sent is kept.";
        return shown(
            StatusCode::UNAUTHORIZED,
            &login_page(server, Some(path), Some(&kept), why),
            LOGIN,
            None,
        );
    }
    if head.method == Method::GET && guard::is_navigation(&head.headers) {
        let to = if path == "/" { LOGIN.to_owned() } else { format!("{LOGIN}?_to={}", segment(path)) };
        return led_to(&to);
    }
    plain(StatusCode::UNAUTHORIZED, "sign in first")
}

/// The path at which browsers sign in.
pub(super) const LOGIN: &str = "/login";
