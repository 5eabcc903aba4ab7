//! Signing in: the codes, passphrases and answers of an identity provider by which browsers get a login.

use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming;
use maud::{Markup, html};
use mgp_transport::http::HttpBody;
use mgp_types::mgp::{Actor, AuditPort as _, EventType, Outcome};
use mgp_types::{Error, Principal};
use percent_encoding::percent_decode_str;

use super::PageServer;
use super::form::Form;
use super::guard::{self, BEGIN, Browser, CALLBACK, Scheme};
use super::layout::{Page, field, segment, sent_again, visible};
use super::logins::{PageLogin, SignedIn};
use super::page_client::PageClient;
use super::provider::PageProvider;
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
    let secret = match client {
        Some(client) => server.logins.sign_in(SignedIn::of(client, browser, None).await).await,
        None => None,
    };
    let Some(secret) = secret else {
        let wrong = "This does not hold, or not any more. `mgp ui` shows a new code.";
        let page = login_page(server, to.as_deref(), kept.as_deref(), wrong);
        return shown(StatusCode::FORBIDDEN, &page, LOGIN, None);
    };
    let to = to.as_deref().filter(|to| is_local(to)).unwrap_or("/");
    let response = match kept {
        None => led_to(to),
        Some(kept) => {
            let body = html! {
                p { "You are signed in. What you sent before was not done yet." }
                (kept_form(to, &kept))
            };
            shown(StatusCode::OK, &Page::new("Signed in", body), LOGIN, None)
        }
    };
    with_cookie(response, server.scheme.cookie(&secret))
}

/// Returns the form that sends what was kept.
fn kept_form(to: &str, kept: &str) -> Markup {
    sent_again(to, &Form::parse(kept.as_bytes()), &Markup::default(), "Send it now", "/")
}

fn with_cookie(mut response: Response<HttpBody>, cookie: String) -> Response<HttpBody> {
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

/// Returns the client of a person on another machine who knows the operator passphrase.
async fn by_passphrase(server: &PageServer, browser: &Browser, passphrase: &str) -> Option<PageClient> {
    let _place = server.guesses.try_acquire().ok()?;
    if !browser.is_elsewhere().await {
        return None;
    }
    let by = Principal::operator(format!("browser at {}", browser.address()));
    let client = PageClient::new(server.kernel.clone(), PageHolder { by, role: PageRole::Member });
    client.prove(passphrase.to_owned()).await.ok().map(|()| client)
}

/// Answers at the two paths of a login by the identity provider.
pub(super) async fn by_provider(server: &PageServer, head: &Parts, browser: &Browser) -> Response<HttpBody> {
    let Some(provider) = &server.provider else { return led_to(LOGIN) };
    let answered = match server.guesses.try_acquire() {
        Ok(_place) if head.uri.path() == BEGIN => begin(server, provider, head).await,
        Ok(_place) => finish(server, provider, head, browser).await,
        Err(_) => Err(Error::invalid_request("too many people sign in at this moment: try again")),
    };
    answered.unwrap_or_else(|error| {
        tracing::warn!(%error, "nobody is signed in by the identity provider");
        shown(StatusCode::FORBIDDEN, &login_page(server, None, None, error.message()), LOGIN, None)
    })
}

type Answered = Result<Response<HttpBody>, Error>;

/// Sends a browser to the page of the identity provider. The browser alone keeps what is known of the login.
async fn begin(server: &PageServer, provider: &PageProvider, head: &Parts) -> Answered {
    let (page, verifier) = provider.begin(&redirect_uri(server, head)).await?;
    let query = Form::parse(head.uri.query().unwrap_or_default().as_bytes());
    let kept = format!("{verifier}.{}", segment(query.get("_to").unwrap_or("/")));
    // Another site, that of the provider, leads the browser back.
    let attributes = "Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600";
    Ok(with_cookie(led_to(&page), format!("{BEGUN_COOKIE}={kept}; {attributes}")))
}

/// Signs a browser in that comes back from the identity provider.
async fn finish(server: &PageServer, provider: &PageProvider, head: &Parts, browser: &Browser) -> Answered {
    let begun = guard::cookie(&head.headers, BEGUN_COOKIE).and_then(|kept| kept.split_once('.'));
    let not_begun = || Error::invalid_request("this browser began no login, or too long ago: sign in again");
    let (verifier, to) = begun.ok_or_else(not_begun)?;
    let answer = head.uri.query().unwrap_or_default();
    let token = provider.token(&redirect_uri(server, head), verifier, answer).await?;
    let holder = provider.holder(&token).await?;
    let audit = &server.kernel.sections().audit;
    let kind = EventType::Custom("dev.cloto.mgp.page_login".into());
    let event = audit.event(kind, Actor::of(&holder.by), Outcome::Success);
    audit.log.record(event.with_detail("address", &browser.address().to_canonical())).await?;
    let client = PageClient::new(server.kernel.clone(), holder);
    let secret = server.logins.sign_in(SignedIn::of(client, browser, Some(token)).await).await;
    let secret = secret.ok_or_else(|| Error::invalid_request("too many people are signed in"))?;
    let to = percent_decode_str(to).decode_utf8().ok();
    let to = to.as_deref().filter(|to| is_local(to)).unwrap_or("/");
    // After a redirect it would still be the provider's site that led there, and the cookie would not be sent.
    let body = html! {
        meta http-equiv="refresh" content={ "0; url=" (to) };
        p { "You are signed in. " a href=(to) { "Go on" } }
    };
    let response = shown(StatusCode::OK, &Page::new("Signed in", body), LOGIN, None);
    Ok(with_cookie(response, server.scheme.cookie(&secret)))
}

fn redirect_uri(server: &PageServer, head: &Parts) -> String {
    format!("{}{CALLBACK}", guard::origin(head, server.scheme))
}

/// Returns whether a login is still that of the person for whom it was made, in the process where it was made.
pub(super) async fn is_of_its_person(server: &PageServer, login: &PageLogin, browser: &Browser) -> bool {
    let holder = &login.client.holder;
    let is_persons = match (&login.token, &server.provider) {
        (Some(token), Some(provider)) => provider.holder(token).await.is_ok_and(|now| now == *holder),
        _ => browser.may_be_of(holder).await,
    };
    is_persons && login.process == browser.process().await
}

fn login_page(server: &PageServer, to: Option<&str>, kept: Option<&str>, wrong: &str) -> Page {
    let code = html! {
        input name="code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false"
            placeholder="K7QF-9M2X-4TBW" required autofocus;
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
    // What was kept stays here meanwhile.
    let after = to.filter(|_| kept.is_none()).unwrap_or("/");
    let body = html! {
        p { "Run " code { "mgp ui" } " in a terminal, and type the code that it shows." }
        @if !wrong.is_empty() { p.notice.bad role="alert" { (visible(wrong)) } }
        (form("Code", &code))
        @if server.scheme == Scheme::Https { (form("Operator passphrase", &passphrase)) }
        @if let Some(provider) = &server.provider {
            p {
                a href={ (BEGIN) "?_to=" (segment(after)) } target=[kept.map(|_| "_blank")] {
                    "Sign in with " (provider.name())
                }
                @if kept.is_some() { " in a tab of its own, and then:" }
            }
            @if let (Some(to), Some(kept)) = (to.filter(|to| is_local(to)), kept) { (kept_form(to, kept)) }
        }
    };
    Page::new("Sign in", body)
}

/// Returns the answer to a browser that is not signed in. What a form brought is kept until it is.
pub(super) async fn unknown(server: &PageServer, head: &Parts, body: Incoming) -> Response<HttpBody> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    if head.method == Method::POST && guard::is_navigation(&head.headers) {
        let kept = Form::read(body).await.unwrap_or_default().without("_passphrase").0.to_query();
        let why = "Your login ended. Sign in again; what you sent is kept.";
        let page = login_page(server, Some(path), Some(&kept), why);
        return shown(StatusCode::UNAUTHORIZED, &page, LOGIN, None);
    }
    if head.method == Method::GET && guard::is_navigation(&head.headers) {
        let to = if path == "/" { LOGIN.to_owned() } else { format!("{LOGIN}?_to={}", segment(path)) };
        return led_to(&to);
    }
    plain(StatusCode::UNAUTHORIZED, "sign in first")
}

/// The path at which browsers sign in.
pub(super) const LOGIN: &str = "/login";
/// The name of the cookie with what is kept of a login that was begun at the identity provider.
const BEGUN_COOKIE: &str = "__Host-mgp-login";
